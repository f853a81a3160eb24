"""A session as a server holds it: brought back from the store, exactly, and followed record by record.

A snapshot holds no steps to undo, so a session is brought back from one that is old enough: those commands that
could be undone must come after it. ``Base`` keeps account of that. Knows nothing of who asks and in which order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from incoref.resolver import Resolver
from incoref.server.commands import Answer, Command, Forget, Undo, encoded
from incoref.server.problems import OTHER_MODEL, Refused
from incoref.server.store import Record, Store
from incoref.session.session import Session


@dataclass(slots=True)
class Base:
    """A state in the log, and what a session that starts there knows of the steps that can be undone."""

    number: int
    exact: bool
    """Whether it knows all of them."""
    steps: int = 0
    usable: bool = True
    """False once something was undone that came before it."""

    def follow(self, command: Command, most: int) -> None:
        if isinstance(command, Forget):
            self.steps, self.exact = 0, True
        elif isinstance(command, Undo):
            # Of a flush it is not known whether it left a step: it is not counted, so that this may be too few.
            self.usable = self.usable and (self.exact or self.steps > 0)
            self.steps = max(0, self.steps - 1)
        elif command.undoable:
            self.steps = min(most, self.steps + 1)
        self.exact = self.usable and (self.exact or self.steps >= most)


@dataclass(slots=True)
class LiveSession:
    """A session in memory, as it is after the record of this number."""

    session: Session
    number: int = 0
    sequence: int | None = None
    """The highest that a client gave."""
    characters: int = 0
    """All that was ever said."""
    bases: list[Base] = field(default_factory=list)
    """Where the session could be brought back from: the start, or snapshots, oldest first."""
    records_since: int = 0
    """Records since the last of these, or since the session was brought back."""
    sentences_since: int = 0
    touched: float = 0

    @property
    def undo(self) -> int:
        return self.session.options.undo

    def follow(self, record: Record, command: Command, after: Session) -> None:
        """A command was carried out and recorded."""
        self.sentences_since += max(0, after.sentences - self.session.sentences)
        self.session = after
        self.number = record.number
        self.sequence = self.sequence if record.sequence is None else record.sequence
        self.characters += command.size
        self.records_since += 1
        for base in self.bases:
            if base.number < record.number:
                base.follow(command, self.undo)

    def snapshot(self, store: Store, id: str) -> None:
        """Put the state into the store."""
        self._put(store, id, exact=self.undo == 0)

    def purge(self, store: Store, id: str) -> None:
        """After an entity was forgotten: put the state into the store and erase what came before."""
        self._put(store, id, exact=True)
        store.drop(id, self.number - 1)

    def _put(self, store: Store, id: str, *, exact: bool) -> None:
        oldest = self.number if exact else max(base.number for base in self.bases if base.exact)
        told = {"sequence": self.sequence, "characters": self.characters, "exact": exact}
        store.put_snapshot(id, self.number, encoded(told) + b"\n" + self.session.save(), oldest)
        self.bases = [base for base in self.bases if oldest <= base.number < self.number]
        self.bases.append(Base(self.number, exact))
        self.records_since = self.sentences_since = 0


def head_of(resolver: Resolver, options: dict[str, Any]) -> bytes:
    """What is kept of a session before anything is said; checks the options."""
    session = resolver.session(**options)
    return encoded({"options": asdict(session.options), "model": resolver.model.fingerprint})


def brought_back(resolver: Resolver, store: Store, id: str) -> LiveSession:
    """A session as it was when its last record was written."""
    head = json.loads(store.head(id))
    if head["model"] != resolver.model.fingerprint:
        raise Refused(OTHER_MODEL, "the session was begun with another model than the one that the server has now")
    live, records = _start(resolver, store, id, head["options"])
    forgotten = False
    for record in records:
        command = Command.decode(record.command)
        follow(live, record, command)
        forgotten = forgotten or isinstance(command, Forget)
    live.records_since = sum(record.number > live.bases[-1].number for record in records)
    if forgotten:  # the process ended before it could erase
        live.purge(store, id)
    return live


def follow(live: LiveSession, record: Record, command: Command) -> None:
    """Carry out again what was recorded; if the answer is another one, so is the session."""
    twin = live.session.fork()
    answer = command.apply(twin)
    if _decisions(answer) != _decisions(json.loads(record.answer)):
        raise Refused(
            OTHER_MODEL, "the session can't be brought back: reading its text again gave other entities than before"
        )
    live.follow(record, command, twin)


def _start(
    resolver: Resolver, store: Store, id: str, options: dict[str, Any]
) -> tuple[LiveSession, Sequence[Record]]:
    """The latest state from which all that can be undone is known, and the records since."""
    numbers = store.snapshots(id)
    records = store.records(id, numbers[0]) if numbers else []
    bases: list[Base] = []
    for number in reversed(numbers):
        told, _, data = store.snapshot(id, number).partition(b"\n")
        header = json.loads(told)
        base = Base(number, header["exact"])
        since = [record for record in records if record.number > number]
        for record in since:
            base.follow(Command.decode(record.command), options["undo"])
        bases.insert(0, base)
        if base.exact:
            session = resolver.restore(data)
            return LiveSession(session, number, header["sequence"], header["characters"], _renewed(bases)), since
    bases.insert(0, Base(0, exact=True))
    return LiveSession(resolver.session(**options), bases=_renewed(bases)), store.records(id)


def _renewed(bases: Sequence[Base]) -> list[Base]:
    """Before anything is followed from the first of them."""
    return [Base(base.number, exact=place == 0) for place, base in enumerate(bases)]


def _decisions(answer: Answer) -> list[Any]:
    """What an answer says of the text; not how long it took, nor probabilities, whose last digits may differ."""
    return [
        (
            update["sentence"],
            update["start"],
            update["end"],
            [(m["start"], m["end"], m["entity"]) for m in update["mentions"]],
        )
        for update in answer.get("updates", ())
    ]
