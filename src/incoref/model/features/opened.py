"""``opened``: whether the entity's latest mention is the first one of its sentence."""

from __future__ import annotations

from typing import Any

from incoref.model.features.base import ChangingEntity, PairFeature, States, WordStates, register
from incoref.model.features.distance import from_latest
from incoref.model.features.fields import Number
from incoref.model.features.mention import MentionFacts
from incoref.model.features.sentences import SENTENCE

OPENED = Number("opened", 0, from_latest, values=2)


class Opened(PairFeature):
    name = "opened"
    description = "whether its latest mention is the first of its sentence"
    classes = ("NO", "YES")
    fields = (OPENED,)
    elementwise = True

    def classify(self, mention: Any, states: States) -> Any:
        return states[OPENED]

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        entity[OPENED] = int(not (states[SENTENCE] == mention.sentence).any())


register(Opened())
