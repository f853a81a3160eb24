"""The features of a (mention, entity) pair and the classes that each has. Knows no mentions and no entities.

- ``count``: mentions of the entity so far, in buckets that grow
- ``distance``: mentions since its latest one, in buckets
- ``sentences``: sentences since its latest one, in buckets
- ``match``: the best match of strings with any mention of the entity, see ``Match``
- ``agreement``: pronouns of the mention and the entity, see ``Agreement``
- ``speaker``: who speaks and is spoken to, see ``Voice``
- ``nested``: whether the entity's latest mention lies inside this one
- ``name``: what the mention is called and what the entity was, see ``Naming``
- ``gender``: what their words say of men and women, see ``Gender``
- ``rank``: for "he" and "she", how many others of this gender were spoken of since, see ``Rank``
- ``opened``: whether the entity's latest mention is the first one of its sentence
- ``speech``: who speaks and is spoken to in quotations, see ``Speech``
- ``told``: for a quoted "I" or "you", whether the entity was spoken of beside the quotation, see ``Told``
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from incoref.model.features.mentions import GENDERED, PLURAL, PRONOUNS


class Match(IntEnum):
    """How alike two mentions' words are; the higher, the more alike."""

    NONE = 0
    SHARED_WORD = 1
    SAME_HEAD = 2
    CONTAINED = 3  # one's content words contain the other's
    CONTAINED_SAME_HEAD = 4
    SAME_PRONOUN = 5
    SAME_STRING = 6  # articles dropped


class Agreement(IntEnum):
    """What the pronouns say about a mention and an entity."""

    NO_PRONOUN = 0  # neither has one
    ENTITY_HAS_PRONOUN = 1  # the mention is none, the entity has one that says he, she, it or they
    MENTION_IS_PRONOUN = 2  # the entity has none that says he, she, it or they
    SAME = 3
    OTHER = 4  # he against she, it against they, …
    OTHER_ONLY_PLURAL = 5  # he, she or it against they, which may be one person


class Voice(IntEnum):
    """Who says the mention, and who said or was addressed by the entity's first and second persons."""

    NO_SPEAKER = 0
    SAME_SPEAKER = 1  # neither is a first or second person; the entity's latest mention has the same speaker
    OTHER_SPEAKER = 2
    I_AM_THIS_I = 3
    I_AM_NOT_THIS_I = 4
    I_WAS_ADDRESSED = 5  # by another's "you" in the turn before
    I_SAID_YOU = 6
    I_AM_NAMED_SO = 7
    YOU_ARE_NOT_MY_I = 8
    YOU_SPOKE_BEFORE = 9  # the entity is the "I" of the turn before
    YOU_SPOKE_ONCE = 10
    YOU_AS_I_SAID = 11
    YOU_AS_ANOTHER_SAID = 12
    NAMED_SPEAKER = 13  # the mention is a name of a speaker, the entity that speaker's "I"
    FIRST_PERSON_ENTITY = 14  # the mention is a third person, the entity has an "I" or "you" of the same speaker
    OTHERS_FIRST_PERSON_ENTITY = 15


class Naming(IntEnum):
    """The mention's name against those of the entity, titles aside."""

    NO_NAME = 0  # the mention has none
    FIRST_NAME = 1  # the entity has none yet
    SHARED = 2  # a word is in both
    OTHER_NAME = 3


class Gender(IntEnum):
    """The gender of a mention's words (pronouns, titles, "mother") against that of the entity's."""

    UNKNOWN = 0
    SAME = 1
    OTHER = 2
    BOTH = 3  # the entity has been called both


class Rank(IntEnum):
    """The place of the entity among those of the gender of a "he" or "she", the latest first."""

    NO_PRONOUN = 0  # the mention is neither
    NONE = 1  # the entity is not known to be of this gender
    FIRST = 2
    SECOND = 3
    LATER = 4


