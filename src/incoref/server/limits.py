"""How much a server takes on: bounds on requests, sessions, queues and time, all of them configurable."""

from __future__ import annotations

from dataclasses import dataclass, fields

from incoref.errors import IncorefError


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
    idle: float = 86_400
    """Seconds after which a session that nobody uses is deleted."""
    memory: int = 2_000_000_000
    """Bytes for sessions that are held ready; others are read from the store when they are used."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) <= 0:
                raise IncorefError(f"the limit {field.name} is {getattr(self, field.name)}; it must be more than 0")
