"""Segments, windows and sentence numbers as the published programs' converters cut them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from incoref.learning.baselines.reading import Style, Text, read_pieces

FOLDERS = {
    "c2f": Style.SEGMENTS,
    "icoref": Style.SEGMENTS,
    "icoref-sentence": Style.SENTENCES,
    "longdoc-unbounded": Style.OVERLAP,
    "longdoc-unbounded-litbank": Style.INDEPENDENT,
}


def parts_of(document: dict[str, Any]) -> list[tuple[int, int, list[int]]]:
    """The range in the program's maps, and the ids, of what is used of each window or segment."""
    parts, place = [], 0
    if "used_from" in document:
        for ids, first, end in zip(document["input_ids"], document["used_from"], document["used_to"], strict=True):
            parts.append((place, place + end - first, ids[1 + first : 1 + end]))
            place += end - first
        return parts
    for ids, length in zip(document["input_ids"], document["segment_lengths"], strict=True):
        parts.append((place + 1, place + length - 1, ids[1 : length - 1]))  # without [CLS] and [SEP]
        place += length
    return parts


@pytest.mark.parametrize("name", FOLDERS)
def test_documents_are_cut_where_the_program_cuts_them(name: str, shared: Path) -> None:
    folder = shared / "reference-outputs" / "baselines" / name
    longest = json.loads((folder / "config.json").read_text()).get("max_segment_len", 64)
    for document in json.loads((folder / "documents.json").read_text()):
        parts = parts_of(document)
        ids = [id for _, _, of_part in parts for id in of_part]
        word, sentence = (
            [number for first, end, _ in parts for number in document[field][first:end]]
            for field in ("subtoken_map", "sentence_map")
        )
        text = Text(ids, word, sentence, [0] * len(ids))
        start, *_, separator = document["input_ids"][0][: document.get("segment_lengths", [None])[0]]
        found = read_pieces(text, FOLDERS[name], longest, start, separator)
        rows = document["input_ids"]
        if "segment_lengths" in document:
            rows = [row[:length] for row, length in zip(rows, document["segment_lengths"], strict=True)]
        assert [list(window.ids) for window in found.windows] == rows
        assert list(found.sentence) == document["sentence_map"]
        if "used_from" in document:
            assert [window.used_from - 1 for window in found.windows] == document["used_from"]
            assert [window.used_to - 1 for window in found.windows] == document["used_to"]
