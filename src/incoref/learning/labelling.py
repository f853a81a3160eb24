"""Label texts with models: entities, and every decision with its probabilities, for another model to learn from.

Works without PyTorch. Documents are read sentence by sentence. The result is a folder of shards in JSON lines, which
any command can read and from which an interrupted run resumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from incoref.batch.shards import Record, Shards
from incoref.corpora import jsonlines
from incoref.corpora.files import write_file
from incoref.corpora.losses import Losses
from incoref.errors import IncorefError
from incoref.learning.data.decisions import ATTRIBUTE, Decisions, choices_of
from incoref.learning.data.joining import joined, names_in, same_entities
from incoref.learning.data.sources import random_stretch, sentences_of
from incoref.learning.ensemble import Ensemble
from incoref.model.transitions import Action
from incoref.types import Document, Entity, Mention

TOKENS, DOCUMENTS = 100_000, 64
"""A shard ends with the document that reaches either limit."""
_LEAST = 0.005
"""Choices less likely than this are left out."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Counts of labelled documents and what is in them."""

    documents: int = 0
    tokens: int = 0
    mentions: int = 0
    left_out: int = 0
    """Documents with a sentence too long for the model to read at once."""

    def __add__(self, other: Labelled) -> Labelled:
        return Labelled(
            self.documents + other.documents,
            self.tokens + other.tokens,
            self.mentions + other.mentions,
            self.left_out + other.left_out,
        )


def sampled(
    documents: Iterable[Document],
    words: int | None = None,
    stretch: int | None = None,
    seed: int = 1,
    without: Sequence[str] = (),
) -> Iterator[Document]:
    """Yield random documents with about ``words`` words in all; by default, all documents in order.

    Of one with more than ``stretch`` words, yield a random stretch of at most that many. Documents whose ids are in
    ``without`` are left out.
    """
    rng = np.random.default_rng(seed)
    documents = (document for document in documents if document.id not in without)
    if words is not None:
        known = list(documents)
        documents = (known[place] for place in rng.permutation(len(known)))
    before = 0
    for document in documents:
        if words is not None and before >= words:
            return
        if stretch is not None:
            lengths = [len(sentence) for sentence in document.sentences]
            document = sentences_of(document, *random_stretch(lengths, stretch, rng))
        before += len(document.tokens)
        yield document


