"""Which entities a session forgets, so that its memory is bounded however long the text.

- ``none``: none; memory and time per mention grow with the text
- ``lru``: all but the ``max_entities`` that were mentioned last
- ``dual``: half of ``max_entities`` are kept because they were mentioned last, the rest because most often
- ``icoref``: an entity with one mention that has been idle for ``idle`` tokens, any that has been for twice as long
  (the rule of ICoref); ``max_entities``, if given, bounds what is left as ``lru`` does

Once there are more than ``max_entities``, the twentieth part of them is forgotten as well: renumbering those that
stay costs the same however many go, and so it is done seldom. Introduced entities are never evicted, though they
count. All policies but ``none`` bound the names of an entity too: of one with more than 64, the 16 first ones and the
16 latest ones stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incoref.options import DEFAULT_IDLE, DEFAULT_POLICY, SessionOptions
from incoref.session.transcript import LiveEntity

DEFAULT_MAX_ENTITIES = 1000
MOST_NAMES = 32
_SPARE_PART = 20
"""Eviction makes room for the twentieth part of ``max_entities``."""


@dataclass(frozen=True, slots=True)
class Eviction:
    policy: str = DEFAULT_POLICY
    max_entities: int | None = None
    """The most entities to keep; ``lru`` and ``dual`` default to 1000."""
    idle: int = DEFAULT_IDLE
    """Tokens, for ``icoref``."""

    @classmethod
    def of(cls, options: SessionOptions) -> Eviction:
        return cls(options.eviction, options.max_entities, options.idle)

    @property
    def limit(self) -> int | None:
        if self.max_entities is None and self.policy in ("lru", "dual"):
            return DEFAULT_MAX_ENTITIES
        return self.max_entities

    @property
    def names(self) -> int | None:
        """How many names of one entity are worth remembering: it may have been called something else each time."""
        return None if self.policy == "none" else MOST_NAMES

    def evicted(self, live: Sequence[LiveEntity], tokens: int) -> list[int]:
        """The places in ``live`` of those to forget after that many tokens, in order."""
        gone = set()
        if self.policy == "icoref":
            gone = {row for row, entity in enumerate(live) if self._is_idle(entity, tokens)}
        over = 0 if self.limit is None else len(live) - len(gone) - self.limit
        if over > 0:
            assert self.limit is not None
            over += self.limit // _SPARE_PART
            rows = [row for row, entity in enumerate(live) if row not in gone and not entity.introduced]
            rows.sort(key=lambda row: (live[row].latest, row))
            if self.policy == "dual":
                rows = rows[: max(over, len(rows) - self.limit // 2)]
                rows.sort(key=lambda row: (live[row].count, live[row].latest, row))
            gone |= set(rows[:over])
        return sorted(gone)

    def _is_idle(self, entity: LiveEntity, tokens: int) -> bool:
        patience = self.idle if entity.count == 1 else 2 * self.idle
        return not entity.introduced and tokens - entity.latest >= patience
