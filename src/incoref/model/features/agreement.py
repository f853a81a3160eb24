"""``agreement``: whether the pronouns used for the mention and the entity agree."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from incoref.model.features.base import ChangingEntity, PairFeature, States, WordStates, register
from incoref.model.features.fields import Number, union
from incoref.model.features.mention import MentionFacts
from incoref.text.english import GENDERED, PLURAL, PRONOUNS

PRONOUN_BITS = Number("pronouns", 0, union)
"""The classes of the pronouns used for the entity, as bits."""


class Agreement(IntEnum):
    """How the pronouns of a mention and an entity agree."""

    NO_PRONOUN = 0  # neither has one
    ENTITY_HAS_PRONOUN = 1  # the mention isn't a pronoun, but the entity has been called he, she, it or they
    MENTION_IS_PRONOUN = 2  # the entity has not been called he, she, it or they
    SAME = 3
    OTHER = 4  # he vs. she, it vs. they, …
    OTHER_ONLY_PLURAL = 5  # he, she or it vs. they, which can refer to one person


def _agreement(pronoun: int, bits: int) -> Agreement:
    """Classify a pronoun (or 0) against an entity called he, she, it or they, as bits."""
    if pronoun not in GENDERED:
        return Agreement.ENTITY_HAS_PRONOUN if bits else Agreement.NO_PRONOUN
    if not bits:
        return Agreement.MENTION_IS_PRONOUN
    if bits & 1 << pronoun:
        return Agreement.SAME
    return Agreement.OTHER_ONLY_PLURAL if pronoun == PLURAL or bits == 1 << PLURAL else Agreement.OTHER


_GENDERED_BITS = sum(1 << pronoun for pronoun in GENDERED)
_TABLE = np.array(
    [
        [_agreement(pronoun, bits) for bits in range(_GENDERED_BITS + 1)]
        for pronoun in range(max(PRONOUNS.values()) + 1)
    ]
)


class PronounAgreement(PairFeature):
    name = "agreement"
    description = "whether the pronouns used for mention and entity agree"
    classes = tuple(Agreement.__members__)
    fields = (PRONOUN_BITS,)
    elementwise = True

    def classify(self, mention: Any, states: States) -> Any:
        return _TABLE[mention.pronoun, states[PRONOUN_BITS] & _GENDERED_BITS]

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        if mention.pronoun:
            entity[PRONOUN_BITS] |= 1 << mention.pronoun


register(PronounAgreement())
