"""The values that every room of incoref hands to the next: tokens, sentences, mentions, entities, documents.

All are frozen. Character offsets count code points of the document's text and exclude the end, so that
``document.text[m.start:m.end] == m.text`` for tokens, sentences and mentions alike. Token ranges are half-open
too and count tokens from the document's first. ``to_json`` and ``from_json`` are inverse to each other.

This module knows no file format, no model and no tokeniser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

Attributes = tuple[tuple[str, str], ...]
"""Fields that a format has and we give no meaning to, kept in order so that they can be written back."""


class Token(NamedTuple):
    """A word. A named tuple rather than a dataclass: corpora have millions, and it is four times as quick to make."""

    text: str
    start: int
    end: int
    attributes: Attributes = ()


_token: Callable[[tuple[str, int, int, Attributes]], Token] = partial(tuple.__new__, Token)
"""``Token(…)`` from one tuple, three times as quick."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Consecutive tokens, said by one speaker if the text has speakers."""

    start: int
    end: int
    tokens: tuple[Token, ...]
    speaker: str | None = None
    attributes: Attributes = ()

    def __len__(self) -> int:
        return len(self.tokens)

    def to_json(self) -> dict[str, Any]:
        return _without_empty(
            start=self.start,
            end=self.end,
            speaker=self.speaker,
            tokens=[[*t[:3], dict(t[3])] if t[3] else [*t[:3]] for t in self.tokens],
            attributes=dict(self.attributes),
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sentence:
        return cls(
            start=data["start"],
            end=data["end"],
            tokens=tuple(
                [
                    _token((t[0], t[1], t[2], tuple(t[3].items()) if len(t) > 3 else ()))
                    for t in data.get("tokens", ())
                ]
            ),
            speaker=data.get("speaker"),
            attributes=_attributes(data.get("attributes")),
        )


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """An entity that a mention was not linked to, and the probability of that choice."""

    entity: str | None
    """Its id; none stands for a new entity."""
    confidence: float

    def to_json(self) -> dict[str, Any]:
        return {"entity": self.entity, "confidence": self.confidence}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunnerUp:
        return cls(data["entity"], data["confidence"])


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of text that refers to an entity."""

    start: int
    end: int
    text: str
    tokens: tuple[int, int]
    """Half-open range of token numbers in the document."""
    sentence: int
    """Number of the sentence in which the mention starts."""
    entity: str
    """Id of the entity it refers to."""
    type: str | None = None
    confidence: float | None = None
    """Probability of the clustering decision: of linking it there, or of founding a new entity."""
    mention_confidence: float | None = None
    """Probability that this stretch of text is a mention."""
    attributes: Attributes = ()
    new: bool | None = None
    """Whether it founded its entity; not known of mentions that were annotated by hand."""
    runners_up: tuple[RunnerUp, ...] = ()
    """Where else it might have gone, most probable first, if that was asked for."""

    def to_json(self) -> dict[str, Any]:
        return _without_empty(
            start=self.start,
            end=self.end,
            text=self.text,
            tokens=list(self.tokens),
            sentence=self.sentence,
            entity=self.entity,
            type=self.type,
            confidence=self.confidence,
            mention_confidence=self.mention_confidence,
            attributes=dict(self.attributes),
            new=self.new,
            runners_up=[other.to_json() for other in self.runners_up] or None,
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mention:
        first, end = data["tokens"]
        return cls(
            start=data["start"],
            end=data["end"],
            text=data["text"],
            tokens=(first, end),
            sentence=data["sentence"],
            entity=data["entity"],
            type=data.get("type"),
            confidence=data.get("confidence"),
            mention_confidence=data.get("mention_confidence"),
            attributes=_attributes(data.get("attributes")),
            new=data.get("new"),
            runners_up=tuple(map(RunnerUp.from_json, data.get("runners_up", ()))),
        )


@dataclass(frozen=True, slots=True)
class Entity:
    """Someone or something, with all its mentions in order of appearance."""

    id: str
    mentions: tuple[Mention, ...]
    name: str | None = None
    type: str | None = None
    speaker: str | None = None
    """Whose "I" it is."""

    def __len__(self) -> int:
        return len(self.mentions)

    def to_json(self) -> dict[str, Any]:
        return _without_empty(
            id=self.id,
            name=self.name,
            type=self.type,
            speaker=self.speaker,
            mentions=[m.to_json() for m in self.mentions],
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Entity:
        return cls(
            id=data["id"],
            mentions=tuple(Mention.from_json(m) for m in data["mentions"]),
            name=data.get("name"),
            type=data.get("type"),
            speaker=data.get("speaker"),
        )


@dataclass(frozen=True)
class Document:
    """A text with its sentences and the entities in it, gold or predicted."""

    id: str
    text: str
    sentences: tuple[Sentence, ...]
    entities: tuple[Entity, ...] = ()
    genre: str | None = None
    attributes: Attributes = ()

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        return tuple(token for sentence in self.sentences for token in sentence.tokens)

    @property
    def mentions(self) -> Iterator[Mention]:
        return (mention for entity in self.entities for mention in entity.mentions)

    def to_json(self) -> dict[str, Any]:
        return _without_empty(
            id=self.id,
            genre=self.genre,
            text=self.text,
            sentences=[s.to_json() for s in self.sentences],
            entities=[e.to_json() for e in self.entities],
            attributes=dict(self.attributes),
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Document:
        return cls(
            id=data["id"],
            text=data["text"],
            sentences=tuple(Sentence.from_json(s) for s in data.get("sentences", ())),
            entities=tuple(Entity.from_json(e) for e in data.get("entities", ())),
            genre=data.get("genre"),
            attributes=_attributes(data.get("attributes")),
        )


def _attributes(pairs: Mapping[str, str] | Iterable[tuple[str, str]] | None) -> Attributes:
    if isinstance(pairs, dict):
        return tuple(pairs.items())
    return tuple(dict(pairs).items()) if pairs else ()


def _without_empty(**fields: Any) -> dict[str, Any]:
    """Drop what is absent; keep 0, false, empty text and lists, which are values (an empty mapping is absence)."""
    return {name: value for name, value in fields.items() if value is not None and value != {}}
