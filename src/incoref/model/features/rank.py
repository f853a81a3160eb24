"""``rank``: for "he" and "she", the entity's recency rank among entities of that gender."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from incoref.model.features.base import Ints, PairFeature, WordStates, register
from incoref.model.features.distance import LATEST
from incoref.model.features.gender import GENDERS
from incoref.model.features.mention import MentionFacts


class Rank(IntEnum):
    NO_PRONOUN = 0  # the mention is neither "he" nor "she"
    NONE = 1  # the entity isn't known to be of this gender
    FIRST = 2
    SECOND = 3
    LATER = 4


class RecencyRank(PairFeature):
    name = "rank"
    description = 'for "he" and "she", its recency among entities of that gender'
    classes = tuple(Rank.__members__)

    def applies(self, mention: MentionFacts) -> bool:
        return mention.is_he_or_she

    def classify(self, mention: MentionFacts, states: WordStates) -> Ints:
        classes = np.full(len(states), Rank.NONE, np.int64)
        same_gender = np.flatnonzero(states[GENDERS] & mention.gender)
        latest_first = same_gender[np.argsort(-states[LATEST][same_gender])]
        classes[latest_first] = Rank.LATER
        classes[latest_first[:1]], classes[latest_first[1:2]] = Rank.FIRST, Rank.SECOND
        return classes


register(RecencyRank())
