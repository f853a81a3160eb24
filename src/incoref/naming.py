"""What to call an entity: its longest proper name rather than a description, and a description rather than a pronoun.

Looks at words and capitals alone. Knows no entities, only one mention after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from incoref.features import facts_of

LONGEST = 8
"""Words of a name or a handy description."""

_CLITICS = ("'s", "’s", "'", "’")
_DETERMINERS = frozenset("a an the this that these those my your his her its our their some any no".split())
_INSIDE_NAMES = frozenset(
    "of the and & for in on at de la le du da di del der den van von al bin ibn . - ' ’ 's ’s".split()
)


class Kind(IntEnum):
    """What a mention says of its entity; the higher, the better it names it."""

    PRONOUN = 0
    LONG_DESCRIPTION = 1
    DESCRIPTION = 2
    PROPER_NAME = 3


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    kind: Kind

    def or_better(self, other: Name) -> Name:
        """The better one of two; of two descriptions or pronouns the first, of two proper names the longer."""
        if other.kind != self.kind:
            return max(self, other, key=lambda name: name.kind)
        longer = self.kind is Kind.PROPER_NAME and len(other.text) > len(self.text)
        return other if longer else self


def name_of(words: Sequence[str], text: str) -> Name:
    """The name that a mention of these words gives, its white space and the capital of a first "The" made plain."""
    text = " ".join(text.split())
    while len(words) > 1 and words[-1] in _CLITICS:
        text = text.removesuffix(words[-1]).rstrip()
        words = words[:-1]
    if words[0][:1].isupper() and words[0].lower() in _DETERMINERS and not text.isupper():
        text = text[0].lower() + text[1:]
    return Name(text, _kind(words))


def _kind(words: Sequence[str]) -> Kind:
    if facts_of(words, 0, 0, 0, None).pronoun:
        return Kind.PRONOUN
    if len(words) > LONGEST:
        return Kind.LONG_DESCRIPTION
    telling = [word for place, word in enumerate(words) if place or word.lower() not in _DETERMINERS]
    capitals = [word for word in telling if word[:1].isupper() or word[:1].isdigit()]
    proper = any(word[:1].isupper() for word in telling) and all(
        word in capitals or word.lower() in _INSIDE_NAMES for word in telling
    )
    return Kind.PROPER_NAME if proper else Kind.DESCRIPTION
