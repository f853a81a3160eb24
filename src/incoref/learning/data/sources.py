"""Training corpora: which documents, under which scheme, how often. Independent of tokenizer and model.

Documents with the same id and the same words can form one source with several annotations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incoref import corpora
from incoref.errors import IncorefError
from incoref.learning.config import CorpusConfig
from incoref.learning.data.decisions import ATTRIBUTE, Decisions
from incoref.types import Document, Entity, Mention


@dataclass(frozen=True, slots=True)
class Annotated:
    """A document under one scheme."""

    document: Document
    scheme: str
    weight: float
    partial: bool = False
    """Whether only some of its mentions are annotated."""
    chance: float = 1.0
    """Probability of learning from it when its text is read."""
    decisions: Decisions | None = None
    """The decisions of the model that made the annotation, if a model did."""

    def between(self, start: int, end: int) -> Annotated:
        """Return a range of its sentences."""
        decisions = None if self.decisions is None else self.decisions.between(start, end)
        return replace(self, document=sentences_of(self.document, start, end), decisions=decisions)


@dataclass(frozen=True, slots=True)
class Source:
    """A text with its annotations, and how training reads it."""

    annotated: tuple[Annotated, ...]
    share: float
    """Visits per epoch."""
    longest: int | None
    """The most tokens of it to read at once."""
    together: int = 1
    """Texts of its corpus per update."""

    @property
    def id(self) -> str:
        return self.annotated[0].document.id

    @property
    def labelled(self) -> bool:
        """Whether any of its annotations was made by a model."""
        return any(annotated.decisions is not None for annotated in self.annotated)


def load(corpus: CorpusConfig) -> list[Document]:
    """Load the documents of one corpus, with other mentions added as singletons where configured."""
    documents = list(corpora.read(corpus.path, corpus.format))
    if corpus.documents is not None:
        documents = _listed(documents, corpus.documents, corpus.path)
    if corpus.dialogues_only:
        documents = [document for document in documents if _is_dialogue(document)]
    if corpus.limit is not None and corpus.limit < len(documents):
        documents = [documents[i * len(documents) // corpus.limit] for i in range(corpus.limit)]
    if corpus.singletons_from is not None:
        documents = all_with_singletons(documents, corpus.singletons_from, corpus.format)
    for document in documents:
        if not document.tokens:
            raise IncorefError(
                f"{corpus.path}: document '{document.id}' has no words; leave it out (see the setting 'documents')"
            )
    if corpus.genre is not None:
        documents = [replace(document, genre=corpus.genre) for document in documents]
    return documents


def _listed(documents: list[Document], listing: Path, where: Path) -> list[Document]:
    """Return the documents whose ids a file lists, in its order."""
    try:
        wanted = listing.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise IncorefError(f"{listing}: the list of documents can't be read: {error}") from error
    by_id = {document.id: document for document in documents}
    missing = [name for name in wanted if name not in by_id]
    if missing:
        raise IncorefError(f"{listing} lists '{missing[0]}', which {where} does not have")
    return [by_id[name] for name in wanted]


def all_with_singletons(documents: Sequence[Document], place: Path, format: str | None = None) -> list[Document]:
    """Add the remaining mentions of another annotation of the same texts to documents, as singletons."""
    by_id = {document.id: document for document in corpora.read(place, format)}
    for document in documents:
        if document.id not in by_id:
            raise IncorefError(f"{place} has no document '{document.id}', whose singletons it is to give")
    return [with_singletons(document, by_id[document.id]) for document in documents]


def with_singletons(document: Document, other: Document) -> Document:
    """Add the other annotation's remaining mentions to the document, as singletons, and its types."""
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


def without_singletons(document: Document) -> Document:
    """Return the document without singletons."""
    return replace(document, entities=tuple(entity for entity in document.entities if len(entity.mentions) > 1))


