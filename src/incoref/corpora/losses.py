"""Counts what a target format can't express while writing, and reports it: nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain

from incoref.types import Attributes, Document, Mention

TOKEN_ATTRIBUTES, SENTENCE_ATTRIBUTES, MENTION_ATTRIBUTES, DOCUMENT_ATTRIBUTES = (
    f"{what} attributes" for what in ("token", "sentence", "mention", "document")
)
SPEAKERS = "speakers"
NAMES = "document names"
IDS = "entity ids (renumbered)"
SPACING = "texts with their exact white space"

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Loss:
    """A kind of information that is missing from the written file, and how often."""

    count: int
    what: str

    def __str__(self) -> str:
        return f"{self.count} × {self.what}"


@dataclass(frozen=True, slots=True)
class Keeps:
    """What a format can express. For attributes: the names that it keeps, or None for all."""

    mentions: bool = True
    types: bool = False
    speakers: bool = True
    token_attributes: Collection[str] | None = NOTHING
    sentence_attributes: Collection[str] | None = NOTHING
    mention_attributes: Collection[str] | None = NOTHING
    document_attributes: Collection[str] | None = NOTHING


class Losses:
    """Collects losses while a writer runs."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._names: dict[str, set[str]] = {}

    def add(self, what: str, count: int = 1, names: Iterable[str] = ()) -> None:
        if count:
            self._counts[what] = self._counts.get(what, 0) + count
            self._names.setdefault(what, set()).update(names)

    def report(self) -> list[Loss]:
        """One entry per kind of loss, in order of first appearance."""
        return [
            Loss(count, f"{what} ({', '.join(sorted(self._names[what]))})" if self._names[what] else what)
            for what, count in self._counts.items()
        ]

    def count(self, document: Document, keeps: Keeps) -> None:
        """Count everything in the document that the format can't express."""
        mentions = list(document.mentions)
        if not keeps.mentions:
            self.add("mentions", len(mentions))
        else:
            self._count_of_mentions(document, keeps)
        if not keeps.speakers:
            self.add(SPEAKERS, sum(sentence.speaker is not None for sentence in document.sentences))
        if keeps.token_attributes is not None:
            tokens = chain.from_iterable(sentence.tokens for sentence in document.sentences)
            self._attributes(TOKEN_ATTRIBUTES, (token[3] for token in tokens), keeps.token_attributes)
        if keeps.sentence_attributes is not None:
            of_sentences = (sentence.attributes for sentence in document.sentences)
            self._attributes(SENTENCE_ATTRIBUTES, of_sentences, keeps.sentence_attributes)
        if keeps.document_attributes is not None:
            self._attributes(DOCUMENT_ATTRIBUTES, [document.attributes], keeps.document_attributes)

    def _count_of_mentions(self, document: Document, keeps: Keeps) -> None:
        mentions = list(document.mentions)
        self.add("entities without a mention", sum(not entity.mentions for entity in document.entities))
        self.add("entity names", sum(entity.name is not None for entity in document.entities))
        self.add("entity speakers", sum(entity.speaker is not None for entity in document.entities))
        self.add("confidences", sum(_is_predicted(mention) for mention in mentions))
        if not keeps.types:
            self.add("mention types", sum(m.type is not None for m in mentions))
        other = sum(
            entity.type is not None and (not keeps.types or entity.type != entity.mentions[0].type)
            for entity in document.entities
            if entity.mentions
        )
        self.add("entity types", other)
        if keeps.mention_attributes is not None:
            self._attributes(MENTION_ATTRIBUTES, (m.attributes for m in mentions), keeps.mention_attributes)

    def _attributes(self, what: str, each: Iterable[Attributes], kept: Collection[str]) -> None:
        count = 0
        lost: set[str] = set()
        for attributes in each:
            if attributes:
                names = [name for name, _ in attributes if name not in kept]
                if names:
                    lost.update(names)
                    count += 1
        self.add(what, count, lost)


def _is_predicted(mention: Mention) -> bool:
    return (mention.confidence, mention.mention_confidence, mention.new, mention.runners_up) != (None, None, None, ())


def is_space_joined(document: Document) -> bool:
    """Whether words are separated by single spaces and sentences by line breaks, as many readers assume."""
    at = 0
    for sentence in document.sentences:
        if sentence.start != at or (at and document.text[at - 1] != "\n"):
            return False
        words = " ".join([token[0] for token in sentence.tokens])
        end = at + len(words)
        if sentence.end != end or document.text[at:end] != words:
            return False
        at = end + 1
    return at == len(document.text) + 1 or not (at or document.text)
