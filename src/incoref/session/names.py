"""Chooses names for entities: proper names over descriptions, and descriptions over pronouns.

Uses only words and capitalisation, mention by mention. Knows no entities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from incoref.model.features.mention import is_pronoun
from incoref.text.english import head_of

LONGEST = 8
"""Maximum words of a name or a short description."""

_CLITICS = ("'s", "’s", "'", "’")
_DETERMINERS = frozenset("a an the this that these those my your his her its our their some any no".split())
_INSIDE_NAMES = frozenset(
    "of the and & for in on at de la le du da di del der den van von al bin ibn . - ' ’ 's ’s".split()
)
_CLAUSES = frozenset("who whom whose which that where when because if".split())
_CAPITAL_ADJECTIVES = frozenset(
    "african american arab asian australian austrian belgian brazilian british canadian catholic chinese christian "
    "dutch egyptian english european french german greek indian irish islamic israeli italian japanese jewish korean "
    "latin mexican muslim norwegian polish portuguese roman russian scottish spanish swedish swiss turkish ukrainian "
    "victorian welsh western".split()
)
_NAMED = frozenset("person organization place".split())
"""Entity types for which a single word at the start of a sentence is more likely a name than a noun."""
_PLURALS = frozenset("people men women children kids folks police mice feet teeth".split())


class Kind(IntEnum):
    """How well a mention names its entity; higher is better."""

    PRONOUN = 0
    LONG_DESCRIPTION = 1  # or one that contains a clause, brackets or a disfluency
    DESCRIPTION = 2
    PROPER_NAME = 3


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    kind: Kind
    opens: bool = False
    """Whether it is a single sentence-initial word, whose capital means little."""

    def or_better(self, other: Name) -> Name:
        """The better of two names: of descriptions or pronouns the first, of proper names the more specific."""
        if self.opens != other.opens and self.text.lower() == other.text.lower():
            return other if self.opens else self
        if other.kind != self.kind:
            return max(self, other, key=lambda name: name.kind)
        better = self.kind is Kind.PROPER_NAME and _tells_more(other.text, self.text)
        return other if better else self

    def within_a_sentence(self, type: str | None, *, plural: bool) -> str:
        """The name as written inside a sentence; entity types differ in whether "they" fits them."""
        named = type is None or (type in _NAMED and not (plural and is_plural([self.text.lower()])))
        return _with_small_letter(self.text) if self.opens and not named else self.text


def name_of(words: Sequence[str], text: str, *, opens: bool = False) -> Name:
    """The name that a mention provides, with normalised white space and capitalisation.

    ``opens`` means that it is in a position where every word is capitalised.
    """
    text = " ".join(text.split())
    while len(words) > 1 and words[-1] in _CLITICS:
        text = text.removesuffix(words[-1]).rstrip()
        words = words[:-1]
    kind = _kind(words)
    if not text.isupper() and words[0][:1].isupper():
        described = kind in (Kind.DESCRIPTION, Kind.LONG_DESCRIPTION) and len(words) > 1
        if words[0].lower() in _DETERMINERS or (opens and described and _is_common(words[0], words[1])):
            text = _with_small_letter(text)
    return Name(text, kind, opens and kind is Kind.PROPER_NAME and len(words) == 1)


def is_plural(words: Sequence[str]) -> bool:
    """Whether a name or description looks plural."""
    head = words[head_of(words)].lower()
    several = head.endswith("s") and not head.endswith(("ss", "us", "is", "'s", "’s"))
    return several or head in _PLURALS or "and" in words


def is_proper(words: Sequence[str]) -> bool:
    return _kind(words) is Kind.PROPER_NAME


def _is_common(first: str, second: str) -> bool:
    """Whether the first word of a description is capitalised only because it opens a sentence."""
    rather_a_name = first.lower() in _CAPITAL_ADJECTIVES or not first[1:].islower()
    return not rather_a_name and second.islower() and second not in (*_CLITICS, "and", "or")


def _with_small_letter(text: str) -> str:
    return text[0].lower() + text[1:]


def _kind(words: Sequence[str]) -> Kind:
    if is_pronoun(words):
        return Kind.PRONOUN
    if len(words) > LONGEST or any(_is_clumsy(word) for word in words[1:]):
        return Kind.LONG_DESCRIPTION
    telling = [word for place, word in enumerate(words) if place or word.lower() not in _DETERMINERS]
    capitals = [word for word in telling if word[:1].isupper() or word[:1].isdigit()]
    proper = any(word[:1].isupper() for word in telling) and all(
        word in capitals or word.lower() in _INSIDE_NAMES for word in telling
    )
    return Kind.PROPER_NAME if proper else Kind.DESCRIPTION


def _is_clumsy(word: str) -> bool:
    return word in _CLAUSES or any(mark in word for mark in "()[]") or (len(word) > 1 and word.endswith(("-", "–")))


def _tells_more(one: str, other: str) -> bool:
    """Whether a proper name is better than another: "Anna Kern" than "Anna", "Norton" than "Emperor of the North".

    Two to four capitalised words are best. A part of a longer name is worse than the whole name.
    """
    words, others = _without_determiner(one), _without_determiner(other)
    plain, other_plain = _is_plain(words), _is_plain(others)
    best, other_best = plain and 2 <= len(words) <= 4, other_plain and 2 <= len(others) <= 4
    if best != other_best:
        return best
    if plain != other_plain:
        part, whole = (words, others) if plain else (others, words)
        return plain != (set(part) <= set(whole))
    return len(one) > len(other)


def _without_determiner(name: str) -> list[str]:
    words = name.split()
    return words[1:] if len(words) > 1 and words[0].lower() in _DETERMINERS else words


def _is_plain(words: Sequence[str]) -> bool:
    return not any(word.lower() in _INSIDE_NAMES or word.endswith(("'s", "’s", ",")) for word in words)
