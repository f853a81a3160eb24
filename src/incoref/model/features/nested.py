"""``nested``: whether the entity's latest mention lies inside this one."""

from __future__ import annotations

from typing import Any

from incoref.model.features.base import ChangingEntity, PairFeature, States, WordStates, register
from incoref.model.features.distance import from_latest
from incoref.model.features.fields import Number
from incoref.model.features.mention import MentionFacts

FIRST = Number("first", -1, from_latest)
"""First token of the latest mention."""


class Nested(PairFeature):
    name = "nested"
    description = "whether its latest mention lies inside this one"
    classes = ("NO", "YES")
    fields = (FIRST,)
    elementwise = True

    def classify(self, mention: Any, states: States) -> Any:
        return states[FIRST] >= mention.first

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        entity[FIRST] = mention.first


register(Nested())
