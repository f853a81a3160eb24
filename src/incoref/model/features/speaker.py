"""``speaker``: who says the mention, and whose "I" or "you" the entity has been."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from incoref.model.features.base import NOBODY, ChangingEntity, Ints, PairFeature, WordStates, register
from incoref.model.features.distance import from_latest
from incoref.model.features.fields import EntityState, Field, Number, SpeakerName
from incoref.model.features.match import CONTENTS
from incoref.model.features.mention import MentionFacts, name_words
from incoref.text.english import FIRST_PERSON, SECOND_PERSON


class SpeakerRelation(IntEnum):
    """Who says the mention, and who said or was addressed by the entity's first and second persons."""

    NO_SPEAKER = 0
    SAME_SPEAKER = 1  # neither is a first or second person; the entity's latest mention has the same speaker
    OTHER_SPEAKER = 2
    I_AM_THIS_I = 3
    I_AM_NOT_THIS_I = 4
    I_WAS_ADDRESSED = 5  # by another speaker's "you" in the turn before
    I_SAID_YOU = 6
    I_HAVE_THIS_NAME = 7
    YOU_ARE_NOT_MY_I = 8
    YOU_SPOKE_BEFORE = 9  # the entity is the "I" of the turn before
    YOU_SPOKE_ONCE = 10
    YOU_AS_I_SAID = 11
    YOU_AS_ANOTHER_SAID = 12
    NAMED_SPEAKER = 13  # the mention is a speaker's name, the entity that speaker's "I"
    FIRST_PERSON_ENTITY = 14  # the mention is a third person, the entity an "I" or "you" of the same speaker
    OTHERS_FIRST_PERSON_ENTITY = 15


def _with_latest_i(one: EntityState, other: EntityState, field: Field[Any]) -> Any:
    return max(one, other, key=lambda state: (state[I_OF] is not None, state[I_TURN]))[field]


def _with_latest_you(one: EntityState, other: EntityState, field: Field[Any]) -> Any:
    return max(one, other, key=lambda state: (state[YOU_BY] is not None, state[YOU_TURN]))[field]


SPEAKER = SpeakerName("speaker", from_latest)
"""Who said the latest mention."""
I_OF = SpeakerName("i_of", _with_latest_i)
"""Whose "I" the entity is, last said in turn I_TURN."""
I_TURN = Number("i_turn", -1, _with_latest_i)
YOU_BY = SpeakerName("you_by", _with_latest_you)
"""Who called the entity "you", last in turn YOU_TURN."""
YOU_TURN = Number("you_turn", -1, _with_latest_you)

# Built once: NumPy is slow to make an array out of enum members.
_SPOKEN_BY = np.array([SpeakerRelation.OTHER_SPEAKER, SpeakerRelation.SAME_SPEAKER], np.int64)


class Speaker(PairFeature):
    name = "speaker"
    description = 'who speaks, and whose "I" and "you" the entity is'
    classes = tuple(SpeakerRelation.__members__)
    fields = (SPEAKER, I_OF, I_TURN, YOU_BY, YOU_TURN)
    prior = np.zeros(len(SpeakerRelation), np.float32)
    prior[[SpeakerRelation.I_AM_NOT_THIS_I, SpeakerRelation.YOU_ARE_NOT_MY_I]] = -6.0
    """The "I"s of two speakers are two people, and nobody calls themselves "you". Training texts are long, so a first
    "I" or "you" is rare in them."""

    def applies(self, mention: MentionFacts) -> bool:
        return mention.speaker is not None

    def classify(self, mention: MentionFacts, states: WordStates) -> Ints:
        assert mention.speaker is not None
        me = states.speaker_number(mention.speaker)
        i_of, you_by = states[I_OF], states[YOU_BY]
        turn_before = mention.turn - 1
        mine, my_you, by_me = i_of == me, you_by == me, states[SPEAKER] == me  # ``me`` is never NOBODY
        others, others_you = (i_of != NOBODY) > mine, (you_by != NOBODY) > my_you
        classes: Ints = _SPOKEN_BY[by_me.view(np.int8)]
        if mention.pronoun == FIRST_PERSON:
            classes[my_you] = SpeakerRelation.I_SAID_YOU
            classes[others_you & (states[YOU_TURN] == turn_before)] = SpeakerRelation.I_WAS_ADDRESSED
            classes[states.with_any(CONTENTS, name_words(mention.speaker))] = SpeakerRelation.I_HAVE_THIS_NAME
            classes[others] = SpeakerRelation.I_AM_NOT_THIS_I
            classes[mine] = SpeakerRelation.I_AM_THIS_I
        elif mention.pronoun == SECOND_PERSON:
            classes[others_you] = SpeakerRelation.YOU_AS_ANOTHER_SAID
            classes[my_you] = SpeakerRelation.YOU_AS_I_SAID
            classes[others] = SpeakerRelation.YOU_SPOKE_ONCE
            classes[others & (states[I_TURN] == turn_before)] = SpeakerRelation.YOU_SPOKE_BEFORE
            classes[mine] = SpeakerRelation.YOU_ARE_NOT_MY_I
        else:
            classes[mine | my_you] = SpeakerRelation.FIRST_PERSON_ENTITY
            classes[others | others_you] = SpeakerRelation.OTHERS_FIRST_PERSON_ENTITY
            for speaker in states.speakers_called(mention.content):
                classes[i_of == speaker] = SpeakerRelation.NAMED_SPEAKER
        return classes

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        entity[SPEAKER] = mention.speaker
        if mention.pronoun == FIRST_PERSON:
            entity[I_OF], entity[I_TURN] = mention.speaker, mention.turn
        elif mention.pronoun == SECOND_PERSON:
            entity[YOU_BY], entity[YOU_TURN] = mention.speaker, mention.turn


register(Speaker())
