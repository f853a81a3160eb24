"""A store in this process's memory, for trying things out; sessions are lost when the process ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import RLock

from incoref.server.store import OutOfOrder, Record, missing


@dataclass(slots=True)
class _Stored:
    owner: str
    head: bytes
    used: float
    erased: int = 0
    """Number of erased records at the start of the log."""
    records: list[Record] = field(default_factory=list)
    snapshots: dict[int, bytes] = field(default_factory=dict)
    view: str | None = None


class MemoryStore:
    def __init__(self) -> None:
        self._sessions: dict[str, _Stored] = {}
        self._views: dict[str, str] = {}
        self._lock = RLock()

    def create(self, id: str, owner: str, head: bytes, now: float) -> None:
        with self._lock:
            self._sessions[id] = _Stored(owner, head, now)

    def head(self, id: str) -> bytes:
        with self._session(id) as stored:
            return stored.head

    def append(self, id: str, record: Record, now: float, state: bytes | None = None) -> None:
        with self._session(id) as stored:
            following = stored.erased + len(stored.records) + 1
            if record.number != following:
                raise OutOfOrder(f"record {record.number} came where {following} is the next")
            if state is not None:
                stored.records, stored.erased = [], record.number - 1
                stored.snapshots = {record.number: state}
            stored.records.append(record)
            stored.used = max(stored.used, now)

    def records(self, id: str, after: int = 0, most: int | None = None) -> list[Record]:
        with self._session(id) as stored:
            start = max(0, after - stored.erased)
            return stored.records[start : None if most is None else start + most]

    def last(self, id: str) -> int:
        with self._session(id) as stored:
            return stored.erased + len(stored.records)

    def with_sequence(self, id: str, sequence: int) -> Record | None:
        with self._session(id) as stored:
            return next((record for record in reversed(stored.records) if record.sequence == sequence), None)

    def put_snapshot(self, id: str, number: int, data: bytes, oldest: int) -> bool:
        with self._session(id) as stored:
            if number <= stored.erased or number <= max(stored.snapshots, default=0):
                return False
            stored.snapshots[number] = data
            stored.snapshots = {place: saved for place, saved in stored.snapshots.items() if place >= oldest}
            return True

    def snapshots(self, id: str) -> list[int]:
        with self._session(id) as stored:
            return sorted(stored.snapshots)

    def snapshot(self, id: str, number: int) -> bytes:
        with self._session(id) as stored:
            return stored.snapshots[number]

    def copy(self, id: str, twin: str, owner: str, now: float) -> None:
        with self._session(id) as stored:
            self._sessions[twin] = replace(
                stored,
                owner=owner,
                used=now,
                records=list(stored.records),
                snapshots=dict(stored.snapshots),
                view=None,
            )

    def delete(self, id: str) -> bool:
        with self._lock:
            stored = self._sessions.pop(id, None)
            if stored is not None and stored.view is not None:
                del self._views[stored.view]
            return stored is not None

    def scrub(self) -> None:
        """Do nothing, as there are no files."""

    def touch(self, id: str, now: float) -> None:
        with self._session(id) as stored:
            stored.used = max(stored.used, now)

    def expire(self, before: float) -> int:
        with self._lock:
            old = [id for id, stored in self._sessions.items() if stored.used < before]
            return sum(self.delete(id) for id in old)

    def count(self, owner: str | None = None) -> int:
        with self._lock:
            return sum(owner is None or stored.owner == owner for stored in self._sessions.values())

    def share(self, id: str, view: str | None) -> None:
        with self._session(id) as stored:
            if stored.view is not None:
                del self._views[stored.view]
            stored.view = view
            if view is not None:
                self._views[view] = id

    def view(self, id: str) -> str | None:
        with self._session(id) as stored:
            return stored.view

    def viewed(self, view: str) -> str:
        with self._lock:
            if view not in self._views:
                raise missing(view)
            return self._views[view]

    def check(self) -> None:
        """Do nothing, as memory is always available."""

    def close(self) -> None:
        """Do nothing, as there is nothing to close."""

    @contextmanager
    def _session(self, id: str) -> Iterator[_Stored]:
        with self._lock:
            if id not in self._sessions:
                raise missing(id)
            yield self._sessions[id]
