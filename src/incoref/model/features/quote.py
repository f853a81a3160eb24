"""``quote``: who speaks and who is addressed in quotations, for texts that name no speakers."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from incoref.model.features.base import ChangingEntity, Ints, PairFeature, WordStates, register
from incoref.model.features.fields import Number, highest, union
from incoref.model.features.mention import MentionFacts
from incoref.text.english import FIRST_PERSON, SECOND_PERSON

NO_QUOTATION = -2
"""Stands for no quotation; also differs from the number one or two before the first quotation."""
I_QUOTED = Number("i_quoted", NO_QUOTATION, highest)
"""The quotation in which the entity was last an "I"."""
YOU_QUOTED = Number("you_quoted", NO_QUOTATION, highest)
"""The quotation in which the entity was last a "you"."""
IS_NARRATOR = Number("narrator", 0, union)
"""Whether the entity is the narrator's "I"."""


class QuoteRelation(IntEnum):
    """Who says the mention in or near a quotation, and in which quotation the entity was "I" or "you".

    A quotation answers the one before if no words stand between them.
    """

    NONE = 0
    NARRATOR = 1  # the mention is an "I" outside quotations, and so was one of the entity's
    NOT_NARRATOR = 2
    I_HERE = 3  # the mention is a quoted "I", the entity the "I" of the same quotation
    I_BEFORE = 4  # … of the quotation before
    I_BEFORE_ANSWER = 5  # … which this one answers
    I_TWO_BEFORE = 6
    I_WAS_ADDRESSED = 7  # the entity is the "you" of the quotation before
    I_ANSWER = 8
    I_NARRATOR = 9  # the entity is an "I" outside quotations
    I_OTHER = 10
    YOU_HERE = 11  # the mention is a quoted "you"; in the same order as for "I"
    YOU_BEFORE = 12
    YOU_BEFORE_ANSWER = 13
    YOU_TWO_BEFORE = 14
    YOU_SPOKE = 15  # the entity is the "I" of the quotation before
    YOU_ARE_ANSWERED = 16
    YOU_NARRATOR = 17
    YOU_OTHER = 18
    NOT_ONESELF = 19  # "I" and "you" of the same quotation
    OF_SPEAKER = 20  # the mention is a quoted third person, the entity the "I" of that quotation
    OF_ADDRESSEE = 21
    SPEAKER = 22  # the mention is a third person outside, the entity the "I" of the latest quotation
    ADDRESSEE = 23
    SPEAKER_BEFORE_ANSWER = 24
    ADDRESSEE_BEFORE_ANSWER = 25


class Quote(PairFeature):
    name = "quote"
    description = "who speaks and who is addressed in quotations"
    classes = tuple(QuoteRelation.__members__)
    fields = (I_QUOTED, YOU_QUOTED, IS_NARRATOR)

    def applies(self, mention: MentionFacts) -> bool:
        return mention.quoted.number > 0 or mention.is_narrators_i

    def classify(self, mention: MentionFacts, states: WordStates) -> Ints:
        number, inside, answers = mention.quoted
        i_quoted, you_quoted, narrator = states[I_QUOTED], states[YOU_QUOTED], states[IS_NARRATOR] > 0
        classes = np.zeros(len(states), np.int64)
        if mention.is_narrators_i:
            classes[:] = QuoteRelation.NOT_NARRATOR
            classes[narrator] = QuoteRelation.NARRATOR
        elif mention.is_quoted_person:
            says_i = mention.pronoun == FIRST_PERSON
            same, other = (i_quoted, you_quoted) if says_i else (you_quoted, i_quoted)
            person = 0 if says_i else QuoteRelation.YOU_HERE - QuoteRelation.I_HERE
            answer = QuoteRelation.I_ANSWER if answers else QuoteRelation.I_WAS_ADDRESSED
            before = QuoteRelation.I_BEFORE_ANSWER if answers else QuoteRelation.I_BEFORE
            classes[:] = QuoteRelation.I_OTHER + person
            classes[same == number - 2] = QuoteRelation.I_TWO_BEFORE + person
            classes[narrator] = QuoteRelation.I_NARRATOR + person
            classes[other == number - 1] = answer + person
            classes[same == number - 1] = before + person
            classes[other == number] = QuoteRelation.NOT_ONESELF
            classes[same == number] = QuoteRelation.I_HERE + person
        elif inside:
            classes[you_quoted == number] = QuoteRelation.OF_ADDRESSEE
            classes[i_quoted == number] = QuoteRelation.OF_SPEAKER
        else:
            if answers:
                classes[you_quoted == number - 1] = QuoteRelation.ADDRESSEE_BEFORE_ANSWER
                classes[i_quoted == number - 1] = QuoteRelation.SPEAKER_BEFORE_ANSWER
            classes[you_quoted == number] = QuoteRelation.ADDRESSEE
            classes[i_quoted == number] = QuoteRelation.SPEAKER
        return classes

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        if not mention.quoted.inside:
            entity[IS_NARRATOR] |= mention.is_narrators_i
        elif mention.pronoun == FIRST_PERSON:
            entity[I_QUOTED] = mention.quoted.number
        elif mention.pronoun == SECOND_PERSON:
            entity[YOU_QUOTED] = mention.quoted.number


register(Quote())
