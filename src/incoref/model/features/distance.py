"""``distance``: mentions since the entity's latest one. Other features also keep state of the latest mention."""

from __future__ import annotations

from typing import Any

from incoref.model.features.base import ChangingEntity, PairFeature, States, WordStates, register
from incoref.model.features.buckets import Buckets
from incoref.model.features.fields import EntityState, Field, Number, highest
from incoref.model.features.mention import MentionFacts

LATEST = Number("latest", -1, highest)
"""Index of the entity's latest mention among all mentions of the text."""
_BUCKETS = Buckets(2, 3, 4, 5, 8, 16, 32, 64, 128, 256)


def from_latest(one: EntityState, other: EntityState, field: Field[Any]) -> Any:
    """Merge a field that describes the latest mention."""
    return max(one, other, key=lambda state: state[LATEST])[field]


class Distance(PairFeature):
    name = "distance"
    description = "mentions since its latest one"
    classes = _BUCKETS.names
    fields = (LATEST,)
    elementwise = True

    def classify(self, mention: Any, states: States) -> Any:
        return _BUCKETS.of(states.mentions - states[LATEST])

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        entity[LATEST] = states.mentions


register(Distance())
