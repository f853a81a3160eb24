"""An LRU cache of the sessions in a server's memory, bounded in bytes."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from incoref.server.livesession import LiveSession


class HeldSessions:
    """Sessions by id. Methods may be called from any thread."""

    def __init__(self, memory: int) -> None:
        """``memory`` is the limit in bytes; at least one session is always kept."""
        self._memory = memory
        self._sessions: OrderedDict[str, LiveSession] = OrderedDict()  # least recently used first
        self._bytes_of: dict[str, int] = {}
        self._bytes = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, id: str) -> LiveSession | None:
        with self._lock:
            return self._sessions.get(id)

    def items(self) -> list[tuple[str, LiveSession]]:
        with self._lock:
            return list(self._sessions.items())

    def hold(self, id: str, live: LiveSession) -> list[tuple[str, LiveSession]]:
        """Add a session, as the most recently used one; returns the sessions evicted to make room."""
        size = live.session.nbytes
        gone = []
        with self._lock:
            self._sessions[id] = live
            self._sessions.move_to_end(id)
            self._bytes += size - self._bytes_of.get(id, 0)
            self._bytes_of[id] = size
            while len(self._sessions) > 1 and self._bytes > self._memory:
                oldest, let_go = self._sessions.popitem(last=False)
                self._bytes -= self._bytes_of.pop(oldest)
                gone.append((oldest, let_go))
        return gone

    def let_go(self, id: str) -> None:
        with self._lock:
            self._sessions.pop(id, None)
            self._bytes -= self._bytes_of.pop(id, 0)

    def let_unused_go(self, before: float) -> list[str]:
        """Drop the sessions last used before this time; returns their ids."""
        old = [id for id, live in self.items() if live.touched < before]
        for id in old:
            self.let_go(id)
        return old
