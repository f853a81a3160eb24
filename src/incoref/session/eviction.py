"""Eviction policies: which entities a session forgets, so that its memory is bounded however long the text.

- ``none``: none; memory and time per mention grow with the text
- ``lru``: all but the ``max_entities`` most recently mentioned
- ``dual``: half of ``max_entities`` are the most recently mentioned ones, the rest the most frequently mentioned
- ``icoref``: entities with one mention that were idle for ``idle`` tokens, and any that were idle for twice as long
  (ICoref's rule); ``max_entities``, if set, bounds the rest as in ``lru``

When ``max_entities`` is exceeded, 5% more are evicted in advance: renumbering the rest costs the same however many
go, so it should be rare. Introduced entities count but are never evicted. All policies except ``none`` also bound the
names of an entity: of more than 64, only the first 16 and the latest 16 are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incoref.options import DEFAULT_IDLE, DEFAULT_POLICY, SessionOptions
from incoref.session.transcript import LiveEntity

DEFAULT_MAX_ENTITIES = 1000
MOST_NAMES = 32
_SPARE_PART = 20
"""Eviction makes room for another 1/20 of ``max_entities``."""


@dataclass(frozen=True, slots=True)
class Eviction:
    policy: str = DEFAULT_POLICY
    max_entities: int | None = None
    """Maximum number of entities; ``lru`` and ``dual`` default to 1000."""
    idle: int = DEFAULT_IDLE
    """Idle tokens, for ``icoref``."""

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
        """Maximum number of names per entity, which may be called something else each time."""
        return None if self.policy == "none" else MOST_NAMES

    def evicted(self, live: Sequence[LiveEntity], tokens: int) -> list[int]:
        """Indices in ``live`` of the entities to evict after this many tokens, in order."""
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
