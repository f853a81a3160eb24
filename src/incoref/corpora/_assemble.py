"""From what a reader found (words, spans with entity ids) to a document: offsets, sentences, entities in order.

Also the bookkeeping of opening and closing brackets that the CoNLL family shares. Knows no file layout.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from incoref.errors import FormatError
from incoref.types import Attributes, Document, Entity, Mention, Sentence, Token

NO_ATTRIBUTES: Attributes = ()


class Span(NamedTuple):
    """A mention before the document's text is known: tokens ``first`` to ``end`` (exclusive)."""

    first: int
    end: int
    entity: str
    type: str | None = None
    attributes: Attributes = ()


class Brackets:
    """Pairs opening and closing brackets of one document; a closing one ends the latest open one of its name."""

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._open: dict[str, list[tuple[int, int, int, str | None, Attributes]]] = {}
        self._opened = 0
        self._spans: dict[int, Span] = {}

    def open(
        self, entity: str, token: int, line: int, type: str | None = None, attributes: Attributes = NO_ATTRIBUTES
    ) -> None:
        self._open.setdefault(entity, []).append((self._opened, token, line, type, attributes))
        self._opened += 1

    def close(self, entity: str, end: int, line: int) -> None:
        opened = self._open.get(entity)
        if not opened:
            raise FormatError(f"a mention of entity {entity} ends here but none is open", path=self._path, line=line)
        number, first, _, type, attributes = opened.pop()
        self._spans[number] = Span(first, end, entity, type, attributes)

    def finish(self) -> list[Span]:
        """All spans in the order in which they open; one that is still open is an error at the line of its start.

        Of mentions with the same span, a scorer takes the first to be the one that counts.
        """
        left = [(line, entity) for entity, opened in self._open.items() for _, _, line, _, _ in opened]
        if left:
            line, entity = min(left)
            raise FormatError(
                f"a mention of entity {entity} starts here and never ends in this document",
                path=self._path,
                line=line,
            )
        return [self._spans[number] for number in range(self._opened)]


def space_joined(
    words: Sequence[str], start: int, speaker: str | None = None, attributes: Attributes = NO_ATTRIBUTES
) -> Sentence:
    """A sentence whose words are one space apart, the first at character ``start``."""
    tokens = []
    make, at = Token._make, start
    for word in words:
        end = at + len(word)
        tokens.append(make((word, at, end, NO_ATTRIBUTES)))
        at = end + 1
    return Sentence(start, at - 1 if words else start, tuple(tokens), speaker, attributes)


def assemble(
    id: str,
    text: str,
    sentences: Sequence[Sentence],
    spans: Iterable[Span],
    genre: str | None = None,
    attributes: Attributes = NO_ATTRIBUTES,
) -> Document:
    """A document whose entities come in order of their first mention, and mentions in order of appearance."""
    tokens = [token for sentence in sentences for token in sentence.tokens]
    firsts, total = [], 0
    for sentence in sentences:
        firsts.append(total)
        total += len(sentence.tokens)
    ordered = sorted(spans, key=lambda span: (span[0], -span[1]))
    mentions: dict[str, list[Mention]] = {}
    for first, end, entity, type, span_attributes in ordered:
        start, stop = tokens[first].start, tokens[end - 1].end
        mention = Mention(
            start,
            stop,
            text[start:stop],
            (first, end),
            bisect_right(firsts, first) - 1,
            entity,
            type,
            None,
            None,
            span_attributes,
        )
        group = mentions.get(entity)
        if group is None:
            mentions[entity] = [mention]
        else:
            group.append(mention)
    entities = tuple(Entity(name, tuple(group), None, group[0].type) for name, group in mentions.items())
    return Document(id, text, tuple(sentences), entities, genre, attributes)
