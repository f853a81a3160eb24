"""Conversations as turns: the common representation of all transcript, chat, subtitle and e-mail formats.

A conversation becomes a document of sentences with speakers, or messages for a session. Independent of formats and
files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from incoref.text import split
from incoref.types import Attributes, Document, Sentence

TURN_GAP = "\n"
"""Separates turns in the document's text."""

COMPRESSED = (".gz", ".zst")


class Stretch(NamedTuple):
    """A part of a turn with timestamps."""

    at: int
    """Its offset in the turn's text."""
    appears: str
    disappears: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says before somebody else speaks."""

    text: str
    speaker: str | None = None
    attributes: Attributes = ()
    stretches: tuple[Stretch, ...] = ()
    """In order; the first starts at offset 0. Empty if no times are known."""

    @property
    def id(self) -> str | None:
        return dict(self.attributes).get("id")

    @property
    def time(self) -> str | None:
        """When it was said: a timestamp or a range."""
        if self.stretches:
            return f"{self.stretches[0].appears} --> {self.stretches[-1].disappears}"
        return dict(self.attributes).get("time")


class Conversation(NamedTuple):
    """Turns that belong together."""

    id: str
    turns: list[Turn]


class Spoken(NamedTuple):
    """The speech in a subtitle or in a segment of a transcription."""

    text: str
    speaker: str | None
    """None means the previous speaker."""
    appears: str
    disappears: str
    starts_turn: bool = False


def named(speaker: object) -> object:
    """Return a speaker given in JSON as a whole number as a string, and anything else unchanged."""
    return str(speaker) if isinstance(speaker, int) and not isinstance(speaker, bool) else speaker


def stem(path: Path | str) -> str:
    """The name of a file's document: the file name without suffixes of compression and format."""
    name = Path(path).name
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).stem


def from_turns(id: str, turns: Iterable[Turn]) -> Document:
    """Build a document from turns, separated by line breaks."""
    sentences: list[Sentence] = []
    texts = []
    at = 0
    for turn in turns:
        sentences += [_of_turn(sentence, turn, at) for sentence in split(turn.text, at)]
        texts.append(turn.text)
        at += len(turn.text) + len(TURN_GAP)
    return Document(id, TURN_GAP.join(texts), tuple(sentences))


def _of_turn(sentence: Sentence, turn: Turn, start: int) -> Sentence:
    times: Attributes = ()
    if turn.stretches:
        starts = [stretch.at for stretch in turn.stretches]
        first = turn.stretches[bisect_right(starts, sentence.start - start) - 1]
        last = turn.stretches[bisect_right(starts, sentence.end - 1 - start) - 1]
        times = (("from", first.appears), ("to", last.disappears))
    return replace(sentence, speaker=turn.speaker, attributes=sentence.attributes + turn.attributes + times)


def turns_of(document: Document) -> Iterator[Turn]:
    """Yield the turns of a document: consecutive sentences of one speaker."""
    for speaker, group in groupby(document.sentences, key=lambda sentence: sentence.speaker):
        sentences = list(group)
        yield Turn(document.text[sentences[0].start : sentences[-1].end], speaker)


def documents(conversations: Iterable[Conversation]) -> Iterator[Document]:
    for id, turns in conversations:
        yield from_turns(id, turns)


def joined(pieces: Iterable[Spoken]) -> Iterator[Turn]:
    """Join consecutive timed pieces of one speaker into turns, so that a sentence may span several pieces."""
    speaker: str | None = None
    texts: list[str] = []
    stretches: list[Stretch] = []
    at = 0
    for piece in pieces:
        if texts and (piece.starts_turn or (piece.speaker is not None and piece.speaker != speaker)):
            yield Turn(" ".join(texts), speaker, stretches=tuple(stretches))
            speaker, texts, stretches, at = None, [], [], 0
        if not texts:
            speaker = piece.speaker
        texts.append(piece.text)
        stretches.append(Stretch(at, piece.appears, piece.disappears))
        at += len(piece.text) + 1
    if texts:
        yield Turn(" ".join(texts), speaker, stretches=tuple(stretches))


def clock(seconds: float) -> str:
    """Format seconds as in subtitles: ``00:01:02.500``."""
    milliseconds = round(1000 * seconds)
    minutes, milliseconds = divmod(max(0, milliseconds), 60_000)
    return f"{minutes // 60:02}:{minutes % 60:02}:{milliseconds // 1000:02}.{milliseconds % 1000:03}"
