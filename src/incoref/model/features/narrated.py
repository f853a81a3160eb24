"""``narrated``: for a quoted "I" or "you", whether the narration near the quotation mentions the entity."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from incoref.model.features.base import ChangingEntity, Ints, PairFeature, WordStates, register
from incoref.model.features.fields import Number, highest
from incoref.model.features.mention import MentionFacts
from incoref.model.features.quote import NO_QUOTATION
from incoref.text.english import FIRST_PERSON

NARRATED_AFTER = Number("narrated_after", NO_QUOTATION, highest)
"""The latest quotation begun by the time of the entity's last mention outside quotations."""


class NarratedNearQuote(IntEnum):
    """Where the narration mentions the entity, for a quoted "I" or "you"."""

    NONE = 0
    I_WITHIN = 1  # where this quotation is interrupted: "…," said he, "…"
    I_BETWEEN = 2  # since the quotation before began, with words between the two
    I_BEFORE_ANSWER = 3  # since the quotation before began, which this one answers
    YOU_WITHIN = 4
    YOU_BETWEEN = 5
    YOU_BEFORE_ANSWER = 6


class Narrated(PairFeature):
    name = "narrated"
    description = 'for a quoted "I" or "you", whether the narration near the quotation mentions it'
    classes = tuple(NarratedNearQuote.__members__)
    fields = (NARRATED_AFTER,)

    def applies(self, mention: MentionFacts) -> bool:
        return mention.is_quoted_person

    def classify(self, mention: MentionFacts, states: WordStates) -> Ints:
        within = NarratedNearQuote.I_WITHIN if mention.pronoun == FIRST_PERSON else NarratedNearQuote.YOU_WITHIN
        classes = np.zeros(len(states), np.int64)
        number = mention.quoted.number
        classes[states[NARRATED_AFTER] == number - 1] = within + (2 if mention.quoted.answers else 1)
        classes[states[NARRATED_AFTER] == number] = within
        return classes

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        if not mention.quoted.inside:
            entity[NARRATED_AFTER] = mention.quoted.number


register(Narrated())
