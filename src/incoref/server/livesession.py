"""A session in a server's memory: loaded from the store, exactly, and kept up to date record by record.

A snapshot holds no undo steps, so a session is loaded from a snapshot that is old enough: every command that can
still be undone must come after it. ``Base`` keeps track of that. If the model has changed, or reads the text
differently, the session can still be read from what the log says was decided (``load_archived``).
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
    """What a snapshot says besides the session's state."""

    sequence: int | None
    characters: int
    exact: bool
    """Whether nothing before it can be undone."""
    introduced: int = 0


@dataclass(slots=True)
class Base:
    """A state in the log from which the session could be loaded, and the undo steps known from there on."""

    number: int
    exact: bool
    """Whether all undo steps are known."""
    steps: int = 0
    usable: bool = True
    """False once something was undone that came before this state."""

    def follow(self, command: Command, most: int) -> None:
        if isinstance(command, Forget):
            self.steps, self.exact = 0, True
        elif isinstance(command, Undo):
            # A flush may or may not leave a step: it is not counted, so this may be too few.
            self.usable = self.usable and (self.exact or self.steps > 0)
            self.steps = max(0, self.steps - 1)
        elif command.undoable:
            self.steps = min(most, self.steps + 1)
        self.exact = self.usable and (self.exact or self.steps >= most)


@dataclass(slots=True)
class LiveSession:
    """A session in memory, in the state after the record with this number."""

    session: Session
    number: int = 0
    sequence: int | None = None
    """The highest that a client has used."""
    characters: int = 0
    """All that was ever said or named."""
    introduced: int = 0
    """Participants that were ever introduced."""
    bases: list[Base] = field(default_factory=list)
    """Where the session could be loaded from: the start, or snapshots, oldest first."""
    records_since: int = 0
    """Records since the last of these, or since the session was loaded."""
    sentences_since: int = 0
    touched: float = 0

    @property
    def undo(self) -> int:
        return self.session.options.undo

    def follow(self, record: Record, command: Command, after: Session) -> None:
        """A command was executed and recorded."""
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
        """Put the state into the store, unless the store has a newer one."""
        exact = self.undo == 0
        oldest = self.number if exact else max(base.number for base in self.bases if base.exact)
        header = Header(self.sequence, self.characters, exact, self.introduced)
        if store.put_snapshot(id, self.number, snapshot_bytes(header, self.session), oldest):
            self.bases = [base for base in self.bases if oldest <= base.number < self.number]
            self.bases.append(Base(self.number, exact))
        self.records_since = self.sentences_since = 0

    def state_after(self, command: Command, sequence: int | None, after: Session) -> bytes:
        """The snapshot after a command that erases everything before it."""
        highest = self.sequence if sequence is None else sequence
        header = Header(highest, self.characters + command.size, True, self.introduced + command.introduces)
        return snapshot_bytes(header, after)


@dataclass(slots=True)
class ArchivedView:
    """A session that can only be read, in the state after the record with this number."""

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
    """What is stored of a session before anything is said; validates the options."""
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
    """A session as it was when its last record was written; ``restore`` is ``resolver.restore`` or calls it.

    Raises ``Refused`` (``OTHER_MODEL``) if that is not possible with this model and this version of the package.
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
    """A session from what the log says was decided, without a model.

    Snapshots only save time: the first record that is left of a log has all that came before it.
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
    """The latest snapshot that this version of the package can read."""
    for number in reversed(store.snapshots(id)):
        header, saved = _snapshot_parts(store.snapshot(id, number))
        with suppress(IncorefError):  # in a format that is gone
            return ArchivedView(ArchivedSession.from_save(saved), number, header.sequence)
    return None


def follow(live: LiveSession, record: Record, command: Command, between: Callable[[], None] | None = None) -> None:
    """Execute a recorded command again; if the answer differs, so does the session."""
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
    """The latest usable state from which all undo steps are known, and the records since."""
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
            except Refused:  # written by another version; what it read can be read again, unless it is erased
                records, bases = store.records(id), []
                if not records or records[0].number > 1:
                    raise
                break
    bases.insert(0, Base(0, exact=True))
    return LiveSession(resolver.session(**options), bases=_renewed(bases)), store.records(id)


def _latest(restore: Restore, store: Store, id: str) -> LiveSession | None:
    """The session from a snapshot after its last record, if there is one; nothing before it can be undone."""
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
    """As they are before anything is followed from the first of them."""
    return [Base(base.number, exact=place == 0) for place, base in enumerate(bases)]


def _decisions(answer: Answer) -> list[Any]:
    """What an answer says of the text; not the time it took, nor probabilities, whose last digits may differ."""
    return [
        (
            update["sentence"],
            update["start"],
            update["end"],
            [(m["start"], m["end"], m["entity"]) for m in update["mentions"]],
        )
        for update in answer.get("updates", ())
    ]
