"""A session in a server's memory: loaded exactly from the store, and kept up to date record by record.

Snapshots contain no undo steps, so a session is loaded from a snapshot older than every command that can still be
undone. ``Base`` keeps track of that. If the model has changed, or reads the text differently, the session can still
be viewed, using the decisions recorded in the log (``load_archived``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from incoref.errors import IncorefError
from incoref.options import SessionOptions
from incoref.resolver import Resolver
from incoref.server.commands import Answer, Command, Forget, Undo, encoded
from incoref.server.problems import OTHER_MODEL, Refused
from incoref.server.store import Record, Store
from incoref.session.archive import ArchivedSession
from incoref.session.session import Session

_WAY_OUT = "it can be read and exported; to go on, fork it with replay=true, which reads its text with this model"


@dataclass(frozen=True, slots=True)
class Header:
    """Metadata of a snapshot, besides the session's state."""

    sequence: int | None
    characters: int
    exact: bool
    """Whether nothing before the snapshot can be undone."""
    introduced: int = 0


@dataclass(slots=True)
class Base:
    """A point in the log from which the session can be loaded, with the number of undo steps since then."""

    number: int
    exact: bool
    """Whether all undo steps are known when loading from here."""
    steps: int = 0
    usable: bool = True
    """False once a change before this point was undone."""

    def follow(self, command: Command, most: int) -> None:
        if isinstance(command, Forget):
            self.steps, self.exact = 0, True
        elif isinstance(command, Undo):
            # A flush may or may not add a step and isn't counted, so the number of steps is a lower bound.
            self.usable = self.usable and (self.exact or self.steps > 0)
            self.steps = max(0, self.steps - 1)
        elif command.undoable:
            self.steps = min(most, self.steps + 1)
        self.exact = self.usable and (self.exact or self.steps >= most)


@dataclass(slots=True)
class LiveSession:
    """A session in memory, in the state after record ``number``."""

    session: Session
    number: int = 0
    sequence: int | None = None
    """The highest sequence number used by a client."""
    characters: int = 0
    """Number of characters ever added, names included."""
    introduced: int = 0
    """Number of participants ever introduced."""
    bases: list[Base] = field(default_factory=list)
    """Points from which the session can be loaded (the start or snapshots), oldest first."""
    records_since: int = 0
    """Number of records since the latest snapshot, or since the session was loaded."""
    sentences_since: int = 0
    touched: float = 0

    @property
    def undo(self) -> int:
        return self.session.options.undo

    def follow(self, record: Record, command: Command, after: Session) -> None:
        """Update the state after a command was executed and recorded."""
        self.sentences_since += max(0, after.sentences - self.session.sentences)
        self.session = after
        self.number = record.number
        self.sequence = self.sequence if record.sequence is None else record.sequence
        self.characters += command.size
        self.introduced += command.introduces
        self.records_since += 1
        for base in self.bases:
            if base.number < record.number:
                base.follow(command, self.undo)
        if isinstance(command, Forget):
            self.bases = [Base(record.number, exact=True)]
            self.records_since = self.sentences_since = 0

    def snapshot(self, store: Store, id: str) -> None:
        """Store a snapshot of the state, unless the store has a newer one."""
        exact = self.undo == 0
        oldest = self.number if exact else max(base.number for base in self.bases if base.exact)
        header = Header(self.sequence, self.characters, exact, self.introduced)
        if store.put_snapshot(id, self.number, snapshot_bytes(header, self.session), oldest):
            self.bases = [base for base in self.bases if oldest <= base.number < self.number]
            self.bases.append(Base(self.number, exact))
        self.records_since = self.sentences_since = 0

    def state_after(self, command: Command, sequence: int | None, after: Session) -> bytes:
        """Return the snapshot after a command that erases everything before it."""
        highest = self.sequence if sequence is None else sequence
        header = Header(highest, self.characters + command.size, True, self.introduced + command.introduces)
        return snapshot_bytes(header, after)


@dataclass(slots=True)
class ArchivedView:
    """A read-only session, in the state after record ``number``."""

    session: ArchivedSession
    number: int
    sequence: int | None


Viewed = LiveSession | ArchivedView


def snapshot_bytes(header: Header, session: Session) -> bytes:
    return encoded(asdict(header)) + b"\n" + session.save()


def _snapshot_parts(data: bytes) -> tuple[Header, bytes]:
    header, _, saved = data.partition(b"\n")
    return Header(**json.loads(header)), saved


def head_of(resolver: Resolver, options: dict[str, Any]) -> bytes:
    """Return the stored head of a new session; validates the options."""
    session = resolver.session(**options)
    return encoded({"options": asdict(session.options), "model": resolver.model.fingerprint})


def options_in(head: bytes) -> SessionOptions:
    return SessionOptions(**json.loads(head)["options"])


Restore = Callable[[bytes], Session]


