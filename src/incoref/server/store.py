"""What a server keeps of its sessions: for each an append-only log of commands and answers, with some snapshots.

The values, and the protocol that every store follows. A store knows nothing about coreference: heads, commands,
answers and snapshots are bytes. The caller tells the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from incoref.errors import IncorefError


@dataclass(frozen=True, slots=True)
class Record:
    """One command that was carried out, with the answer that was given."""

    number: int
    """Its place in the session's log, from 1."""
    sequence: int | None
    """The number that the client gave it."""
    command: bytes
    answer: bytes


class NoSession(IncorefError):
    """The store has no session of this id: it never had, or it was deleted or has expired."""


class StoreFailed(IncorefError):
    """The store can't be used: a full disk, a connection that broke."""


class OutOfOrder(IncorefError):
    """A record is not the next one of its log: another process has written meanwhile."""


class Store(Protocol):
    """Where sessions live. Methods that name a session raise ``NoSession`` if it is not there, except where told.

    When a method that writes returns, what it wrote survives the process. Any number of threads may call.
    """

    def create(self, id: str, owner: str, head: bytes, now: float) -> None:
        """A session with an empty log. ``head`` is what must be known to begin it."""

    def head(self, id: str) -> bytes: ...

    def append(self, id: str, record: Record, now: float) -> None:
        """Add a record; raises ``OutOfOrder`` unless it is the next one."""

    def records(self, id: str, after: int = 0, most: int | None = None) -> list[Record]:
        """Records with higher numbers, oldest first; those that were dropped are missing."""

    def with_sequence(self, id: str, sequence: int) -> Record | None: ...

    def put_snapshot(self, id: str, number: int, data: bytes, oldest: int) -> None:
        """Keep the state after a record; snapshots before ``oldest`` are not needed any more."""

    def snapshots(self, id: str) -> list[int]:
        """Their numbers, oldest first."""

    def snapshot(self, id: str, number: int) -> bytes: ...

    def drop(self, id: str, until: int) -> None:
        """Erase the records up to this one and the snapshots before it; numbering goes on."""

    def copy(self, id: str, twin: str, owner: str, now: float) -> None:
        """Another session with the same head, log and snapshots."""

    def delete(self, id: str) -> bool:
        """Whether it was there."""

    def touch(self, id: str, now: float) -> None:
        """The session is in use."""

    def expire(self, before: float) -> int:
        """Delete the sessions that were last used before this time; gives how many."""

    def count(self, owner: str | None = None) -> int:
        """Sessions of an owner, or of all."""

    def share(self, id: str, view: str | None) -> None:
        """Give the session a second id, by which it can be looked at; none takes it away."""

    def view(self, id: str) -> str | None: ...

    def viewed(self, view: str) -> str:
        """The session that has this second id."""

    def check(self) -> None:
        """Raises ``StoreFailed`` if the store can't be reached."""

    def close(self) -> None: ...


def missing(id: str) -> NoSession:
    """The same words from every store. The id is a secret and stays out of them."""
    return NoSession(f"no such session (its id has {len(id)} characters): it was deleted, has expired, or never was")
