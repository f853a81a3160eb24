"""Texts labelled by a model: entities, and every decision with its probabilities, for another model to learn from.

Needs no PyTorch. Documents are read sentence by sentence, those of several documents together; the result is a folder
of shards in JSON lines that any command reads, and that a run which was stopped goes on with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from incoref.batch.shards import Record, Shards
from incoref.corpora import jsonlines
from incoref.corpora.files import write_file
from incoref.corpora.losses import Losses
from incoref.errors import IncorefError
from incoref.learning.data.decisions import ATTRIBUTE, Decisions, choices_of
from incoref.learning.data.sources import sentences_of
from incoref.model.folder import Block, Model
from incoref.model.step import BlockResult, Seen
from incoref.model.subwords import utterances_of
from incoref.model.transitions import Action
from incoref.types import Document, Entity, Mention

DOCUMENTS = 64
"""Documents of a shard."""
_LEAST = 0.005
"""Choices that are less likely are left out."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """What became of some documents."""

    documents: int = 0
    tokens: int = 0
    mentions: int = 0
    left_out: int = 0
    """Documents with a sentence that is too long for the model to read at once."""

    def __add__(self, other: Labelled) -> Labelled:
        return Labelled(
            self.documents + other.documents,
            self.tokens + other.tokens,
            self.mentions + other.mentions,
            self.left_out + other.left_out,
        )


def pieces(documents: Iterable[Document], longest: int | None) -> Iterator[Document]:
    """The documents, those with more than ``longest`` tokens cut between sentences into parts of similar length."""
    for document in documents:
        total = sum(map(len, document.sentences))
        if longest is None or total <= longest:
            yield document
            continue
        count = -(-total // longest)
        ends = np.cumsum([len(sentence) for sentence in document.sentences])
        cuts = [int(np.searchsorted(ends, total * part / count)) + 1 for part in range(count)]
        borders = [0, *dict.fromkeys(cut for cut in cuts[1:] if cut < len(ends)), len(ends)]
        for number, (start, end) in enumerate(pairwise(borders), start=1):
            yield replace(sentences_of(document, start, end), id=f"{document.id}#{number}")


def label(
    model: Model, documents: Sequence[Document], scheme: str | None = None, genre: str | None = None
) -> list[Document | None]:
    """Each document with the model's entities and decisions; None for one with a sentence that is too long."""
    classes = model.classes(scheme, *([] if genre is None else [genre]))
    blocks = [_blocks(model, document) for document in documents]
    seen = model.foreseen([block for found in blocks for block in found or ()], classes)
    parts = iter(seen) if seen is not None else None
    named = scheme or model.config.names.schemes[0]
    found: list[Document | None] = []
    for document, some in zip(documents, blocks, strict=True):
        if some is None:
            found.append(None)
            continue
        foreseen = [None] * len(some) if parts is None else list(islice(parts, len(some)))
        found.append(_labelled(model, document, some, foreseen, classes, named))
    return found


def _blocks(model: Model, document: Document) -> list[Block] | None:
    """The sentences of a document as the model reads them, one by one."""
    found = model.blocks(utterances_of(document), 1)
    return list(found) if len(found) == len(document.sentences) else None


def _labelled(
    model: Model,
    document: Document,
    blocks: Sequence[Block],
    seen: Sequence[Seen | None],
    classes: dict[str, int],
    scheme: str,
) -> Document:
    state, results = model.start(), list[BlockResult]()
    for block, foreseen in zip(blocks, seen, strict=True):
        state, result = model.step(block, state, classes, foreseen)
        results.append(result)
    names = model.config.names.types
    scores = state.reading.memory.type_scores
    types = [names[row.argmax()] if names else None for row in scores]
    steps = [step for result in results for step in result.steps]
    mentions = [mention for result in results for mention in result.mentions]
    counts, entities, shares = choices_of([mention.decision.probabilities for mention in mentions], _LEAST)
    decisions = Decisions(
        scheme=scheme,
        lengths=np.array([len(sentence) for sentence in document.sentences], np.int64),
        steps=np.array([len(result.steps) for result in results], np.int64),
        actions=np.array([step.action for step in steps], np.int64),
        probabilities=np.array(
            [[step.probabilities.get(action, 0.0) for action in Action] for step in steps], np.float32
        ).reshape(-1, len(Action)),
        entity_of=np.array([mention.entity for mention in mentions], np.int64),
        types=tuple(types[mention.entity] for mention in mentions),
        choices=counts,
        entities=entities,
        shares=shares,
    )
    members: list[list[Mention]] = [[] for _ in types]
    for mention in mentions:
        span = (mention.first, mention.last + 1)
        start, end = document.tokens[mention.first].start, document.tokens[mention.last].end
        text = document.text[start:end]
        members[mention.entity].append(Mention(start, end, text, span, mention.sentence, str(mention.entity)))
    return replace(
        document,
        entities=tuple(
            Entity(str(number), tuple(some), type=type)
            for number, (some, type) in enumerate(zip(members, types, strict=True))
        ),
        attributes=(
            *((name, value) for name, value in document.attributes if name != ATTRIBUTE),
            (ATTRIBUTE, decisions.to_attribute()),
        ),
    )


def label_into(
    folder: Path,
    model: Model,
    documents: Iterable[Document],
    scheme: str | None = None,
    longest: int | None = None,
    tell: Callable[[Labelled], None] = lambda _: None,
) -> Labelled:
    """Label documents into the shards of a folder, and go on with those that are there already.

    ``tell`` is told what has been done so far after every shard. Interrupted at any moment, the same call goes on.
    """
    classes = model.config.names.schemes
    if scheme is not None and scheme not in classes:
        raise IncorefError(f"the model knows no scheme '{scheme}'; it knows {', '.join(classes)}")
    shards = Shards(folder, ".jsonl")
    rest, done = pieces(documents, longest), Labelled()
    settings = {"model": model.fingerprint, "scheme": scheme or classes[0], "longest": longest}
    with shards.claimed(settings):
        for number in range(1 << 30):
            some = list(islice(rest, DOCUMENTS))
            if not some:
                shards.check_end(number)
                break
            record = shards.record(number)
            if record is None:
                record = _write_shard(shards, number, some, label(model, some, scheme))
            done += Labelled(record.documents, record.words, record.entities, record.rows - record.documents)
            tell(done)
    return done


def _write_shard(
    shards: Shards, number: int, given: Sequence[Document], labelled: Sequence[Document | None]
) -> Record:
    found = [document for document in labelled if document is not None]
    unfinished = shards.unfinished(number)
    write_file(unfinished, jsonlines.write(found, Losses()))
    words = sum(len(document.tokens) for document in found)
    record = Record(len(given), len(found), words, sum(len(list(document.mentions)) for document in found))
    shards.finish(number, unfinished, record)
    return record
