"""Sessions in this process's memory: for trying things out. They end with the process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import RLock

from incoref.server.store import OutOfOrder, Record, missing


@dataclass(slots=True)
class _Kept:
    owner: str
    head: bytes
    used: float
    dropped: int = 0
    """Records at the start of the log that are erased."""
    records: list[Record] = field(default_factory=list)
    snapshots: dict[int, bytes] = field(default_factory=dict)
    view: str | None = None


class MemoryStore:
    def __init__(self) -> None:
        self._sessions: dict[str, _Kept] = {}
        self._views: dict[str, str] = {}
        self._lock = RLock()

    def create(self, id: str, owner: str, head: bytes, now: float) -> None:
        with self._lock:
            self._sessions[id] = _Kept(owner, head, now)

    def head(self, id: str) -> bytes:
        with self._session(id) as kept:
            return kept.head

    def append(self, id: str, record: Record, now: float) -> None:
        with self._session(id) as kept:
            following = kept.dropped + len(kept.records) + 1
            if record.number != following:
                raise OutOfOrder(f"record {record.number} came where {following} is the next")
            kept.records.append(record)
            kept.used = max(kept.used, now)

    def records(self, id: str, after: int = 0, most: int | None = None) -> list[Record]:
        with self._session(id) as kept:
            start = max(0, after - kept.dropped)
            return kept.records[start : None if most is None else start + most]

    def with_sequence(self, id: str, sequence: int) -> Record | None:
        with self._session(id) as kept:
            return next((record for record in reversed(kept.records) if record.sequence == sequence), None)

    def put_snapshot(self, id: str, number: int, data: bytes, oldest: int) -> None:
        with self._session(id) as kept:
            kept.snapshots[number] = data
            kept.snapshots = {place: saved for place, saved in kept.snapshots.items() if place >= oldest}

    def snapshots(self, id: str) -> list[int]:
        with self._session(id) as kept:
            return sorted(kept.snapshots)

    def snapshot(self, id: str, number: int) -> bytes:
        with self._session(id) as kept:
            return kept.snapshots[number]

    def drop(self, id: str, until: int) -> None:
        with self._session(id) as kept:
            erased = min(max(0, until - kept.dropped), len(kept.records))
            kept.records = kept.records[erased:]
            kept.dropped += erased
            kept.snapshots = {place: saved for place, saved in kept.snapshots.items() if place >= until}

    def copy(self, id: str, twin: str, owner: str, now: float) -> None:
        with self._session(id) as kept:
            self._sessions[twin] = replace(
                kept, owner=owner, used=now, records=list(kept.records), snapshots=dict(kept.snapshots), view=None
            )

    def delete(self, id: str) -> bool:
        with self._lock:
            kept = self._sessions.pop(id, None)
            if kept is not None and kept.view is not None:
                del self._views[kept.view]
            return kept is not None

    def touch(self, id: str, now: float) -> None:
        with self._session(id) as kept:
            kept.used = max(kept.used, now)

    def expire(self, before: float) -> int:
        with self._lock:
            old = [id for id, kept in self._sessions.items() if kept.used < before]
            return sum(self.delete(id) for id in old)

    def count(self, owner: str | None = None) -> int:
        with self._lock:
            return sum(owner is None or kept.owner == owner for kept in self._sessions.values())

    def share(self, id: str, view: str | None) -> None:
        with self._session(id) as kept:
            if kept.view is not None:
                del self._views[kept.view]
            kept.view = view
            if view is not None:
                self._views[view] = id

    def view(self, id: str) -> str | None:
        with self._session(id) as kept:
            return kept.view

    def viewed(self, view: str) -> str:
        with self._lock:
            if view not in self._views:
                raise missing(view)
            return self._views[view]

    def check(self) -> None:
        """Memory is always there."""

    def close(self) -> None:
        """Nothing is held open."""

    @contextmanager
    def _session(self, id: str) -> Iterator[_Kept]:
        with self._lock:
            if id not in self._sessions:
                raise missing(id)
            yield self._sessions[id]
