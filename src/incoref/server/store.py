"""Storage of a server's sessions: per session, an append-only log of commands and answers, and some snapshots.

Defines the values and the protocol that every store implements. Stores are independent of coreference: heads,
commands, answers and snapshots are bytes. The caller supplies the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from incoref.errors import IncorefError


@dataclass(frozen=True, slots=True)
class Record:
    """An executed command and its answer."""

    number: int
    """Position in the session's log, from 1."""
    sequence: int | None
    """The client's sequence number for the command."""
    command: bytes
    answer: bytes
    effect: bytes = b""
    """What the command changed in the transcript, readable without a model; if it erased the log, the transcript."""


class NoSession(IncorefError):
    """The store has no session with this id: it was deleted, has expired, or never existed."""


class StoreFailed(IncorefError):
    """The store can't be used: for instance, the disk is full or the connection was lost."""

    def __init__(self, message: str, *, may_have_changed: bool = False) -> None:
        super().__init__(message)
        self.may_have_changed = may_have_changed
        """Whether the change may be stored all the same: the store was asked, but its reply was lost."""


class OutOfOrder(IncorefError):
    """A record isn't the next one in its log, as another process has written in the meantime."""


class Store(Protocol):
    """Stores sessions. Methods that take a session's id raise ``NoSession`` if it doesn't exist.

    Whatever a method has written when it returns outlives the process. Methods may be called from any thread.
    """

    def create(self, id: str, owner: str, head: bytes, now: float) -> None:
        """Create a session with an empty log; ``head`` contains what is needed to start it."""

    def head(self, id: str) -> bytes: ...

    def append(self, id: str, record: Record, now: float, state: bytes | None = None) -> None:
        """Append a record; raises ``OutOfOrder`` unless it is the next one.

        With ``state``, the snapshot after the record, the same step erases all earlier records and snapshots.
        """

    def records(self, id: str, after: int = 0, most: int | None = None) -> list[Record]:
        """Return records with numbers above ``after``, oldest first, without erased ones."""

    def last(self, id: str) -> int:
        """Return the number of the latest record; 0 if there is none."""

    def with_sequence(self, id: str, sequence: int) -> Record | None: ...

    def put_snapshot(self, id: str, number: int, data: bytes, oldest: int) -> bool:
        """Store the state after a record, and delete snapshots older than ``oldest``.

        A snapshot from before something was erased, or no newer than another snapshot, is ignored; returns whether it
        was stored.
        """

    def snapshots(self, id: str) -> list[int]:
        """Return the numbers of the snapshots, oldest first."""

    def snapshot(self, id: str, number: int) -> bytes: ...

    def copy(self, id: str, twin: str, owner: str, now: float) -> None:
        """Create another session with the same head, log and snapshots."""

    def delete(self, id: str) -> bool:
        """Delete a session; returns whether it existed."""

    def scrub(self) -> None:
        """Remove deleted and erased data from the store's files; cheap if there is nothing to remove."""

    def touch(self, id: str, now: float) -> None:
        """Record that the session is in use."""

    def expire(self, before: float) -> int:
        """Delete the sessions last used before this time; returns their number."""

    def count(self, owner: str | None = None) -> int:
        """Return the number of sessions of an owner, or of all owners."""

    def share(self, id: str, view: str | None) -> None:
        """Give the session a second id that only allows viewing; ``None`` revokes it."""

    def view(self, id: str) -> str | None: ...

    def viewed(self, view: str) -> str:
        """Return the id of the session with this second id."""

    def check(self) -> None:
        """Raise ``StoreFailed`` unless the store can be read and written."""

    def close(self) -> None: ...


def missing(id: str) -> NoSession:
    """Create the error for a missing session, without its id, which is a secret."""
    return NoSession(f"no such session (its id has {len(id)} characters): deleted, expired, or never created")
