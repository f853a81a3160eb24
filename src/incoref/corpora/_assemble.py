"""Builds a document from what a reader found (sentences, spans with entity ids): offsets and entities in order.

Also pairs opening and closing brackets for the CoNLL-style formats. Independent of any file layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from incoref.errors import FormatError
from incoref.types import Attributes, Document, Entity, Mention, Sentence, Token, make_mention

NO_ATTRIBUTES: Attributes = ()

make_token: Callable[[tuple[str, int, int, Attributes]], Token] = partial(tuple.__new__, Token)
"""``Token(…)`` from one tuple, three times as fast: readers create millions."""


class Span(NamedTuple):
    """A mention before character offsets are known: tokens ``first`` to ``end`` (exclusive)."""

    first: int
    end: int
    entity: str
    type: str | None = None
    attributes: Attributes = ()


make_span: Callable[[tuple[int, int, str, str | None, Attributes]], Span] = partial(tuple.__new__, Span)
_first, _end = itemgetter(0), itemgetter(1)


class Brackets:
    """Pairs the brackets of one document; a closing bracket ends the latest open mention of its entity."""

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._open: dict[str, list[tuple[int, int, int, str | None, Attributes]]] = {}
        self._spans: list[Span | None] = []
        """In order of opening; None while a mention is open, and permanently if it turns out to be empty."""

    def open(
        self, entity: str, token: int, line: int, type: str | None = None, attributes: Attributes = NO_ATTRIBUTES
    ) -> None:
        mention = (len(self._spans), token, line, type, attributes)
        self._spans.append(None)
        opened = self._open.get(entity)
        if opened is None:
            self._open[entity] = [mention]
        else:
            opened.append(mention)

    def add(
        self, entity: str, first: int, end: int, type: str | None = None, attributes: Attributes = NO_ATTRIBUTES
    ) -> None:
        """Add a mention that opens and closes in the same cell."""
        self._spans.append(make_span((first, end, entity, type, attributes)))

    def close(self, entity: str, end: int, line: int) -> None:
        opened = self._open.get(entity)
        if not opened:
            raise FormatError(f"a mention of entity {entity} ends here but none is open", path=self._path, line=line)
        place, first, _, type, attributes = opened.pop()
        if first < end:
            self._spans[place] = make_span((first, end, entity, type, attributes))

    def finish(self) -> list[Span]:
        """Return all spans at the end of the document; a mention still open is an error at its first line."""
        left = [(mention[2], entity) for entity, opened in self._open.items() for mention in opened]
        if left:
            line, entity = min(left)
            raise FormatError(
                f"a mention of entity {entity} starts here and never ends in this document",
                path=self._path,
                line=line,
            )
        return [span for span in self._spans if span is not None]


def space_joined(words: Sequence[str], start: int) -> Sentence:
    """A sentence of words joined by single spaces, the first at character ``start``."""
    tokens = []
    at = start
    for word in words:
        end = at + len(word)
        tokens.append(make_token((word, at, end, NO_ATTRIBUTES)))
        at = end + 1
    return Sentence(start, at - 1 if words else start, tuple(tokens))


def assemble(
    id: str,
    text: str,
    sentences: Sequence[Sentence],
    spans: Iterable[Span],
    genre: str | None = None,
    attributes: Attributes = NO_ATTRIBUTES,
) -> Document:
    """Build a document with mentions in order of appearance and entities in order of their first mention."""
    tokens = [token for sentence in sentences for token in sentence.tokens]
    ends = list(accumulate(len(sentence.tokens) for sentence in sentences))
    in_order = sorted(sorted(spans, key=_end, reverse=True), key=_first)
    mentions: dict[str, list[Mention]] = {}
    sentence_number = 0
    for first, end, entity, type, span_attributes in in_order:
        while first >= ends[sentence_number]:
            sentence_number += 1
        start, stop = tokens[first][1], tokens[end - 1][2]
        mention = make_mention(
            start, stop, text[start:stop], (first, end), sentence_number, entity, type, span_attributes
        )
        group = mentions.get(entity)
        if group is None:
            mentions[entity] = [mention]
        else:
            group.append(mention)
    entities = tuple(Entity(name, tuple(group), None, group[0].type) for name, group in mentions.items())
    return Document(id, text, tuple(sentences), entities, genre, attributes)