class Speech(IntEnum):
    """Who says the mention in a quotation or beside it, and whose "I" or "you" the entity was in which quotation.

    One that answers follows the one before without a word between them.
    """

    NONE = 0
    I_TELL = 1  # the mention is an "I" outside of quotations, and so was one of the entity's
    I_DO_NOT_TELL = 2
    I_HERE = 3  # the mention is a quoted "I", the entity the "I" of the same quotation
    I_BEFORE = 4  # … of the one before
    I_BEFORE_ANSWER = 5  # … to which this one is the answer
    I_TWO_BEFORE = 6
    I_WAS_ADDRESSED = 7  # the entity is the "you" of the one before
    I_ANSWER = 8
    I_TOLD = 9  # the entity is an "I" outside of quotations
    I_OTHER = 10
    YOU_HERE = 11  # the mention is a quoted "you"; in the order of those of "I"
    YOU_BEFORE = 12
    YOU_BEFORE_ANSWER = 13
    YOU_TWO_BEFORE = 14
    YOU_SPOKE = 15  # the entity is the "I" of the one before
    YOU_ARE_ANSWERED = 16
    YOU_TOLD = 17
    YOU_OTHER = 18
    NOT_ONESELF = 19  # "I" and "you" of the same quotation
    OF_SPEAKER = 20  # the mention is a quoted third person, the entity the "I" of the quotation
    OF_ADDRESSEE = 21
    SPEAKER = 22  # the mention is a third person outside, the entity the "I" of the latest quotation
    ADDRESSEE = 23
    SPEAKER_BEFORE_ANSWER = 24
    ADDRESSEE_BEFORE_ANSWER = 25


class Told(IntEnum):
    """Where the entity was spoken of outside of quotations, for a quoted "I" or "you"."""

    NONE = 0
    I_WITHIN = 1  # where this quotation is interrupted: "…," said he, "…"
    I_BETWEEN = 2  # since the quotation before began, and words stand between the two
    I_BEFORE_ANSWER = 3  # since the quotation before began, and this one is the answer
    YOU_WITHIN = 4
    YOU_BETWEEN = 5
    YOU_BEFORE_ANSWER = 6


PAIR_FEATURES: dict[str, int] = {
    "count": 8,
    "distance": 11,
    "sentences": 10,
    "match": len(Match),
    "agreement": len(Agreement),
    "speaker": len(Voice),
    "nested": 2,
    "name": len(Naming),
    "gender": len(Gender),
    "rank": len(Rank),
    "opened": 2,
    "speech": len(Speech),
    "told": len(Told),
}
"""The features of a pair in order, with their numbers of classes."""

SPEAKER_FEATURE = list(PAIR_FEATURES).index("speaker")
SPEAKER_PRIOR = np.zeros(len(Voice), np.float32)
SPEAKER_PRIOR[[Voice.I_AM_NOT_THIS_I, Voice.YOU_ARE_NOT_MY_I]] = -6.0
"""What is known of a pair beside all that a model has learned, added to its score: two speakers' "I" are two persons,
and nobody calls himself "you". The texts that models learn from are long, so a first "I" or "you" is rare in them."""


def _buckets(*edges: int) -> npt.NDArray[np.int64]:
    """The classes of the numbers up to the last of these, each of which begins one."""
    return np.searchsorted(edges, np.arange(edges[-1] + 1), "right")


COUNTS = _buckets(2, 3, 4, 5, 8, 16, 32)
DISTANCES = _buckets(2, 3, 4, 5, 8, 16, 32, 64, 128, 256)
SENTENCES = _buckets(1, 2, 3, 4, 6, 9, 17, 33, 65)
"""The classes of counts, distances and sentences; what is larger than all has the last one."""

GENDERED_BITS = sum(1 << number for number in GENDERED)


def bucket(values: npt.NDArray[np.int64], classes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The classes of values in one of the tables above."""
    return classes.take(values, mode="clip")


def _agreement(pronoun: int, said: int) -> Agreement:
    """Of a mention that is this pronoun (or 0) with an entity that was called he, she, it or they, as bits."""
    if pronoun not in GENDERED:
        return Agreement.ENTITY_HAS_PRONOUN if said else Agreement.NO_PRONOUN
    if not said:
        return Agreement.MENTION_IS_PRONOUN
    if said & 1 << pronoun:
        return Agreement.SAME
    return Agreement.OTHER_ONLY_PLURAL if pronoun == PLURAL or said == 1 << PLURAL else Agreement.OTHER


GENDER = np.array(
    [
        [Gender.UNKNOWN] * 4,
        [Gender.UNKNOWN, Gender.SAME, Gender.OTHER, Gender.BOTH],
        [Gender.UNKNOWN, Gender.OTHER, Gender.SAME, Gender.BOTH],
    ]
)
"""The class of a mention that is of no gender, MALE or FEMALE with an entity that has been called those, as bits."""

AGREEMENT = np.array(
    [
        [_agreement(pronoun, said) for said in range(GENDERED_BITS + 1)]
        for pronoun in range(max(PRONOUNS.values()) + 1)
    ]
)
"""``_agreement`` of every pronoun with every set of them."""
