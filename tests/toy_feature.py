"""A pair feature in one file, as a contributor would write it: does the entity have a mention with a long word?

A test uses it to check that a new feature needs no other changes, from training to saved sessions.
"""

from __future__ import annotations

from typing import Any

from incoref.model.features import MentionFacts, PairFeature
from incoref.model.features.base import ChangingEntity, States, WordStates
from incoref.model.features.fields import Number, highest

LONGEST = Number("longest_word", 0, highest)


class LongWord(PairFeature):
    name = "long_word"
    description = "whether it was mentioned with a word of six letters or more"
    classes = ("NO", "YES")
    fields = (LONGEST,)
    elementwise = True

    def classify(self, mention: Any, states: States) -> Any:
        return states[LONGEST] >= 6

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        entity[LONGEST] = max(entity[LONGEST], *map(len, mention.string.split()))
