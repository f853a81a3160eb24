"""``sentences``: sentences since the entity's latest mention."""

from __future__ import annotations

from typing import Any

from incoref.model.features.base import ChangingEntity, PairFeature, States, WordStates, register
from incoref.model.features.buckets import Buckets
from incoref.model.features.distance import from_latest
from incoref.model.features.fields import Number
from incoref.model.features.mention import MentionFacts

SENTENCE = Number("sentence", -1, from_latest)
"""Sentence of the latest mention."""
_BUCKETS = Buckets(1, 2, 3, 4, 6, 9, 17, 33, 65)


class Sentences(PairFeature):
    name = "sentences"
    description = "sentences since its latest mention"
    classes = _BUCKETS.names
    fields = (SENTENCE,)
    elementwise = True

    def classify(self, mention: Any, states: States) -> Any:
        return _BUCKETS.of(mention.sentence - states[SENTENCE])

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        entity[SENTENCE] = mention.sentence


register(Sentences())
