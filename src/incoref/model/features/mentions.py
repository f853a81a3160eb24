"""What of a mention the features look at: its words, place and speaker. Knows no entities."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from incoref.model.features.quotations import UNQUOTED, Quoted

PRONOUNS: dict[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "he him his himself",
            "she her hers herself",
            "it its itself",
            "they them their theirs themselves themself",
            "i me my mine myself",
            "you your yours yourself yourselves thou thee thy thine",
            "we us our ours ourselves",
            "this that these those",
            "who whom whose which",
        ),
        start=1,
    )
    for word in words.split()
}
HE, SHE = 1, 2
FIRST_PERSON, SECOND_PERSON = 5, 6
PLURAL = 4
GENDERED = (1, 2, 3, 4)

_ARTICLES = frozenset("a an the".split())
_DETERMINERS = frozenset(
    "a an the this that these those my your his her its our their some any no every each another 's ’s ' ’".split()
)
_FUNCTION_WORDS = frozenset(
    "of in on at to for from by with about into over under between among through during against without within "
    "and or but nor as than that which who whom whose where when while is are was were be been being has have had "
    "do does did will would can could may might shall should must not n't "
    ", . ; : ! ? - -- – — ( ) [ ] \" “ ” ` `` ''".split()
)
_HEAD_ENDS = frozenset(
    "of in on at to for from by with about into over under between among through during against without within "
    "who whom whose which that where when , ; : ( [ - -- – —".split()
)
MALE, FEMALE = 1, 2
_GENDERS: dict[str, int] = {
    word: gender
    for gender, words in (
        (
            MALE,
            "he him his himself mr mr. mister sir lord king prince duke baron emperor monsieur father papa dad daddy "
            "grandfather grandpa uncle son grandson brother nephew husband man gentleman boy lad widower",
        ),
        (
            FEMALE,
            "she her hers herself mrs mrs. ms ms. miss madam madame mademoiselle lady queen princess duchess "
            "countess baroness empress mother mamma mama mum mom mommy grandmother grandma aunt daughter "
            "granddaughter sister niece wife woman girl lass widow",
        ),
    )
    for word in words.split()
}
_TITLES = frozenset(_GENDERS) | frozenset(
    "dr dr. doctor prof prof. professor rev rev. reverend st st. saint capt capt. captain col col. colonel gen gen. "
    "general lieut. lieutenant sergeant sgt. corporal major count master judge president senator sen. rep. gov. "
    "governor bishop pope cousin".split()
)
"""Words before a name that others have too; alone they are no name."""


@dataclass(frozen=True, slots=True)
class MentionFacts:
    """What of a mention the features look at."""

    first: int
    """Number of its first token in the text."""
    sentence: int
    turn: int
    """Number of its speaker's turn."""
    string: str
    """Lower-case words without articles."""
    head: str
    content: frozenset[str]
    pronoun: int
    """Class of the pronoun that it is, or 0."""
    speaker: str | None
    name: frozenset[str] = frozenset()
    """The words of the name that it is, without titles; none if it is no name."""
    gender: int = 0
    """MALE or FEMALE, if its words say so, or 0."""
    quoted: Quoted = UNQUOTED
    """Where its first word stands."""

    @property
    def is_he_or_she(self) -> bool:
        return self.pronoun in (HE, SHE)

    @property
    def concerns_quotations(self) -> bool:
        """Whether it stands in a quotation or after one, or is an "I" of which no speaker is known."""
        return self.quoted.number > 0 or self.tells

    @property
    def tells(self) -> bool:
        """Whether it is an "I" of the text itself, that nobody is known to say."""
        return self.pronoun == FIRST_PERSON and not self.quoted.inside and self.speaker is None

    @property
    def says_i(self) -> bool:
        """Whether its speaker speaks of themselves alone."""
        return self.pronoun == FIRST_PERSON


def head_of(words: Sequence[str]) -> int:
    """Place of the head word by a rule of thumb: the last word before what follows a noun."""
    for place, word in enumerate(words):
        if place and word in _HEAD_ENDS:
            return place - 1
    end = len(words) - 1
    while end > 0 and words[end] in ("'s", "’s", "'", "’"):
        end -= 1
    return end


def content_of(lower: Sequence[str]) -> frozenset[str]:
    return frozenset(word for word in lower if word not in _DETERMINERS and word not in _FUNCTION_WORDS)


def facts_of(
    words: Sequence[str], first: int, sentence: int, turn: int, speaker: str | None, quoted: Quoted = UNQUOTED
) -> MentionFacts:
    """Facts of the mention made of these words."""
    lower = [word.lower() for word in words]
    while len(lower) > 1 and lower[0] in _ARTICLES:
        words, lower = words[1:], lower[1:]
    pronoun = PRONOUNS.get(lower[0], 0) if len(lower) == 1 else 0
    place = head_of(lower)
    head = lower[place]
    content = content_of(lower)
    capitals: list[str] = []  # words of a name and its titles
    if not pronoun and words[place][:1].isupper():
        capitals = [low for word, low in zip(words, lower[: place + 1], strict=False) if word[:1].isupper()]
    return MentionFacts(
        first=first,
        sentence=sentence,
        turn=turn,
        string=" ".join(lower),
        head=head,
        content=content,
        pronoun=pronoun,
        speaker=speaker,
        name=content.intersection(capitals) - _TITLES,
        gender=next((_GENDERS[word] for word in (head, *capitals) if word in _GENDERS), 0),
        quoted=quoted,
    )


@lru_cache(maxsize=4096)
def name_words(speaker: str) -> tuple[str, ...]:
    """The words of a speaker's name: "FrankMessina" and "frank_messina" are frank and messina."""
    return tuple(word.lower() for word in re.findall(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![a-z])|\d+", speaker))
