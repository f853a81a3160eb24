"""``count``: how many mentions the entity has."""

from __future__ import annotations

from typing import Any

from incoref.model.features.base import ChangingEntity, PairFeature, States, WordStates, register
from incoref.model.features.buckets import Buckets
from incoref.model.features.fields import Number, total
from incoref.model.features.mention import MentionFacts

COUNT = Number("count", 0, total)
_BUCKETS = Buckets(2, 3, 4, 5, 8, 16, 32)


class Count(PairFeature):
    name = "count"
    description = "mentions of the entity so far"
    classes = _BUCKETS.names
    fields = (COUNT,)
    elementwise = True

    def classify(self, mention: Any, states: States) -> Any:
        return _BUCKETS.of(states[COUNT])

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        entity[COUNT] += 1


register(Count())
