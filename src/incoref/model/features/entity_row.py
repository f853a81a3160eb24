"""The facts of one entity, apart from all others: what is kept, merged, renamed and saved.

``EntityFacts`` indexes the same facts by word, to class a mention against all entities at once. Knows no vectors.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

NO_QUOTATION = -2
"""The number of a quotation that there is not: not even one or two before the first has it."""


@dataclass(frozen=True, slots=True)
class EntityRow:
    count: int
    latest: int
    """Number of its latest mention among all mentions of the text."""
    sentence: int
    first: int
    """First token of the latest mention."""
    speaker: str | None
    """Who said the latest mention."""
    pronouns: int
    """Classes of its pronouns, as bits."""
    i_of: str | None
    """Whose "I" it is, said last in turn ``i_turn``."""
    i_turn: int
    you_by: str | None
    """Who said "you" to it, last in turn ``you_turn``."""
    you_turn: int
    strings: frozenset[str]
    heads: frozenset[str]
    contents: tuple[frozenset[str], ...]
    names: frozenset[str] = frozenset()
    """Words of its names."""
    genders: int = 0
    """What it has been called, as bits."""
    opened: bool = False
    """Whether the latest mention is the first one of its sentence."""
    i_quoted: int = NO_QUOTATION
    """Number of the quotation in which it was last an "I"."""
    you_quoted: int = NO_QUOTATION
    """Number of the quotation in which it was last a "you"."""
    told: int = NO_QUOTATION
    """Number of the quotation that had begun when it was last spoken of outside of quotations."""
    tells: bool = False
    """Whether it is the "I" of the text itself."""

    def merged(self, other: EntityRow) -> EntityRow:
        """The facts of two entities that turn out to be one."""
        latest = max(self, other, key=lambda row: row.latest)
        i = max(self, other, key=lambda row: (row.i_of is not None, row.i_turn))
        you = max(self, other, key=lambda row: (row.you_by is not None, row.you_turn))
        return EntityRow(
            count=self.count + other.count,
            latest=latest.latest,
            sentence=latest.sentence,
            first=latest.first,
            speaker=latest.speaker,
            pronouns=self.pronouns | other.pronouns,
            i_of=i.i_of,
            i_turn=i.i_turn,
            you_by=you.you_by,
            you_turn=you.you_turn,
            strings=self.strings | other.strings,
            heads=self.heads | other.heads,
            contents=tuple(dict.fromkeys((*self.contents, *other.contents))),
            names=self.names | other.names,
            genders=self.genders | other.genders,
            opened=latest.opened,
            i_quoted=max(self.i_quoted, other.i_quoted),
            you_quoted=max(self.you_quoted, other.you_quoted),
            told=max(self.told, other.told),
            tells=self.tells or other.tells,
        )

    def called(self, string: str, head: str, content: Set[str], name: Set[str], gender: int) -> EntityRow:
        """The facts once the entity is known by a name, though nobody has said it yet."""
        contents = (*self.contents, frozenset(content)) if content else self.contents
        return replace(
            self,
            strings=self.strings | {string},
            heads=self.heads | {head},
            contents=tuple(dict.fromkeys(contents)),
            names=self.names | name,
            genders=self.genders | gender,
        )
