"""``alias``: how the mention's proper name relates to the entity's names: surname, given name, initials.

"Hale" is the surname of "Robert Hale", "Robert" his given name; "Mary Hale" shares the surname, but is someone else.
Nicknames are not recognised.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from incoref.model.features.base import ChangingEntity, Ints, PairFeature, WordStates, register
from incoref.model.features.fields import EntityState, Field, WordSet
from incoref.model.features.match import CONTENTS
from incoref.model.features.mention import MentionFacts

SOLE_NAMES = WordSet("sole_names")
"""The entity's one-word names."""
FULL_NAMES = WordSet("full_names")
"""Its multi-word names, joined by spaces."""
GIVEN_NAMES = WordSet("given_names")
"""First words of the multi-word names."""
SURNAMES = WordSet("surnames")
"""Last words of the multi-word names."""
INITIALS = WordSet("initials")


class Alias(IntEnum):
    """The mention's name compared with the entity's names; higher values are more certain."""

    NONE = 0  # one of the two has no name, or they have nothing in common
    OTHER_SURNAME = 1  # the given name of someone with another surname: "Anna Lund" and "Anna Hale"
    OTHER_GIVEN_NAME = 2  # the surname of someone with another given name
    INITIALS = 3  # "IBM" and "International Business Machines"
    GIVEN_NAME_OF_SEVERAL = 4
    SURNAME_OF_SEVERAL = 5  # "Hale", after "Robert Hale" and "Mary Hale"
    GIVEN_NAME = 6
    SURNAME = 7
    SAME_ENDS = 8  # "Robert J. Hale" and "Robert Hale"
    SAME = 9


class NameAlias(PairFeature):
    name = "alias"
    description = "how their proper names go together: surname, given name, initials"
    classes = tuple(Alias.__members__)
    fields = (SOLE_NAMES, FULL_NAMES, GIVEN_NAMES, SURNAMES, INITIALS)

    def applies(self, mention: MentionFacts) -> bool:
        return bool(mention.name_order)

    def classify(self, mention: MentionFacts, states: WordStates) -> Ints:
        first, last = mention.name_order[0], mention.name_order[-1]
        classes = np.zeros(len(states), np.int64)

        def put(alias: Alias, entities: frozenset[int]) -> None:
            chosen = list(entities)
            classes[chosen] = np.maximum(classes[chosen], alias)

        if len(mention.name_order) == 1:
            given, surname = states.with_word(GIVEN_NAMES, first), states.with_word(SURNAMES, first)
            put(Alias.GIVEN_NAME if len(given) == 1 else Alias.GIVEN_NAME_OF_SEVERAL, given)
            put(Alias.SURNAME if len(surname) == 1 else Alias.SURNAME_OF_SEVERAL, surname)
            put(Alias.INITIALS, states.with_word(INITIALS, first.replace(".", "")))
            put(Alias.SAME, states.with_word(SOLE_NAMES, first))
            return classes
        put(Alias.OTHER_SURNAME, states.with_word(GIVEN_NAMES, first))
        put(Alias.OTHER_GIVEN_NAME, states.with_word(SURNAMES, last))
        put(Alias.INITIALS, states.with_word(SOLE_NAMES, mention.initials))
        put(Alias.GIVEN_NAME, states.with_word(SOLE_NAMES, first))
        put(Alias.SURNAME, states.with_word(SOLE_NAMES, last))
        put(Alias.SAME_ENDS, states.with_word(GIVEN_NAMES, first) & states.with_word(SURNAMES, last))
        put(Alias.SAME, states.with_word(FULL_NAMES, " ".join(mention.name_order)))
        return classes

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        self.update_name(entity, mention)

    def update_name(self, entity: ChangingEntity, name: MentionFacts) -> None:
        if len(name.name_order) == 1:
            entity.add(SOLE_NAMES, name.name_order[0])
        elif name.name_order:
            entity.add(FULL_NAMES, " ".join(name.name_order))
            entity.add(GIVEN_NAMES, name.name_order[0])
            entity.add(SURNAMES, name.name_order[-1])
        if name.initials:
            entity.add(INITIALS, name.initials)

    def trim(self, state: EntityState, names: int) -> dict[Field[Any], Any]:
        left = frozenset[str]().union(*state[CONTENTS])
        full = [name for name in state[FULL_NAMES] if left.issuperset(name.split())]
        initials: frozenset[str] = state[INITIALS]
        return {
            SOLE_NAMES: state[SOLE_NAMES] & left,
            FULL_NAMES: frozenset(full),
            GIVEN_NAMES: frozenset(name.split()[0] for name in full),
            SURNAMES: frozenset(name.split()[-1] for name in full),
            INITIALS: frozenset(sorted(initials)[:names]),
        }


register(NameAlias())
