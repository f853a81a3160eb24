"""``gender``: whether the gendered words (pronouns, titles, "mother") used for mention and entity agree."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from incoref.model.features.base import ChangingEntity, PairFeature, States, WordStates, register
from incoref.model.features.fields import Number, union
from incoref.model.features.mention import MentionFacts

GENDERS = Number("genders", 0, union, values=4)
"""The genders of the words used for the entity, MALE and FEMALE as bits."""


class Gender(IntEnum):
    UNKNOWN = 0
    SAME = 1
    OTHER = 2
    BOTH = 3  # the entity has been called both


_TABLE = np.array(
    [
        [Gender.UNKNOWN] * 4,
        [Gender.UNKNOWN, Gender.SAME, Gender.OTHER, Gender.BOTH],
        [Gender.UNKNOWN, Gender.OTHER, Gender.SAME, Gender.BOTH],
    ]
)
"""Classes by the mention's gender (0, MALE, FEMALE) and the entity's bits."""


class GenderAgreement(PairFeature):
    name = "gender"
    description = "whether gendered words used for mention and entity agree"
    classes = tuple(Gender.__members__)
    fields = (GENDERS,)
    elementwise = True

    def classify(self, mention: Any, states: States) -> Any:
        return _TABLE[mention.gender, states[GENDERS]]

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        entity[GENDERS] |= mention.gender

    def update_name(self, entity: ChangingEntity, name: MentionFacts) -> None:
        entity[GENDERS] |= name.gender


register(GenderAgreement())
