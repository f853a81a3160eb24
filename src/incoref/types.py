"""The values that incoref's packages exchange: tokens, sentences, mentions, entities, documents.

All are frozen. Character offsets are half-open ranges of code points in the document's text, so
``document.text[m.start:m.end] == m.text`` for tokens, sentences and mentions alike. Token ranges are half-open
too, numbered from the document's first token. ``to_json`` and ``from_json`` are inverses.

Independent of file formats, models and tokenisers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain, repeat
from typing import Any, NamedTuple

from incoref.errors import IncorefError

Attributes = tuple[tuple[str, str], ...]
"""Fields of a file format that incoref doesn't interpret, kept in order so that they can be written back."""

Given = str | int | float | None
"""An id or a time supplied by the caller and returned unchanged."""


PLUGGED: dict[str, Callable[[Any], str]] = {}
"""What values can do with code that comes later in the package, by name: ``incoref/__init__.py`` plugs it in."""


class Token(NamedTuple):
    """A word. A named tuple because corpora have millions of them: four times faster to create than a dataclass."""

    text: str
    start: int
    end: int
    attributes: Attributes = ()


_token: Callable[[tuple[str, int, int, Attributes]], Token] = partial(tuple.__new__, Token)
"""``Token(…)`` from a tuple, three times faster."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Consecutive tokens by a single speaker, if the text has speakers."""

    start: int
    end: int
    tokens: tuple[Token, ...]
    speaker: str | None = None
    attributes: Attributes = ()

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        said_by = f" by {self.speaker}" if self.speaker else ""
        return f"<Sentence {self.start}–{self.end}{said_by}: {_counted(len(self), 'token')}>"

    def to_json(self) -> dict[str, Any]:
        return _without_empty(
            start=self.start,
            end=self.end,
            speaker=self.speaker,
            tokens=[[text, start, end] for text, start, end, _ in self.tokens],
            token_attributes=_columns(self.tokens) or None,
            attributes=dict(self.attributes),
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Sentence:
        tokens = data.get("tokens")
        return cls(
            start=data["start"],
            end=data["end"],
            tokens=_tokens(tokens, data.get("token_attributes")) if tokens else (),
            speaker=data.get("speaker"),
            attributes=_attributes(data.get("attributes")),
        )


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """An alternative that a mention was not assigned to, and its probability."""

    entity: str | None
    """The entity's id; None means a new entity."""
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
    """Half-open range of token indices in the document."""
    sentence: int
    """Index of the sentence in which the mention starts."""
    entity: str
    """Id of the entity it refers to."""
    type: str | None = None
    confidence: float | None = None
    """Probability of the clustering decision: linking to this entity, or starting a new one."""
    mention_confidence: float | None = None
    """Probability that this stretch of text is a mention."""
    attributes: Attributes = ()
    new: bool | None = None
    """Whether it started its entity; None for gold mentions."""
    runners_up: tuple[RunnerUp, ...] = ()
    """The alternatives, most probable first, if they were requested."""

    def __repr__(self) -> str:
        return f"<Mention {_short(self.text)} {self.start}–{self.end} of entity {self.entity}>"

    def to_json(self) -> dict[str, Any]:
        # Spelled out for speed, with no call per absent field: corpora have hundreds of thousands of mentions.
        data: dict[str, Any] = {
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "tokens": list(self.tokens),
            "sentence": self.sentence,
            "entity": self.entity,
        }
        if self.type is not None:
            data["type"] = self.type
        if self.confidence is not None:
            data["confidence"] = self.confidence
        if self.mention_confidence is not None:
            data["mention_confidence"] = self.mention_confidence
        if self.attributes:
            data["attributes"] = dict(self.attributes)
        if self.new is not None:
            data["new"] = self.new
        if self.runners_up:
            data["runners_up"] = [other.to_json() for other in self.runners_up]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Mention:
        first, end = data["tokens"]
        given = data.get
        attributes, runners_up = given("attributes"), given("runners_up")
        return make_mention(
            data["start"],
            data["end"],
            data["text"],
            (first, end),
            data["sentence"],
            data["entity"],
            given("type"),
            _attributes(attributes) if attributes else (),
            given("confidence"),
            given("mention_confidence"),
            given("new"),
            tuple(map(RunnerUp.from_json, runners_up)) if runners_up else (),
        )


Span = Mention | tuple[int, int]
"""A mention, or where it starts and ends in its text."""


def place_of(span: Span) -> tuple[int, int]:
    """Where a mention starts and ends; an error if it is none."""
    place = (span.start, span.end) if isinstance(span, Mention) else span
    if not (isinstance(place, tuple) and len(place) == 2 and all(type(offset) is int for offset in place)):
        raise IncorefError(f"a mention is a Mention or its start and end in the text, not {span!r:.40}")
    return place


_new = object.__new__
_set_start, _set_end, _set_text, _set_tokens, _set_sentence, _set_entity = (
    getattr(Mention, name).__set__ for name in ("start", "end", "text", "tokens", "sentence", "entity")
)
_set_type, _set_confidence, _set_mention_confidence, _set_attributes, _set_new, _set_runners_up = (
    getattr(Mention, name).__set__
    for name in ("type", "confidence", "mention_confidence", "attributes", "new", "runners_up")
)


def make_mention(
    start: int,
    end: int,
    text: str,
    tokens: tuple[int, int],
    sentence: int,
    entity: str,
    type: str | None,
    attributes: Attributes,
    confidence: float | None = None,
    mention_confidence: float | None = None,
    new: bool | None = None,
    runners_up: tuple[RunnerUp, ...] = (),
) -> Mention:
    """``Mention(…)``, twice as fast, for corpus readers: the ``__init__`` of a frozen dataclass is slow."""
    mention = _new(Mention)
    _set_start(mention, start)
    _set_end(mention, end)
    _set_text(mention, text)
    _set_tokens(mention, tokens)
    _set_sentence(mention, sentence)
    _set_entity(mention, entity)
    _set_type(mention, type)
    _set_attributes(mention, attributes)
    _set_confidence(mention, confidence)
    _set_mention_confidence(mention, mention_confidence)
    _set_new(mention, new)
    _set_runners_up(mention, runners_up)
    return mention


@dataclass(frozen=True, slots=True)
class Entity:
    """A person or thing, with all its mentions in order of appearance."""

    id: str
    mentions: tuple[Mention, ...]
    name: str | None = None
    type: str | None = None
    speaker: str | None = None
    """The speaker whose "I" refers to this entity."""

    def __len__(self) -> int:
        return len(self.mentions)

    def __repr__(self) -> str:
        more = len(self) - _SHOWN_MENTIONS
        said = ", ".join(_short(mention.text) for mention in self.mentions[:_SHOWN_MENTIONS]) or "not mentioned"
        name = "" if self.name is None else f" {_short(self.name)}"
        return f"<Entity {self.id}{name}: {said}{f' and {more} more' if more > 0 else ''}>"

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
    """A text with its sentences and entities, gold or predicted."""

    id: str
    text: str
    sentences: tuple[Sentence, ...]
    entities: tuple[Entity, ...] = ()
    genre: str | None = None
    attributes: Attributes = ()

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        return tuple(chain.from_iterable([sentence.tokens for sentence in self.sentences]))

    def __repr__(self) -> str:
        sentences, entities = _counted(len(self.sentences), "sentence"), _counted(len(self.entities), "entity")
        return f"<Document {_short(self.id)}: {sentences}, {_counted(len(self.tokens), 'token')}, {entities}>"

    def _repr_html_(self) -> str:
        return PLUGGED["html"](self)

    @property
    def clusters(self) -> list[list[str]]:
        """What each entity is called, mention by mention: a quick look at who is who."""
        return [[mention.text for mention in entity.mentions] for entity in self.entities]

    def resolved_text(self) -> str:
        """The text with pronouns replaced by the names of those whom they mean."""
        return PLUGGED["resolved_text"](self)

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


_SHOWN_MENTIONS = 5


def _short(text: str) -> str:
    """The text in quotation marks, as far as it fits a line that holds other things."""
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what if count == 1 else what.removesuffix('y') + ('ies' if what.endswith('y') else 's')}"


