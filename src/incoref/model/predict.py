"""Whole documents through a model, sentence by sentence: what ``evaluate``, ``predict`` and the self-test do.

Keeps a document's own sentences, words and speakers, and answers with the same document and the model's entities.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from incoref.model.folder import Model
from incoref.model.step import FoundMention
from incoref.model.subwords import utterances_of
from incoref.options import UNKNOWN_GENRE, block_size
from incoref.types import Document, Entity, Mention


def predict(
    model: Model,
    document: Document,
    *,
    scheme: str | None = None,
    genre: str = UNKNOWN_GENRE,
    setting: str = "sent-inc",
) -> Document:
    """The document with the entities that the model finds, singletons included."""
    classes = model.classes(scheme, genre)
    state = model.start()
    found: dict[int, list[FoundMention]] = defaultdict(list)
    for block in model.blocks(utterances_of(document), block_size(setting)):
        state, result = model.step(block, state, classes)
        for mention in result.mentions:
            found[mention.entity].append(mention)
    sentence_of = np.repeat(np.arange(len(document.sentences)), [len(s) for s in document.sentences])
    types = model.config.names.types
    entities = []
    for number, mentions in found.items():
        kind = types[int(state.reading.memory.type_scores[number].argmax())] if types else None
        placed = tuple(_mention(document, mention, int(sentence_of[mention.first]), kind) for mention in mentions)
        entities.append(Entity(str(number + 1), placed, type=kind))
    return replace(document, entities=tuple(entities))


def _mention(document: Document, found: FoundMention, sentence: int, kind: str | None) -> Mention:
    start, end = document.tokens[found.first].start, document.tokens[found.last].end
    return Mention(
        start=start,
        end=end,
        text=document.text[start:end],
        tokens=(found.first, found.last + 1),
        sentence=sentence,
        entity=str(found.entity + 1),
        type=kind,
        confidence=found.confidence,
        mention_confidence=found.mention_confidence,
    )