def load(
    resolver: Resolver,
    store: Store,
    id: str,
    between: Callable[[], None] | None = None,
    restore: Restore | None = None,
) -> LiveSession:
    """Load a session in the state after its last record; ``restore`` is ``resolver.restore`` or a wrapper.

    Raises ``Refused`` (``OTHER_MODEL``) if this isn't possible with the current model and package version.
    """
    head = json.loads(store.head(id))
    if head["model"] != resolver.model.fingerprint:
        raise Refused(OTHER_MODEL, f"the session was started with a different model; {_WAY_OUT}")
    restore = restore or resolver.restore
    live, records = _start(resolver, restore, store, id, head["options"])
    try:
        for record in records:
            follow(live, record, Command.decode(record.command), between)
    except Refused as error:
        latest = _latest(restore, store, id)
        if latest is None:
            raise error
        return latest
    live.records_since = sum(record.number > live.bases[-1].number for record in records)
    return live


def load_archived(store: Store, id: str) -> ArchivedView:
    """Load a read-only session from the decisions recorded in the log, without a model.

    Snapshots only save time: the first remaining record of a log includes everything before it.
    """
    view = _archived_snapshot(store, id) or ArchivedView(ArchivedSession(options_in(store.head(id))), 0, None)
    for record in store.records(id, view.number):
        if not record.effect:
            raise Refused(
                OTHER_MODEL,
                "the session was written by a version that did not yet record what other models need to read it: "
                "use the model that it was started with",
            )
        view.session.apply(json.loads(record.effect))
        view.number = record.number
        view.sequence = view.sequence if record.sequence is None else record.sequence
    return view


def _archived_snapshot(store: Store, id: str) -> ArchivedView | None:
    """Return the latest snapshot that this version of the package can read."""
    for number in reversed(store.snapshots(id)):
        header, saved = _snapshot_parts(store.snapshot(id, number))
        with suppress(IncorefError):  # written in a format that is no longer supported
            return ArchivedView(ArchivedSession.from_save(saved), number, header.sequence)
    return None


def follow(live: LiveSession, record: Record, command: Command, between: Callable[[], None] | None = None) -> None:
    """Replay a recorded command; raise ``Refused`` if the decisions differ from the recorded ones."""
    twin = live.session.fork()
    twin.between_steps = between
    answer = command.apply(twin)
    twin.between_steps = None
    if _decisions(answer) != _decisions(json.loads(record.answer)):
        raise Refused(
            OTHER_MODEL, f"reading the session's text again gave different entities than before; {_WAY_OUT}"
        )
    live.follow(record, command, twin)


def _start(
    resolver: Resolver, restore: Restore, store: Store, id: str, options: dict[str, Any]
) -> tuple[LiveSession, Sequence[Record]]:
    """Return the latest usable state for which all undo steps are known, and the records since."""
    numbers = store.snapshots(id)
    records = store.records(id, numbers[0]) if numbers else []
    bases: list[Base] = []
    for number in reversed(numbers):
        header, saved = _snapshot_parts(store.snapshot(id, number))
        base = Base(number, header.exact)
        since = [record for record in records if record.number > number]
        for record in since:
            base.follow(Command.decode(record.command), options["undo"])
        bases.insert(0, base)
        if base.exact:
            try:
                return _live(restore, number, header, saved, _renewed(bases)), since
            except Refused:  # written by another version: replay the whole log, unless its start was erased
                records, bases = store.records(id), []
                if not records or records[0].number > 1:
                    raise
                break
    bases.insert(0, Base(0, exact=True))
    return LiveSession(resolver.session(**options), bases=_renewed(bases)), store.records(id)


def _latest(restore: Restore, store: Store, id: str) -> LiveSession | None:
    """Load the session from a snapshot of its last record, if any; nothing before it can be undone."""
    numbers = store.snapshots(id)
    if not numbers or numbers[-1] != store.last(id):
        return None
    header, saved = _snapshot_parts(store.snapshot(id, numbers[-1]))
    return _live(restore, numbers[-1], header, saved, [Base(numbers[-1], exact=True)])


def _live(restore: Restore, number: int, header: Header, saved: bytes, bases: list[Base]) -> LiveSession:
    try:
        session = restore(saved)
    except IncorefError as error:  # written by another version
        raise Refused(OTHER_MODEL, f"the session's snapshot can't be continued: {error}; {_WAY_OUT}") from error
    return LiveSession(session, number, header.sequence, header.characters, header.introduced, bases)


def _renewed(bases: Sequence[Base]) -> list[Base]:
    """Return fresh bases, to be updated while records are replayed from the first one."""
    return [Base(base.number, exact=place == 0) for place, base in enumerate(bases)]


def _decisions(answer: Answer) -> list[Any]:
    """Return the decisions in an answer, without timings and probabilities, whose last digits may differ."""
    return [
        (
            update["sentence"],
            update["start"],
            update["end"],
            [(m["start"], m["end"], m["entity"]) for m in update["mentions"]],
        )
        for update in answer.get("updates", ())
    ]