def parts_of(document: Document, longest: int | None) -> list[Document]:
    """Cut a document between sentences into parts of similar length, of at most about ``longest`` tokens."""
    ends = np.cumsum([len(sentence) for sentence in document.sentences])
    total = len(document.tokens)
    count = 1 if longest is None else -(-total // longest)
    cuts = (int(np.searchsorted(ends, total * part / count)) + 1 for part in range(1, count))
    borders = [0, *dict.fromkeys(cut for cut in cuts if cut < len(ends)), len(ends)]
    return [sentences_of(document, start, end) for start, end in pairwise(borders)]


def label(
    ensemble: Ensemble, document: Document, scheme: str | None = None, longest: int | None = None
) -> Document | None:
    """Return the document with the models' entities and decisions; None if a sentence is too long to read at once.

    A document with more than ``longest`` tokens is read in parts, and entities with the same name are joined.
    """
    parts = parts_of(document, longest)
    decided = [_decisions(ensemble, part, scheme or ensemble.schemes[0]) for part in parts]
    whole = [decisions for decisions in decided if decisions is not None]
    if len(whole) < len(parts):
        return None
    names = [names_in(part, _spans(decisions)) for part, decisions in zip(parts, whole, strict=True)]
    return _annotated(document, joined(whole, same_entities(names)))


def _decisions(ensemble: Ensemble, document: Document, scheme: str) -> Decisions | None:
    reading = ensemble.read(document, scheme)
    if reading is None:
        return None
    steps = [step for sentence in reading.steps for step in sentence]
    counts, entities, shares = choices_of([link.probabilities for link in reading.links], _LEAST)
    return Decisions(
        scheme=scheme,
        lengths=np.array([len(sentence) for sentence in document.sentences], np.int64),
        steps=np.array([len(sentence) for sentence in reading.steps], np.int64),
        actions=np.array([step.action for step in steps], np.int64),
        probabilities=np.array(
            [[step.probabilities.get(action, 0.0) for action in Action] for step in steps], np.float32
        ).reshape(-1, len(Action)),
        entity_of=np.array([link.entity for link in reading.links], np.int64),
        types=tuple(reading.types[link.entity] for link in reading.links),
        choices=counts,
        entities=entities,
        shares=shares,
    )


def _spans(decisions: Decisions) -> list[list[tuple[int, int]]]:
    """Return the spans of each entity's mentions."""
    clusters: list[list[tuple[int, int]]] = [[] for _ in range(int(decisions.entity_of.max(initial=-1)) + 1)]
    for entity, (first, last) in zip(decisions.entity_of.tolist(), decisions.derivation().spans, strict=True):
        clusters[entity].append((first, last + 1))
    return clusters


def _annotated(document: Document, decisions: Decisions) -> Document:
    """Return the document with these decisions in place of its annotation."""
    tokens, sentence_of = document.tokens, np.repeat(np.arange(len(decisions.lengths)), decisions.lengths)
    type_of = dict(zip(decisions.entity_of.tolist(), decisions.types, strict=True))
    entities = []
    for number, spans in enumerate(_spans(decisions)):
        mentions = []
        for first, end in spans:
            start, stop = tokens[first].start, tokens[end - 1].end
            text, sentence = document.text[start:stop], int(sentence_of[first])
            mentions.append(Mention(start, stop, text, (first, end), sentence, str(number)))
        entities.append(Entity(str(number), tuple(mentions), type=type_of[number]))
    others = tuple((name, value) for name, value in document.attributes if name != ATTRIBUTE)
    return replace(document, entities=tuple(entities), attributes=(*others, (ATTRIBUTE, decisions.to_attribute())))


def _shards(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Group documents into shards."""
    some, tokens = list[Document](), 0
    for document in documents:
        some.append(document)
        tokens += len(document.tokens)
        if tokens >= TOKENS or len(some) >= DOCUMENTS:
            yield some
            some, tokens = [], 0
    if some:
        yield some


def label_into(
    folder: Path,
    ensemble: Ensemble,
    documents: Iterable[Document],
    scheme: str | None = None,
    longest: int | None = None,
    tell: Callable[[Labelled], None] = lambda _: None,
    texts: str = "",
) -> Labelled:
    """Label documents into the shards of a folder, keeping those that are there already.

    ``tell`` is called with the totals so far after every shard. After an interruption at any point, the same call
    resumes; a call whose ``texts``, any description of the documents, is another one fails.
    """
    known = ensemble.schemes
    if scheme is not None and scheme not in known:
        knows = "the model knows" if len(ensemble.models) == 1 else "not all of the models know"
        raise IncorefError(f"{knows} no scheme '{scheme}'; it knows {', '.join(known)}")
    shards = Shards(folder, ".jsonl")
    done, number = Labelled(), 0
    settings = {"model": ensemble.fingerprint, "scheme": scheme or known[0], "longest": longest} | (
        {"texts": texts} if texts else {}
    )
    with shards.claimed(settings):
        for number, some in enumerate(_shards(documents), start=1):
            record = shards.record(number - 1)
            if record is None:
                record = _write_shard(
                    shards, number - 1, some, [label(ensemble, one, scheme, longest) for one in some]
                )
            done += Labelled(record.documents, record.words, record.entities, record.rows - record.documents)
            tell(done)
        shards.check_end(number)
    return done


def _write_shard(
    shards: Shards, number: int, given: Sequence[Document], labelled: Sequence[Document | None]
) -> Record:
    written = [document for document in labelled if document is not None]
    unfinished = shards.unfinished(number)
    write_file(unfinished, jsonlines.write(written, Losses()))
    words = sum(len(document.tokens) for document in written)
    record = Record(len(given), len(written), words, sum(len(list(document.mentions)) for document in written))
    shards.finish(number, unfinished, record)
    return record
