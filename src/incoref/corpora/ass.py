"""SubStation Alpha subtitles (SSA, ASS). Reading only.

The speaker is in the ``Name`` column. Comments, drawings, signs, songs and karaoke are not speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from incoref.corpora._json import spoken
from incoref.corpora.subtitles import speech_in
from incoref.corpora.turns import Conversation, Spoken, joined, stem
from incoref.errors import FormatError

_USUAL = "Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text"
_TAGS = re.compile(r"\{[^{}]*\}")
_BREAK = re.compile(r"\\[Nnh]")
_DRAWING = re.compile(r"\\p[1-9]")
_KARAOKE = re.compile(r"\\[kK][fo]?\d")
_NOT_SPEECH = re.compile(
    r"(?:^|[^a-z])(?:op|ed|opening|ending|songs?|lyrics?|karaoke|signs?|titles?)(?:[^a-z]|$)", re.IGNORECASE
)


def conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    """Yield the single conversation of a file, named after the file."""
    pieces = sorted(_pieces(text, path), key=lambda piece: _seconds(piece.appears))
    yield from spoken([(stem(path), joined(_with_beginnings(pieces)))], path)


def _with_beginnings(pieces: Iterable[Spoken]) -> Iterator[Spoken]:
    """Start a new turn whenever the name changes: a line without a name doesn't belong to the previous speaker."""
    speaker: str | None = None
    for piece in pieces:
        yield piece._replace(starts_turn=piece.speaker != speaker)
        speaker = piece.speaker


def _pieces(text: str, path: Path | str) -> Iterator[Spoken]:
    columns = _columns(_USUAL)
    for number, line in enumerate(text.split("\n"), 1):
        kind, _, rest = line.partition(":")
        if kind.strip() == "Format" and "Text" in rest:
            columns = _columns(rest)
        if kind.strip() != "Dialogue":
            continue
        values = rest.split(",", len(columns) - 1)
        if len(values) < len(columns):
            raise FormatError(
                f"a line of dialogue has {len(columns)} columns, not {len(values)}", path=path, line=number
            )
        row = dict(zip(columns, map(str.strip, values), strict=True))
        try:
            start, end, said = row["start"], row["end"], row["text"]
        except KeyError as error:
            raise FormatError(f"'Format' names no column {error}", path=path, line=number) from error
        if _NOT_SPEECH.search(row.get("style", "")) or _DRAWING.search(said) or _KARAOKE.search(said):
            continue
        clean = " ".join(speech_in(_BREAK.sub("\n", _TAGS.sub("", said))).split())
        if clean:
            yield Spoken(clean, row.get("name") or row.get("actor") or None, start, end)


def _columns(line: str) -> list[str]:
    return [column.strip().lower() for column in line.split(",")]


def _seconds(time: str) -> float:
    """Parse a time such as ``0:01:02.50``; an invalid one is 0, so that it sorts first."""
    try:
        hours, minutes, seconds = time.split(":")
        return 3600 * int(hours) + 60 * int(minutes) + float(seconds)
    except ValueError:
        return 0.0
