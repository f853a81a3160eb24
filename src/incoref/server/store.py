"""What a server keeps of its sessions: for each, an append-only log of commands and answers, and some snapshots.

Defines the values and the protocol that every store implements. A store is independent of coreference: heads,
commands, answers and snapshots are bytes. The caller supplies the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from incoref.errors import IncorefError


@dataclass(frozen=True, slots=True)
class Record:
    """A command that was executed, and the answer it got."""

    number: int
    """Position in the session's log, from 1."""
    sequence: int | None
    """The client's number for the command."""
    command: bytes
    answer: bytes
    effect: bytes = b""
    """What the command changed in the transcript, readable without a model; if it erased the log, the transcript."""


class NoSession(IncorefError):
    """The store has no session with this id: it was deleted, has expired, or never existed."""


class StoreFailed(IncorefError):
    """The store can't be used: the disk is full, the connection broke."""

    def __init__(self, message: str, *, may_have_changed: bool = False) -> None:
        super().__init__(message)
        self.may_have_changed = may_have_changed
        """Whether the change may be stored all the same: the store was asked, but its reply was lost."""


class OutOfOrder(IncorefError):
    """A record is not the next one in its log: another process has written in the meantime."""


class Store(Protocol):
    """Where sessions live. Methods that take a session's id raise ``NoSession`` if it doesn't exist.

    What a method has written when it returns survives the process. Methods may be called from any thread.
    """

    def create(self, id: str, owner: str, head: bytes, now: float) -> None:
        """Create a session with an empty log. ``head`` is what is needed to start it."""

    def head(self, id: str) -> bytes: ...

    def append(self, id: str, record: Record, now: float, state: bytes | None = None) -> None:
        """Append a record; raises ``OutOfOrder`` unless it is the next one.

        With ``state``, the snapshot after the record, the same step erases all earlier records and snapshots.
        """

    def records(self, id: str, after: int = 0, most: int | None = None) -> list[Record]:
        """Records with higher numbers, oldest first; erased ones are missing."""

    def last(self, id: str) -> int:
        """The number of the latest record; 0 if there is none."""

    def with_sequence(self, id: str, sequence: int) -> Record | None: ...

    def put_snapshot(self, id: str, number: int, data: bytes, oldest: int) -> bool:
        """Store the state after a record, and delete snapshots older than ``oldest``.

        A snapshot from before something was erased, or no newer than another snapshot, is ignored; returns whether it
        was stored.
        """

    def snapshots(self, id: str) -> list[int]:
        """Their numbers, oldest first."""

    def snapshot(self, id: str, number: int) -> bytes: ...

    def copy(self, id: str, twin: str, owner: str, now: float) -> None:
        """Create another session with the same head, log and snapshots."""

    def delete(self, id: str) -> bool:
        """Delete a session; returns whether it existed."""

    def scrub(self) -> None:
        """Remove from the store's files what was deleted or erased; cheap if there is nothing to remove."""

    def touch(self, id: str, now: float) -> None:
        """Note that the session is in use."""

    def expire(self, before: float) -> int:
        """Delete the sessions last used before this time; returns how many."""

    def count(self, owner: str | None = None) -> int:
        """How many sessions an owner has, or all owners together."""

    def share(self, id: str, view: str | None) -> None:
        """Give the session a second id that only allows viewing; ``None`` revokes it."""

    def view(self, id: str) -> str | None: ...

    def viewed(self, view: str) -> str:
        """The session that has this second id."""

    def check(self) -> None:
        """Raises ``StoreFailed`` unless the store can be read and written."""

    def close(self) -> None: ...


def missing(id: str) -> NoSession:
    """The same error from every store. The id is a secret, so the message leaves it out."""
    return NoSession(f"no such session (its id has {len(id)} characters): deleted, expired, or never created")
