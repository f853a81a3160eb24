"""``match``: the best string match of the mention with any mention of the entity."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from incoref.model.features.base import ChangingEntity, Ints, PairFeature, WordStates, register
from incoref.model.features.fields import EntityState, Field, WordSet, WordSetList
from incoref.model.features.mention import MentionFacts
from incoref.text.english import PRONOUNS, content_words

STRINGS = WordSet("strings")
"""What the entity has been called, in lower case and without articles."""
HEADS = WordSet("heads")
CONTENTS = WordSetList("contents")
"""The content words of each mention that isn't a pronoun."""


class Match(IntEnum):
    """How similar two mentions' words are; higher values are more similar."""

    NONE = 0
    SHARED_WORD = 1
    SAME_HEAD = 2
    CONTAINED = 3  # the content words of one contain those of the other
    CONTAINED_SAME_HEAD = 4
    SAME_PRONOUN = 5
    SAME_STRING = 6  # without articles


class StringMatch(PairFeature):
    name = "match"
    description = "best string match with any of its mentions"
    classes = tuple(Match.__members__)
    fields = (STRINGS, HEADS, CONTENTS)

    def classify(self, mention: MentionFacts, states: WordStates) -> Ints:
        classes = np.zeros(len(states), np.int64)
        same_string = list(states.with_word(STRINGS, mention.string))
        if mention.pronoun:
            classes[same_string] = Match.SAME_PRONOUN
            return classes
        content = mention.content
        same_head = states.with_word(HEADS, mention.head)
        sharing = states.with_any(CONTENTS, content)
        if len(content) == 1:  # a mention that shares the only word contains it
            classes[list(same_head)] = Match.SAME_HEAD
            classes[sharing] = Match.CONTAINED
            classes[list(same_head.intersection(sharing))] = Match.CONTAINED_SAME_HEAD
        else:
            for entity in same_head.union(sharing):
                if any(content <= other or other <= content for other in states.word_sets(CONTENTS, entity)):
                    classes[entity] = Match.CONTAINED_SAME_HEAD if entity in same_head else Match.CONTAINED
                else:
                    classes[entity] = Match.SAME_HEAD if entity in same_head else Match.SHARED_WORD
        classes[same_string] = Match.SAME_STRING
        return classes

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        entity.add(STRINGS, mention.string)
        if not mention.pronoun:
            entity.add(HEADS, mention.head)
            if mention.content:
                entity.add(CONTENTS, mention.content)

    def update_name(self, entity: ChangingEntity, name: MentionFacts) -> None:
        entity.add(STRINGS, name.string)
        entity.add(HEADS, name.head)
        if name.content:
            entity.add(CONTENTS, name.content)

    def trim(self, state: EntityState, names: int) -> dict[Field[Any], Any]:
        """Keep the first and the latest contents, with their heads and strings."""
        contents = (*state[CONTENTS][: names // 2], *state[CONTENTS][names // 2 - names :])
        words = frozenset[str]().union(*contents)
        strings = (s for s in state[STRINGS] if s in PRONOUNS or content_words(s.split()) in contents)
        return {CONTENTS: contents, HEADS: state[HEADS] & words, STRINGS: frozenset(strings)}


register(StringMatch())
