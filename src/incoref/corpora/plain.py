"""Text without annotation: a file of it, or JSON lines with ``text`` and perhaps ``speaker`` and ``id``.

In JSON lines, lines with a speaker are the turns of one document, lines without are documents of their own, and lines
of one ``id`` belong together in either case. Words and sentences come from :mod:`incoref.text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from incoref.corpora.jsonlines import objects
from incoref.corpora.losses import SPACING, Keeps, Losses
from incoref.errors import FormatError
from incoref.text import split
from incoref.types import Attributes, Document, Sentence

TURN_GAP = "\n"
"""What stands between two turns in the document's text."""

SEGMENTATION = "documents' division into sentences and words"
_TURN_KEYS = frozenset({"text", "speaker", "id"})
_NOTHING_BUT_TEXT = Keeps(mentions=False, speakers=False)


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says until the next one speaks."""

    text: str
    speaker: str | None = None
    attributes: Attributes = ()


def from_turns(id: str, turns: Iterable[Turn]) -> Document:
    """A document of turns, a line break apart."""
    sentences: list[Sentence] = []
    texts = []
    at = 0
    for turn in turns:
        sentences += [
            replace(sentence, speaker=turn.speaker, attributes=sentence.attributes + turn.attributes)
            for sentence in split(turn.text, at)
        ]
        texts.append(turn.text)
        at += len(turn.text) + len(TURN_GAP)
    return Document(id, TURN_GAP.join(texts), tuple(sentences))


def read(text: str, path: Path | str) -> Iterator[Document]:
    """The one document of a file's text, named after the file."""
    yield from_turns(Path(path).stem, [Turn(text)])


def write(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """The text of one document; a file has no place for more."""
    for document in documents:
        losses.count(document, _NOTHING_BUT_TEXT)
        losses.add("genres", int(document.genre is not None))
        losses.add(SEGMENTATION, int(bool(document.sentences)))
        yield document.text


def read_lines(text: str, path: Path | str) -> Iterator[Document]:
    """The documents of JSON lines; ``path`` is for error messages and for the name of documents without an id."""
    stem = Path(path).stem
    lines = ((_document_id(data, stem, line), _turn(data, path, line)) for line, data in objects(text, path))
    for id, group in groupby(lines, key=lambda pair: pair[0]):
        yield from_turns(id, (turn for _, turn in group))


def _document_id(data: dict[str, Any], stem: str, line: int) -> str:
    if data.get("id") is not None:
        return str(data["id"])
    return stem if "speaker" in data else f"{stem}-{line}"


def _turn(data: dict[str, Any], path: Path | str, line: int) -> Turn:
    text, speaker = data.get("text"), data.get("speaker")
    if not isinstance(text, str):
        raise FormatError("'text' is missing or no string", path=path, line=line)
    if speaker is not None and not isinstance(speaker, str):
        raise FormatError("'speaker' is no string", path=path, line=line)
    extra = tuple((name, str(value)) for name, value in data.items() if name not in _TURN_KEYS)
    return Turn(text, speaker, extra)


def write_lines(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """The documents as JSON lines, one a turn."""
    for document in documents:
        losses.count(document, Keeps(mentions=False))
        losses.add("genres", int(document.genre is not None))
        losses.add(SEGMENTATION, int(bool(document.sentences)))
        at = 0
        lines = []
        for speaker, group in groupby(document.sentences, key=lambda sentence: sentence.speaker):
            turn = list(group)
            start, end = turn[0].start, turn[-1].end
            lines.append({"id": document.id, "speaker": speaker, "text": document.text[start:end]})
            if document.text[at:start] != (TURN_GAP if at else ""):
                losses.add(SPACING)
            at = end
        if not lines:
            lines.append({"id": document.id, "text": document.text})
        yield from (json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
