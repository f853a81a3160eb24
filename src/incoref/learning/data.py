"""Corpora for training: which documents, under which scheme, how often; and their examples.

Documents with the same id and the same words are one example with several annotations.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incoref import corpora
from incoref.errors import IncorefError
from incoref.learning.config import CorpusConfig
from incoref.learning.preparation import Example, annotate, read
from incoref.subwords import SubwordTokenizer
from incoref.types import Document, Entity, Mention
from incoref.windows import WindowSizes


@dataclass(frozen=True, slots=True)
class Annotated:
    """A document under one scheme."""

    document: Document
    scheme: str
    weight: float


@dataclass(frozen=True, slots=True)
class Source:
    """A text with its annotations, how often an epoch visits it, and the longest stretch of it to read at once."""

    annotated: tuple[Annotated, ...]
    share: float
    longest: int | None

    @property
    def id(self) -> str:
        return self.annotated[0].document.id


def load(corpus: CorpusConfig) -> list[Document]:
    """The documents of one corpus, other mentions added as singletons where the configuration says so."""
    documents = list(corpora.read(corpus.path, corpus.format))
    if corpus.documents is not None:
        wanted = Path(corpus.documents).read_text(encoding="utf-8").split()
        by_id = {document.id: document for document in documents}
        missing = [name for name in wanted if name not in by_id]
        if missing:
            raise IncorefError(f"{corpus.documents} lists '{missing[0]}', which {corpus.path} does not have")
        documents = [by_id[name] for name in wanted]
    if corpus.singletons_from is not None:
        others = {document.id: document for document in corpora.read(corpus.singletons_from, corpus.format)}
        documents = [with_singletons(document, others[document.id]) for document in documents]
    return documents


def with_singletons(document: Document, other: Document) -> Document:
    """The document with the other annotation's remaining mentions, each alone in an entity, and its types."""
    if [token.text for token in document.tokens] != [token.text for token in other.tokens]:
        raise IncorefError(f"{document.id}: the two annotations have different words")
    types = {mention.tokens: mention.type for mention in other.mentions}
    entities = [
        replace(entity, mentions=tuple(replace(m, type=m.type or types.get(m.tokens)) for m in entity.mentions))
        for entity in document.entities
    ]
    known = {mention.tokens for mention in document.mentions}
    for mention in other.mentions:
        if mention.tokens not in known:
            known.add(mention.tokens)
            alone = f"+{len(entities)}"
            entities.append(Entity(alone, (replace(mention, entity=alone),), type=mention.type))
    return replace(document, entities=tuple(entities))


def sources(configs: Iterable[CorpusConfig]) -> list[Source]:
    """All texts of some corpora, annotations of the same text together."""
    by_text: dict[tuple[str, str], list[tuple[CorpusConfig, Annotated]]] = defaultdict(list)
    for config in configs:
        for document in load(config):
            words = " ".join(token.text for token in document.tokens)
            by_text[document.id, words].append((config, Annotated(document, config.scheme, config.weight)))
    return [
        Source(tuple(annotated for _, annotated in group), group[0][0].share, group[0][0].longest)
        for group in by_text.values()
    ]


def example(
    source: Source,
    tokenizer: SubwordTokenizer,
    sizes: WindowSizes,
    types: dict[str, int],
    rng: np.random.Generator | None = None,
    k: int = 1,
) -> Example:
    """The source as an example; a long text gives a random stretch of whole sentences."""
    documents = [annotated.document for annotated in source.annotated]
    if source.longest is not None and rng is not None:
        start, end = random_stretch([len(s) for s in documents[0].sentences], source.longest, rng)
        documents = [sentences_of(document, start, end) for document in documents]
    reading = read(documents[0], tokenizer, sizes, k)
    return Example(
        id=documents[0].id,
        genre=documents[0].genre,
        reading=reading,
        annotations=tuple(
            annotate(document, reading, annotated.scheme, types, annotated.weight)
            for document, annotated in zip(documents, source.annotated, strict=True)
        ),
    )


def random_stretch(lengths: Sequence[int], longest: int, rng: np.random.Generator) -> tuple[int, int]:
    """A range of sentences with at most ``longest`` tokens (at least one sentence), its start drawn evenly."""
    ends = np.cumsum(lengths)
    if ends[-1] <= longest:
        return 0, len(lengths)
    latest = int(np.searchsorted(ends, ends[-1] - longest, side="right"))  # a later start would waste room
    start = int(rng.integers(0, latest + 1))
    before = int(ends[start - 1]) if start else 0
    end = int(np.searchsorted(ends, before + longest, side="right"))
    return start, max(end, start + 1)


def sentences_of(document: Document, start: int, end: int) -> Document:
    """Some sentences of a document as a document; mentions that reach outside are left out. The text stays whole."""
    before = sum(len(sentence) for sentence in document.sentences[:start])
    inside = before + sum(len(sentence) for sentence in document.sentences[start:end])

    def moved(mention: Mention) -> Mention:
        first, stop = mention.tokens
        return replace(mention, tokens=(first - before, stop - before), sentence=mention.sentence - start)

    entities = []
    for entity in document.entities:
        kept = tuple(moved(m) for m in entity.mentions if m.tokens[0] >= before and m.tokens[1] <= inside)
        if kept:
            entities.append(replace(entity, mentions=kept))
    return replace(document, sentences=document.sentences[start:end], entities=tuple(entities))


def genres(found: Iterable[Source]) -> tuple[str, ...]:
    """The genres of some sources, by name."""
    return tuple(sorted({a.document.genre for source in found for a in source.annotated if a.document.genre}))


def action_counts(examples: Iterable[Example]) -> np.ndarray:
    """How often each action occurs."""
    counts: Counter[int] = Counter()
    for one in examples:
        for annotation in one.annotations:
            counts.update(annotation.derivation.action.tolist())
    return np.array([counts[action] for action in range(4)])
