"""A session's transcript: text and entities as frozen values that share memory.

Every sentence creates a new state that contains all of this, so appending to a long ``Log`` must be cheap and must
not change the shorter one. Independent of the model.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from sys import getsizeof
from typing import Generic, TypeVar

from incoref.session.names import Name
from incoref.types import Given, Mention, Sentence, Token

T = TypeVar("T")

_CHUNK = 128
_LINE_BYTES, _MENTION_BYTES, _RUNNER_UP_BYTES, _ENTITY_BYTES = 450, 430, 120, 300
"""Approximate size of an object without its text, measured with tracemalloc."""


class Chunk(tuple[T, ...]):
    """A chunk of a log, with its memory size, which is computed once."""

    @cached_property
    def nbytes(self) -> int:
        return sum(map(nbytes_of, self))


@dataclass(frozen=True, slots=True)
class Log(Generic[T]):
    """A sequence that is appended to and trimmed at its start; logs derived from it share its items."""

    chunks: tuple[Chunk[T], ...] = ()
    tail: tuple[T, ...] = ()
    skipped: int = 0
    """Number of items trimmed from the start."""

    @classmethod
    def of(cls, items: Iterable[T]) -> Log[T]:
        return cls().extended(items)

    def __len__(self) -> int:
        return _CHUNK * len(self.chunks) + len(self.tail) - self.skipped

    def __iter__(self) -> Iterator[T]:
        skip = self.skipped
        for chunk in (*self.chunks, self.tail):
            yield from chunk[skip:] if skip else chunk
            skip = 0

    @property
    def nbytes(self) -> int:
        """Approximate memory; other logs may share it."""
        return sum(chunk.nbytes for chunk in self.chunks) + sum(map(nbytes_of, self.tail))

    @property
    def last(self) -> T | None:
        """The latest item, if there is any."""
        if not len(self):
            return None
        return self.tail[-1] if self.tail else self.chunks[-1][-1]

    def extended(self, items: Iterable[T]) -> Log[T]:
        tail = (*self.tail, *items)
        full = len(tail) - len(tail) % _CHUNK
        chunks = tuple(Chunk(tail[start : start + _CHUNK]) for start in range(0, full, _CHUNK))
        return Log(self.chunks + chunks if chunks else self.chunks, tail[full:], self.skipped)

    def without_first(self, count: int) -> Log[T]:
        skipped = self.skipped + min(count, len(self))
        gone = min(skipped // _CHUNK, len(self.chunks))
        return Log(self.chunks[gone:], self.tail, skipped - gone * _CHUNK)


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence in the transcript."""

    number: int
    """Sentence number, from 0."""
    first: int
    """Number of its first token in the text."""
    before: str
    """The text between it and the previous sentence."""
    text: str
    start: int
    bounds: array[int]
    """Alternating starts and ends of its words, relative to the sentence."""
    speaker: str | None = None
    id: Given = None
    time: Given = None
    warnings: tuple[str, ...] = ()
    mentions: tuple[Mention, ...] = ()

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def __len__(self) -> int:
        """Number of words."""
        return len(self.bounds) // 2

    def words(self, first: int = 0, end: int | None = None) -> tuple[str, ...]:
        """Its words, or a range of them."""
        bounds = self.bounds[2 * first : None if end is None else 2 * end]
        return tuple(self.text[i:j] for i, j in _pairs(bounds))

    def sentence(self, shift: int = 0) -> Sentence:
        """The sentence for a document that starts this many characters into the text."""
        start = self.start - shift
        tokens = (Token(self.text[i:j], start + i, start + j) for i, j in _pairs(self.bounds))
        given = ((name, str(value)) for name, value in (("id", self.id), ("time", self.time)) if value is not None)
        return Sentence(start, start + len(self.text), tuple(tokens), self.speaker, tuple(given))


def bounds_of(tokens: Sequence[Token], start: int) -> array[int]:
    """Offsets of words, relative to a start."""
    return array("I", (place - start for token in tokens for place in (token.start, token.end)))


def _pairs(bounds: array[int]) -> Iterator[tuple[int, int]]:
    return zip(bounds[::2], bounds[1::2], strict=True)


@dataclass(frozen=True, slots=True)
class LiveEntity:
    """An entity that new mentions can be linked to, without the model's memory of it."""

    id: str
    name: Name | None
    count: int
    """Number of mentions so far."""
    latest: int
    """Number of the token after its latest mention."""
    given_name: str | None = None
    given_type: str | None = None
    introduced: bool = False
    """Introduced by the caller, so never evicted."""


@dataclass(frozen=True, slots=True)
class EvictedEntity:
    """An entity that the model has forgotten; its mentions are still in the transcript."""

    id: str
    name: str | None
    type: str | None
    speaker: str | None
    sentence: int
    """Number of the sentence after which it was evicted."""


def nbytes_of(item: object) -> int:
    """Approximate memory of an item of a log."""
    match item:
        case Line():
            text = getsizeof(item.text) + getsizeof(item.before) + item.bounds.itemsize * len(item.bounds)
            runners_up = sum(len(mention.runners_up) for mention in item.mentions)
            mentions = _MENTION_BYTES * len(item.mentions) + sum(getsizeof(mention.text) for mention in item.mentions)
            return _LINE_BYTES + text + mentions + _RUNNER_UP_BYTES * runners_up
        case EvictedEntity():
            return _ENTITY_BYTES
        case str():
            return getsizeof(item)
        case _:
            raise TypeError(f"a log has no items of type {type(item).__name__}")
