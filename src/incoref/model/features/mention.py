"""The facts about a mention that features use: its words, position and speaker. Independent of entities."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from incoref.model.features.quotations import UNQUOTED, Quoted
from incoref.text.english import (
    ARTICLES,
    FIRST_PERSON,
    GENDER_OF_WORD,
    HE,
    PRONOUNS,
    SECOND_PERSON,
    SHE,
    TITLES,
    content_words,
    head_of,
)


@dataclass(frozen=True, slots=True)
class MentionFacts:
    """The facts about a mention that features use."""

    first: int
    """Index of its first token in the text."""
    sentence: int
    turn: int
    """Number of its turn; a new turn starts where the speaker changes."""
    string: str
    """Lower-case words without leading articles."""
    head: str
    content: frozenset[str]
    """Lower-case content words."""
    pronoun: int
    """Class of the pronoun in ``PRONOUNS``, or 0 if it isn't one."""
    speaker: str | None
    name: frozenset[str] = frozenset()
    """The words of a proper name without titles; empty if the mention isn't a name."""
    name_order: tuple[str, ...] = ()
    """The same words in the order of the mention."""
    initials: str = ""
    """Initials of a multi-word name, including words after its head: "fbi" of "Federal Bureau of …"."""
    gender: int = 0
    """MALE or FEMALE if its words show it, else 0."""
    quoted: Quoted = UNQUOTED
    """The position of its first word relative to quotations."""

    @property
    def is_he_or_she(self) -> bool:
        return self.pronoun in (HE, SHE)

    @property
    def is_narrators_i(self) -> bool:
        """Whether it is an "I" outside quotations in a text without speakers."""
        return self.pronoun == FIRST_PERSON and not self.quoted.inside and self.speaker is None

    @property
    def is_quoted_person(self) -> bool:
        """Whether it is an "I" or "you" inside a quotation."""
        return self.quoted.inside and self.pronoun in (FIRST_PERSON, SECOND_PERSON)

    @property
    def says_i(self) -> bool:
        """Whether the speaker refers to themselves alone."""
        return self.pronoun == FIRST_PERSON


def facts_of(
    words: Sequence[str], first: int, sentence: int, turn: int, speaker: str | None, quoted: Quoted = UNQUOTED
) -> MentionFacts:
    """Compute the facts of a mention with these words."""
    lower = _without_articles([word.lower() for word in words])
    words = words[len(words) - len(lower) :]
    pronoun = _pronoun(lower)
    place = head_of(lower)
    head = lower[place]
    content = content_words(lower)
    capitals: list[str] = []  # the words of a name and its titles
    initials = ""
    if not pronoun and words[place][:1].isupper():
        capitals = [low for word, low in zip(words, lower[: place + 1], strict=False) if word[:1].isupper()]
        initials = "".join(
            low[0] for word, low in zip(words, lower, strict=True) if word[:1].isupper() and low not in TITLES
        )
    name = content.intersection(capitals) - TITLES
    return MentionFacts(
        first=first,
        sentence=sentence,
        turn=turn,
        string=" ".join(lower),
        head=head,
        content=content,
        pronoun=pronoun,
        speaker=speaker,
        name=name,
        name_order=tuple(word for word in capitals if word in name),
        initials=initials if name and len(initials) > 1 else "",
        gender=next((GENDER_OF_WORD[word] for word in (head, *capitals) if word in GENDER_OF_WORD), 0),
        quoted=quoted,
    )


def is_pronoun(words: Sequence[str]) -> bool:
    """Whether a mention with these words is a pronoun; ``facts_of`` says which one."""
    return bool(_pronoun(_without_articles([word.lower() for word in words])))


def _without_articles(lower: Sequence[str]) -> Sequence[str]:
    while len(lower) > 1 and lower[0] in ARTICLES:
        lower = lower[1:]
    return lower


def _pronoun(lower: Sequence[str]) -> int:
    return PRONOUNS.get(lower[0], 0) if len(lower) == 1 else 0


@lru_cache(maxsize=4096)
def name_words(speaker: str) -> tuple[str, ...]:
    """Return the lower-case words of a speaker's name: (frank, messina) for "FrankMessina" and "frank_messina"."""
    return tuple(word.lower() for word in re.findall(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![a-z])|\d+", speaker))