_Column = tuple[str, list[str | None]]


def _columns(tokens: Sequence[Token]) -> list[_Column]:
    """The tokens' attributes as a table: each column has a name and one value, or None, per token.

    Tokens of a corpus mostly share the same attribute names, so one object per token would be slow. A token's
    attributes have the order of the columns; if tokens order them differently, a name gets several columns.
    """
    columns: list[_Column] = []
    known: dict[tuple[str, ...], list[list[str | None]]] = {}
    # zip's "strict" would cost a quarter of the time.
    rows = [zip(*token[3]) if token[3] else ((), ()) for token in tokens]  # noqa: B905
    for number, (names, values) in enumerate(rows):
        places = known.get(names)
        if places is None:
            places = known[names] = _columns_for(names, columns, len(tokens))
        for column, value in zip(places, values):  # noqa: B905
            column[number] = value
    return columns


def _columns_for(names: Iterable[str], columns: list[_Column], length: int) -> list[list[str | None]]:
    """The columns with these names, in this order; missing ones are inserted."""
    chosen = []
    after = 0
    for name in names:
        place = next((at for at, column in enumerate(columns) if at >= after and column[0] == name), None)
        if place is None:
            place = after
            columns.insert(place, (name, [None] * length))
        chosen.append(columns[place][1])
        after = place + 1
    return chosen


def _tokens(tokens: Iterable[tuple[str, int, int]], columns: Iterable[_Column] | None) -> tuple[Token, ...]:
    """Tokens with attributes from such a table; the loops run in C, since corpora have millions of tokens."""
    words, starts, ends = zip(*tokens, strict=True)
    attributes: Iterable[Attributes] = repeat((), len(words))
    if columns:
        rows = zip(*[map(_pairs(name).__getitem__, values) for name, values in columns], strict=True)
        incomplete = any(None in values for _, values in columns)
        attributes = map(tuple, map(filter, repeat(None), rows)) if incomplete else rows
    return tuple(map(_token, zip(words, starts, ends, attributes, strict=True)))


class _Pairs(dict[str | None, tuple[str, str] | None]):
    """Caches the (name, value) pair of each value, which saves time and memory. None maps to None."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __missing__(self, value: str | None) -> tuple[str, str] | None:
        if len(self) >= _MOST_PAIRS:
            self.clear()
        self[value] = pair = None if value is None else (self._name, value)
        return pair


_MOST_PAIRS = 1 << 14
_pairs = lru_cache(64)(_Pairs)


def _attributes(pairs: Mapping[str, str] | Iterable[tuple[str, str]] | None) -> Attributes:
    if isinstance(pairs, dict):
        return tuple(pairs.items())
    return tuple(dict(pairs).items()) if pairs else ()


def _without_empty(**fields: Any) -> dict[str, Any]:
    """Drop absent fields: None and empty mappings. 0, false, empty strings and empty lists are values and stay."""
    return {name: value for name, value in fields.items() if value is not None and value != {}}
