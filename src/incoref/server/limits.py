"""Configurable limits of a server: on requests, sessions, queues and time."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields

from incoref.errors import IncorefError


def _half_of_memory() -> int:
    """Return half of this machine's memory or, if unknown, enough for some hundred sessions."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 2_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    body: int = 1_000_000
    """Bytes in the body of a request."""
    headers: int = 65_536
    """Bytes in the headers of a request."""
    header_seconds: float = 10
    """Seconds for the headers of a request to arrive."""
    connections: int = 4_000
    """Open connections."""
    text: int = 200_000
    """Characters in a request."""
    seconds: float = 60
    """Seconds of processing for a request."""
    session_text: int = 5_000_000
    """Characters in a session, names included."""
    session_sentences: int = 100_000
    """Sentences in a session."""
    session_changes: int = 1_000_000
    """Changes to a session, of any kind."""
    participants: int = 500
    """Participants introduced in a session."""
    entities: int = 2_000
    """Entities that a session remembers (``max_entities``)."""
    sessions: int = 10_000
    """Sessions in the store."""
    client_sessions: int = 1_000
    """Sessions created by one client."""
    waiting: int = 1_000
    """Requests waiting for a worker."""
    session_waiting: int = 64
    """Requests waiting for their turn in one session."""
    streams: int = 1_000
    """Open event streams and WebSockets."""
    idle: float = 86_400
    """Seconds after which an unused session is deleted."""
    memory: int = field(default_factory=_half_of_memory)
    """Bytes for sessions in memory; others are loaded from the store when they are used."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            if getattr(self, limit.name) <= 0:
                raise IncorefError(f"the limit {limit.name} is {getattr(self, limit.name)}; it must be more than 0")
