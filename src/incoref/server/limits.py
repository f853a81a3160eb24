"""How much a server takes on: bounds on requests, sessions, queues and time, all of them configurable."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields

from incoref.errors import IncorefError


def _half_of_memory() -> int:
    """Half of what this machine has; where that is not known, enough for some hundred sessions."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    body: int = 1_000_000
    """Bytes in the body of a request."""
    text: int = 200_000
    """Characters in a request."""
    session_text: int = 5_000_000
    """Characters in a session."""
    session_sentences: int = 100_000
    """Sentences in a session."""
    sessions: int = 10_000
    """Sessions in the store."""
    client_sessions: int = 1_000
    """Sessions that one client has begun."""
    waiting: int = 1_000
    """Requests that wait for a worker."""
    session_waiting: int = 64
    """Requests that wait for their turn in one session."""
    streams: int = 1_000
    """Events and WebSockets that are open."""
    idle: float = 86_400
    """Seconds after which a session that nobody uses is deleted."""
    memory: int = field(default_factory=_half_of_memory)
    """Bytes for sessions that are held ready; others are read from the store when they are used."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            if getattr(self, limit.name) <= 0:
                raise IncorefError(f"the limit {limit.name} is {getattr(self, limit.name)}; it must be more than 0")
