"""``name``: whether the mention's proper name is one of the entity's."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from incoref.model.features.base import NOBODY, ChangingEntity, Ints, PairFeature, WordStates, register
from incoref.model.features.fields import EntityState, Field, Number, WordSet, union
from incoref.model.features.match import CONTENTS
from incoref.model.features.mention import MentionFacts
from incoref.model.features.speaker import I_OF

NAMES = WordSet("names")
"""The words of the entity's proper names."""
IS_NAMED = Number("named", 0, union, values=2)
"""Whether it has a proper name."""


class Naming(IntEnum):
    """The mention's name compared with the entity's names, ignoring titles."""

    NO_NAME = 0  # the mention isn't a name
    FIRST_NAME = 1  # the entity has no name yet
    SHARED = 2  # the two share a word
    OTHER_NAME = 3


_UNSHARED = np.array([Naming.FIRST_NAME, Naming.OTHER_NAME], np.int64)


class ProperName(PairFeature):
    name = "name"
    description = "whether they share a word of a proper name"
    classes = tuple(Naming.__members__)
    fields = (NAMES, IS_NAMED)

    def applies(self, mention: MentionFacts) -> bool:
        return bool(mention.name)

    def classify(self, mention: MentionFacts, states: WordStates) -> Ints:
        classes: Ints = _UNSHARED[states[IS_NAMED]]
        classes[states.with_any(NAMES, mention.name)] = Naming.SHARED
        i_of = states[I_OF]
        speakers = [speaker for speaker in states.speakers_called(mention.name) if speaker in i_of]
        if speakers:  # this names someone who has said "I", so it isn't the name of others who have
            classes[i_of != NOBODY] = Naming.OTHER_NAME
        for speaker in speakers:
            classes[i_of == speaker] = Naming.SHARED
        return classes

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        self.update_name(entity, mention)

    def update_name(self, entity: ChangingEntity, name: MentionFacts) -> None:
        for word in name.name:
            entity.add(NAMES, word)
            entity[IS_NAMED] = 1

    def trim(self, state: EntityState, names: int) -> dict[Field[Any], Any]:
        left = state[NAMES] & frozenset[str]().union(*state[CONTENTS])
        return {NAMES: left, IS_NAMED: int(bool(left))}


register(ProperName())