def sources(configs: Iterable[CorpusConfig], together: bool = True) -> list[Source]:
    """Load all texts of some corpora; with ``together``, annotations of the same text share one source."""
    by_text: dict[Hashable, list[tuple[CorpusConfig, Annotated]]] = defaultdict(list)
    for number, config in enumerate(configs):
        for place, document in enumerate(load(config)):
            if config.drop_singletons:
                document = without_singletons(document)
            words = " ".join(token.text for token in document.tokens)
            text = (document.id, words) if together and not config.apart else (number, place)
            given, decisions = _with_decisions(document, config)
            annotated = Annotated(given, config.scheme, config.weight, config.partial, config.chance, decisions)
            by_text[text].append((config, annotated))
    return [
        Source(tuple(annotated for _, annotated in group), _share(*group[0]), config.longest, config.together)
        for group in by_text.values()
        for config in (group[0][0],)
    ]


def _with_decisions(document: Document, config: CorpusConfig) -> tuple[Document, Decisions | None]:
    """Return a document without the attribute for decisions, and the decisions, if a model labelled it."""
    attribute = dict(document.attributes).get(ATTRIBUTE)
    if attribute is None:
        return document, None
    try:
        decisions = Decisions.from_attribute(attribute)
    except ValueError as error:
        raise IncorefError(f"{config.path}: document '{document.id}': {error}") from error
    if decisions.scheme != config.scheme:
        raise IncorefError(
            f"{config.path}: a model labelled document '{document.id}' under the scheme '{decisions.scheme}', not "
            f"'{config.scheme}': give the corpus that scheme"
        )
    if decisions.lengths.tolist() != [len(sentence) for sentence in document.sentences]:
        raise IncorefError(f"{config.path}: the decisions of document '{document.id}' are about other sentences")
    others = tuple((name, value) for name, value in document.attributes if name != ATTRIBUTE)
    return replace(document, attributes=others), decisions


def _share(config: CorpusConfig, annotated: Annotated) -> float:
    """Return the number of visits to a document per epoch."""
    if config.dialogue_share is None:
        return config.share
    return config.dialogue_share if _is_dialogue(annotated.document) else config.share


def _is_dialogue(document: Document) -> bool:
    """Whether it has several speakers."""
    return len({sentence.speaker for sentence in document.sentences} - {None}) > 1


def stretch_of(source: Source, rng: np.random.Generator) -> Sequence[Annotated]:
    """Return the annotations of a source; for a long text, those of a random stretch of whole sentences."""
    if source.longest is None:
        return source.annotated
    lengths = [len(sentence) for sentence in source.annotated[0].document.sentences]
    start, end = random_stretch(lengths, source.longest, rng)
    return [annotated.between(start, end) for annotated in source.annotated]


def random_stretch(lengths: Sequence[int], longest: int, rng: np.random.Generator) -> tuple[int, int]:
    """Draw a random range of sentences with at most ``longest`` tokens, but at least one sentence."""
    ends = np.cumsum(lengths)
    if ends[-1] <= longest:
        return 0, len(lengths)
    latest = int(np.searchsorted(ends, ends[-1] - longest, side="right"))  # a later start would waste room
    start = int(rng.integers(0, latest + 1))
    before = int(ends[start - 1]) if start else 0
    end = int(np.searchsorted(ends, before + longest, side="right"))
    return start, max(end, start + 1)


def sentences_of(document: Document, start: int, end: int) -> Document:
    """Return a range of sentences as a document, without mentions that reach outside. The text stays whole."""
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


def schemes_without_singletons(sources: Iterable[Source]) -> tuple[str, ...]:
    """Return the schemes under which every annotated entity has several mentions."""
    has: dict[str, bool] = {}
    for annotated in (a for source in sources for a in source.annotated if not a.partial):
        alone = any(len(entity.mentions) == 1 for entity in annotated.document.entities)
        has[annotated.scheme] = has.get(annotated.scheme, False) or alone
    return tuple(scheme for scheme, some in has.items() if not some)


def genres(sources: Iterable[Source]) -> tuple[str, ...]:
    """Return the genres of some sources, sorted by name."""
    return tuple(sorted({a.document.genre for source in sources for a in source.annotated if a.document.genre}))
