"""Unannotated text: a text file, or JSON objects with ``text`` and optionally ``speaker``, ``document`` and ``id``.

Objects come one per line or in a list. Those with a speaker are turns of one document; those without are separate
documents. Objects with the same ``document`` belong together in either case, and so do objects with the same ``id``,
unless every object has a speaker and a unique id: then ids identify turns. Words and sentences come from
:mod:`incoref.text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from incoref.corpora._json import Object, described, items, values
from incoref.corpora.jsonlines import objects
from incoref.corpora.losses import SPACING, Keeps, Losses
from incoref.corpora.turns import TURN_GAP, Conversation, Turn, from_turns, named, stem
from incoref.errors import FormatError
from incoref.types import Document

SEGMENTATION = "segmentations into sentences and words"
_TURN_KEYS = frozenset({"text", "speaker", "id", "document"})
_NOTHING_BUT_TEXT = Keeps(mentions=False, speakers=False)


def read(text: str, path: Path | str) -> Iterator[Document]:
    """Yield the text as a single document, named after the file."""
    yield from_turns(stem(path), [Turn(text)])


def write(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """Yield the text of the document; the caller passes only one per file."""
    for document in documents:
        losses.count(document, _NOTHING_BUT_TEXT)
        losses.add("genres", int(document.genre is not None))
        losses.add(SEGMENTATION, int(bool(document.sentences)))
        yield document.text


def fits(value: Any) -> bool:
    """Whether a JSON value contains objects with text."""
    return any(isinstance(item, dict) and isinstance(item.get("text"), str) for item in items(value)[:20])


def conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    """Yield the conversations in JSON; ``path`` is used in error messages and to name those without an id."""
    given = list(_objects(text, path))
    ids_of_turns = _has_ids_of_turns([data for _, data in given])
    named = ((_document_id(data, stem(path), line, ids_of_turns), data, line) for line, data in given)
    for id, group in groupby(named, key=lambda one: one[0]):
        yield Conversation(id, [_turn(data, path, line, ids_of_turns) for _, data, line in group])


def _objects(text: str, path: Path | str) -> Iterator[tuple[int, Object]]:
    """Yield objects with their line numbers, or numbered from 1 if they are in a list or not one per line."""
    if text.lstrip().startswith("[") or "\n" not in text.strip() or not text.split("\n", 1)[0].rstrip().endswith("}"):
        whole = [item for value in values(text, path) for item in items(value)]
        for number, data in enumerate(whole, 1):
            if not isinstance(data, dict):
                raise FormatError(f"expected objects, found {described(data)}", path=path)
            yield number, data
    else:
        yield from objects(text, path)


def _has_ids_of_turns(given: list[Object]) -> bool:
    """Whether ids identify turns: every object has a speaker and a unique id, and none has a ``document``."""
    ids = {str(data["id"]) for data in given if data.get("id") is not None and data.get("speaker") is not None}
    return len(ids) == len(given) and not any("document" in data for data in given)


def _document_id(data: Object, stem: str, line: int, ids_of_turns: bool) -> str:
    id = data.get("document", None if ids_of_turns else data.get("id"))
    if id is not None:
        return str(id)
    return stem if "speaker" in data else f"{stem}-{line}"


def _turn(data: Object, path: Path | str, line: int, ids_of_turns: bool) -> Turn:
    text, speaker = data.get("text"), named(data.get("speaker"))
    if not isinstance(text, str):
        raise FormatError("'text' is missing or no string", path=path, line=line)
    if speaker is not None and not isinstance(speaker, str):
        raise FormatError("'speaker' is neither a string nor a whole number", path=path, line=line)
    dropped = _TURN_KEYS - {"id"} if ids_of_turns or "document" in data else _TURN_KEYS
    extra = tuple((name, str(value)) for name, value in data.items() if name not in dropped)
    return Turn(text, speaker, extra)


def write_lines(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """Yield one line of JSON per turn."""
    for document in documents:
        losses.count(document, Keeps(mentions=False))
        losses.add("genres", int(document.genre is not None))
        losses.add(SEGMENTATION, int(bool(document.sentences)))
        at = 0
        lines = []
        for speaker, group in groupby(document.sentences, key=lambda sentence: sentence.speaker):
            turn = list(group)
            start, end = turn[0].start, turn[-1].end
            lines.append({"document": document.id, "speaker": speaker, "text": document.text[start:end]})
            if document.text[at:start] != (TURN_GAP if at else ""):
                losses.add(SPACING)
            at = end
        if not lines:
            lines.append({"document": document.id, "text": document.text})
        yield from (json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
