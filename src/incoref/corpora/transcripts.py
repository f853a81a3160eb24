"""Speech written down: ``Name: text`` lines, SRT and WebVTT subtitles. Reading only.

Consecutive lines or subtitles of one speaker are one turn, so that a sentence may run through several of them. A
sentence of subtitles keeps the time at which its first subtitle appears and its last disappears (attributes ``from``
and ``to``). Mark-up inside subtitles is left out.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from incoref.corpora.plain import TURN_GAP, Turn, from_turns
from incoref.errors import FormatError
from incoref.types import Document, Sentence

_MOST_WORDS_IN_A_NAME = 5
_STAMP = re.compile(r"\s*[\[(]?\d{1,3}(?::\d{2}){1,2}(?:[.,]\d+)?[\])]?\s+(?=\S)")
_LABEL = re.compile(r"\s*([^:\n]{1,60}?)\s*:(?:\s+(.*))?")
_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMING = re.compile(rf"\s*({_TIME})\s*-->\s*({_TIME})(?:\s.*)?")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_MARKUP = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_DASH = re.compile(r"\s*(?:-|–|—|>>+)\s+")
_NOT_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION")


class _Piece(NamedTuple):
    """What one subtitle adds to a turn."""

    text: str
    appears: str
    disappears: str


def label_of(line: str) -> tuple[str, str] | None:
    """Speaker and text of a line that starts with a name, a colon and white space."""
    stamp = _STAMP.match(line)
    found = _LABEL.fullmatch(line, stamp.end() if stamp else 0)
    if found is None:
        return None
    name = found[1].strip(" *_")
    if len(name.split()) > _MOST_WORDS_IN_A_NAME or not any(character.isalpha() for character in name):
        return None
    return name, found[2] or ""


def read(text: str, path: Path | str) -> Iterator[Document]:
    """The one document of a file of ``Name: text`` lines, named after the file."""
    turns: list[tuple[str | None, list[str]]] = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        label = label_of(line)
        speaker, said = label or (turns[-1][0] if turns else None, line)
        if not turns or speaker != turns[-1][0]:
            turns.append((speaker, []))
        if said.strip():
            turns[-1][1].append(said.strip())
    if all(speaker is None for speaker, _ in turns):
        raise FormatError("no line of the form 'Name: text'", path=path)
    yield from_turns(Path(path).stem, (Turn(" ".join(lines), speaker) for speaker, lines in turns if lines))


def read_subtitles(text: str, path: Path | str) -> Iterator[Document]:
    """The one document of an SRT or WebVTT file, named after the file."""
    turns: list[tuple[str | None, list[_Piece]]] = []
    cues = list(_cues(text, path))
    names = _names(line for _, _, lines in cues for line in lines)
    for appears, disappears, lines in cues:
        for speaker, said, starts_turn in _spoken(lines, names):
            if not turns or starts_turn or (speaker is not None and speaker != turns[-1][0]):
                turns.append((speaker, []))
            turns[-1][1].append(_Piece(said, appears, disappears))
    document = from_turns(
        Path(path).stem, (Turn(" ".join(piece.text for piece in pieces), speaker) for speaker, pieces in turns)
    )
    pieces = [piece for _, spoken in turns for piece in spoken]
    starts, at = [], 0
    for piece in pieces:
        starts.append(at)
        at += len(piece.text) + len(TURN_GAP)
    yield replace(document, sentences=tuple(_timed(sentence, starts, pieces) for sentence in document.sentences))


def _timed(sentence: Sentence, starts: list[int], pieces: list[_Piece]) -> Sentence:
    first = pieces[bisect_right(starts, sentence.start) - 1]
    last = pieces[bisect_right(starts, sentence.end - 1) - 1]
    times = (("from", first.appears), ("to", last.disappears))
    return replace(sentence, attributes=sentence.attributes + times)


def _cues(text: str, path: Path | str) -> Iterator[tuple[str, str, list[str]]]:
    """The subtitles: when they appear and disappear, and their lines."""
    cue: tuple[str, str, list[str]] | None = None
    for line, block in _blocks(text):
        timing = next((at for at, row in enumerate(block[:2]) if "-->" in row), None)
        if timing is None:
            if block[0].strip().isdecimal() and len(block) > 1:
                raise FormatError(
                    "a subtitle without a time such as '00:00:01,000 --> 00:00:04,000'", path=path, line=line
                )
            if not block[0].lstrip("\ufeff").startswith(_NOT_CUES) and cue is not None:
                cue[2].extend(block)
            continue
        found = _TIMING.fullmatch(block[timing])
        if found is None:
            raise FormatError(
                f"expected a time such as '00:00:01,000 --> 00:00:04,000', not {block[timing]!r}",
                path=path,
                line=line + timing,
            )
        if cue is not None:
            yield cue
        cue = (found[1], found[2], block[timing + 1 :])
    if cue is None:
        raise FormatError("no subtitle in the file", path=path)
    yield cue


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Lines between blank ones, with the number of the first."""
    block: list[str] = []
    lines = text.split("\n")
    lines.append("")
    for number, line in enumerate(lines, 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _names(lines: Iterable[str]) -> set[str]:
    """Which words before a colon are names: those in capitals, or capitalised and there more than once."""
    labels = Counter(label[0] for label in map(_labelled, lines) if label is not None and label[1])
    return {name for name, count in labels.items() if name.isupper() or (count > 1 and name[0].isupper())}


def _labelled(line: str) -> tuple[str, str] | None:
    clean = _MARKUP.sub("", line)
    dash = _DASH.match(clean)
    return label_of(clean[dash.end() :] if dash else clean)


def _spoken(lines: Iterable[str], names: set[str]) -> Iterator[tuple[str | None, str, bool]]:
    """Who says what in a subtitle (None: whoever spoke before), and whether someone new begins."""
    for line in lines:
        before, *voices = _VOICE.split(line)
        label = None if voices else _labelled(line)
        said: list[tuple[str | None, str]] = [label] if label is not None and label[0] in names else [(None, before)]
        for speaker, words in (*said, *zip(voices[::2], voices[1::2], strict=True)):
            clean = " ".join(html.unescape(_MARKUP.sub("", words)).split())
            dash = _DASH.match(clean) if speaker is None else None
            clean = clean[dash.end() :] if dash else clean
            if clean:
                yield speaker and speaker.strip(), clean, dash is not None
