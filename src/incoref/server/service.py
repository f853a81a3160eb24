"""The sessions of a server: carried out in order, durable before they are answered, bounded in number, size and time.

A plain library without HTTP: methods give futures, refusals are ``Refused`` or ``NoSession``. Commands of one session
come strictly one after the other, whichever thread or process they come from; different sessions go on in parallel on
one pool of threads.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from incoref.resolver import Resolver
from incoref.server.commands import Command, Forget, encoded
from incoref.server.keyed_executor import Lanes, QueueFull
from incoref.server.limits import Limits
from incoref.server.livesession import LiveSession, brought_back, follow, head_of
from incoref.server.metrics import Metrics
from incoref.server.problems import BUSY, FULL, SEQUENCE, STOPPING, TOO_LARGE, TOO_MANY_SESSIONS, Refused
from incoref.server.store import NoSession, OutOfOrder, Record, Store, StoreFailed
from incoref.session.session import Session

T = TypeVar("T")

_ATTEMPTS = 20
_FAR_BEHIND = 8
"""So many records of another process are carried out again; from there on, a snapshot may be quicker."""
_FLUSH_RECORDS = 10
"""A session with so many records since its snapshot gets another one before it leaves memory."""


class SessionService:
    def __init__(
        self,
        resolver: Resolver,
        store: Store,
        limits: Limits | None = None,
        *,
        workers: int = 1,
        usual_workers: int | None = None,
        snapshot_every: int = 50,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.resolver, self.store, self.limits = resolver, store, limits or Limits()
        self.metrics = metrics or Metrics()
        self._clock = clock
        self._lanes = Lanes(workers, self.limits.waiting, self.limits.session_waiting, usual_workers)
        self._workers = workers
        self._snapshot_records, self._snapshot_sentences = snapshot_every, 6 * snapshot_every
        self._held: OrderedDict[str, LiveSession] = OrderedDict()  # the one used longest ago first
        self._held_bytes: dict[str, int] = {}
        self._bytes = 0
        self._lock = Lock()
        self._listeners: dict[str, set[Callable[[], None]]] = {}
        self._streams = 0
        self._stopping = Event()
        self._seconds_each = 0.05
        self._register_metrics()
        self._sweeper = Thread(target=self._sweep, name="incoref-sweeper", daemon=True)
        self._sweeper.start()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def waiting(self) -> int:
        return self._lanes.waiting

    def create(self, owner: str, options: Mapping[str, Any] | None = None) -> Future[str]:
        """A new session; gives its id, 128 random bits."""
        id = secrets.token_hex(16)

        def made() -> str:
            self._check_room_for(owner)
            self.store.create(id, owner, head_of(self.resolver, dict(options or {})), self._clock())
            return id

        return self._submit(id, made)

    def perform(self, id: str, command: Command, sequence: int | None = None) -> Future[Record]:
        """Carry out a command; the record, with its answer, is in the store when the future is done.

        With a sequence number: higher than those before, or that of a command which is then not carried out again.
        """
        if command.size > self.limits.text:
            raise Refused(
                TOO_LARGE,
                f"{command.size} characters in one request; at most {self.limits.text} are taken: send them in parts",
                limit=self.limits.text,
            )
        return self._submit(id, lambda: self._perform(id, command, sequence))

    def look(self, id: str, function: Callable[[LiveSession], T]) -> Future[T]:
        """What a function says of a session after all that was asked of it before."""
        return self._submit(id, lambda: function(self._current(id)))

    def fork(self, id: str, owner: str) -> Future[str]:
        """A session that starts from where this one is; gives its id."""
        twin = secrets.token_hex(16)

        def copied() -> str:
            self._check_room_for(owner)
            self.store.copy(id, twin, owner, self._clock())
            return twin

        return self._submit(id, copied)

    def delete(self, id: str) -> Future[bool]:
        """Remove a session with all that is known of it."""

        def deleted() -> bool:
            self._let_go(id)
            found = self.store.delete(id)
            self._tell(id)
            return found

        return self._submit(id, deleted)

    def share(self, id: str, wanted: bool) -> Future[str | None]:
        """The second id of a session, by which it can be looked at; it stays the same until it is taken away."""

        def shared() -> str | None:
            view = self.store.view(id)
            if wanted and view is None:
                view = secrets.token_hex(16)
                self.store.share(id, view)
            elif not wanted and view is not None:
                view = None
                self.store.share(id, None)
            return view

        return self._submit(id, shared)

    def run(self, work: Callable[[], T]) -> Future[T]:
        """Something that belongs to no session, in its turn on the pool."""
        return self._submit(secrets.token_hex(8), work)

    def listen(self, id: str, heard: Callable[[], None]) -> Callable[[], None]:
        """Call something, from any thread, when a session has a new record; gives what ends this."""
        with self._lock:
            self._listeners.setdefault(id, set()).add(heard)

        def end() -> None:
            with self._lock:
                others = self._listeners.get(id, set())
                others.discard(heard)
                if not others:
                    self._listeners.pop(id, None)

        return end

    def check_streams(self) -> None:
        """Raises a refusal unless there is room for one more connection that stays open."""
        if self._streams >= self.limits.streams:
            self._refusals.add(reason="streams")
            raise Refused(BUSY, f"{self.limits.streams} connections are open, which is the limit", retry_after=10)

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """A connection that stays open, as long as there is room for it."""
        self.check_streams()
        with self._lock:
            self._streams += 1
        try:
            yield
        finally:
            with self._lock:
                self._streams -= 1

    def stop_taking(self) -> None:
        """From now on, everything new is refused."""
        self._stopping.set()
        with self._lock:
            followed = list(self._listeners)
        self._tell(*followed)

    def drained(self, timeout: float | None = None) -> bool:
        """Wait until nothing waits or runs; whether that happened in time."""
        return self._lanes.drained(timeout)

    def stop(self, timeout: float = 30) -> bool:
        """End what has been taken, put states into the store and close it; whether all was done in time."""
        self.stop_taking()
        until = time.monotonic() + timeout
        done = self._lanes.drained(timeout)
        for id, live in list(self._held.items()):
            if done and live.records_since >= _FLUSH_RECORDS and time.monotonic() < until:
                live.snapshot(self.store, id)
        self._lanes.close()
        self._sweeper.join()
        self.store.close()
        return done

    def _submit(self, lane: str, work: Callable[[], T], *, must: bool = False) -> Future[T]:
        if self.stopping and not must:
            raise Refused(STOPPING, "the server is being stopped; try again at once", retry_after=1)

        def timed() -> T:
            started = time.perf_counter()
            try:
                return work()
            finally:
                self._seconds_each += 0.05 * (time.perf_counter() - started - self._seconds_each)

        try:
            return self._lanes.submit(lane, timed, bounded=not must)
        except QueueFull as error:
            ahead = error.waiting * self._seconds_each / (1 if error.of_lane else self._workers)
            self._refusals.add(reason="queue")
            raise Refused(BUSY, str(error), retry_after=max(1, round(ahead))) from error

    def _check_room_for(self, owner: str) -> None:
        for limit, found, whose in (
            (self.limits.sessions, self.store.count(), "the server has"),
            (self.limits.client_sessions, self.store.count(owner), "you have"),
        ):
            if found >= limit:
                self._refusals.add(reason="sessions")
                raise Refused(
                    TOO_MANY_SESSIONS,
                    f"{whose} {found} sessions, and {limit} is the limit: delete some",
                    retry_after=60,
                    limit=limit,
                )

    def _perform(self, id: str, command: Command, sequence: int | None) -> Record:
        for _ in range(_ATTEMPTS):
            live = self._current(id)
            if sequence is not None and live.sequence is not None and sequence <= live.sequence:
                return self._repeated(id, command, sequence, live.sequence)
            self._check_room_in(live, command)
            twin = live.session.fork()
            started = time.perf_counter()
            answer = command.apply(twin)
            self._check_sentences(command, twin.sentences)
            record = Record(live.number + 1, sequence, command.encode(), encoded(answer))
            self._reading.add(time.perf_counter() - started)
            try:
                with self._lanes.elsewhere():
                    self.store.append(id, record, self._clock())
            except OutOfOrder:  # another process was quicker: go on from what it did
                continue
            before = live.session
            live.follow(record, command, twin)
            self._account(before, twin, answer)
            self._after(id, live, command)
            return record
        self._refusals.add(reason="contention")
        raise Refused(BUSY, "other servers are writing to this session all the time", retry_after=1)

    def _after(self, id: str, live: LiveSession, command: Command) -> None:
        """What follows when a command is in the store."""
        live.touched = self._clock()
        if isinstance(command, Forget):
            live.purge(self.store, id)
        elif live.records_since >= self._snapshot_records or live.sentences_since >= self._snapshot_sentences:
            self._submit(id, partial(live.snapshot, self.store, id), must=True)
        self._hold(id, live)
        self._tell(id)

    def _repeated(self, id: str, command: Command, sequence: int, last: int) -> Record:
        """The record of a command that has been carried out."""
        record = self.store.with_sequence(id, sequence)
        if record is None:
            raise Refused(
                SEQUENCE, f"no answer to {sequence} is kept, and {last} has come since: go on after it", last=last
            )
        if record.command != command.encode():
            raise Refused(SEQUENCE, f"{sequence} was something else: go on after {last}, the last number", last=last)
        return record

    def _check_room_in(self, live: LiveSession, command: Command) -> None:
        """Before it is read: a session that is full takes no more text."""
        if command.size and live.characters + command.size > self.limits.session_text:
            raise _full("characters", self.limits.session_text)
        self._check_sentences(command, live.session.sentences + 1)

    def _check_sentences(self, command: Command, sentences: int) -> None:
        if command.size and sentences > self.limits.session_sentences:
            raise _full("sentences", self.limits.session_sentences)

    def _current(self, id: str) -> LiveSession:
        """The session as the store has it now. Only called in the session's lane."""
        with self._lock:
            live = self._held.get(id)
        try:
            if live is None:
                live = brought_back(self.resolver, self.store, id)
                self._loads.add()
            else:
                missed = self.store.records(id, live.number)
                if len(missed) > _FAR_BEHIND or any(record.number > live.number + 1 for record in missed[:1]):
                    live = brought_back(self.resolver, self.store, id)
                else:
                    for record in missed:
                        follow(live, record, Command.decode(record.command))
        except NoSession:
            self._let_go(id)
            raise
        now = self._clock()
        if now - live.touched > self.limits.idle / 20:
            self.store.touch(id, now)
            live.touched = now
        self._hold(id, live)
        return live

    def _hold(self, id: str, live: LiveSession) -> None:
        """Keep a session ready; those used longest ago are let go when there is too little memory for all."""
        gone = []
        size = live.session.nbytes
        with self._lock:
            self._held[id] = live
            self._held.move_to_end(id)
            self._bytes += size - self._held_bytes.get(id, 0)
            self._held_bytes[id] = size
            while len(self._held) > 1 and self._bytes > self.limits.memory:
                oldest, let_go = self._held.popitem(last=False)
                self._bytes -= self._held_bytes.pop(oldest)
                gone.append((oldest, let_go))
        for oldest, let_go in gone:
            self._evictions.add(what="session from memory")
            if let_go.records_since >= _FLUSH_RECORDS:
                self._submit(oldest, partial(let_go.snapshot, self.store, oldest), must=True)

    def _let_go(self, id: str) -> None:
        with self._lock:
            self._held.pop(id, None)
            self._bytes -= self._held_bytes.pop(id, 0)

    def _sweep(self) -> None:
        """Delete sessions that nobody has used for long, now and then."""
        while not self._stopping.wait(min(60.0, self.limits.idle / 4)):
            try:
                self.expire()
            except StoreFailed:  # it may be back next time; whoever asks for a session is told
                self._refusals.add(reason="store")

    def expire(self) -> int:
        """Delete the sessions that nobody has used for long; gives how many."""
        before = self._clock() - self.limits.idle
        gone = self.store.expire(before)
        with self._lock:
            old = [id for id, live in self._held.items() if live.touched < before]
        for id in old:
            self._let_go(id)
        self._tell(*old)
        self._evictions.add(gone, what="idle session")
        return gone

    def _tell(self, *ids: str) -> None:
        """Sessions have changed."""
        with self._lock:
            listeners = [heard for id in ids for heard in self._listeners.get(id, ())]
        for heard in listeners:
            heard()

    def _account(self, before: Session, after: Session, answer: Mapping[str, Any]) -> None:
        updates = answer.get("updates", ())
        self._sentences.add(len(updates))
        self._tokens.add(max(0, after.tokens - before.tokens))
        self._evictions.add(sum(len(update.get("evicted", ())) for update in updates), what="entity")

    def _register_metrics(self) -> None:
        metrics = self.metrics
        self._sentences = metrics.counter("incoref_sentences_total", "Sentences that were read.")
        self._tokens = metrics.counter("incoref_tokens_total", "Words that were read.")
        self._evictions = metrics.counter(
            "incoref_evictions_total", "Entities forgotten by sessions, sessions let go from memory or expired."
        )
        self._loads = metrics.counter("incoref_session_loads_total", "Sessions brought back from the store.")
        self._refusals = metrics.counter("incoref_refusals_total", "Requests refused because there was no room.")
        self._reading = metrics.histogram(
            "incoref_command_seconds", "What carrying out a command took, without waiting."
        )
        metrics.gauge("incoref_sessions", "Sessions in the store.", lambda: self.store.count())
        metrics.gauge("incoref_sessions_in_memory", "Sessions held ready.", lambda: len(self._held))
        metrics.gauge("incoref_streams", "Events and WebSockets that are open.", lambda: self._streams)
        metrics.gauge("incoref_waiting", "Requests that wait for a worker.", lambda: self._lanes.waiting)


def _full(what: str, limit: int) -> Refused:
    return Refused(FULL, f"a session takes at most {limit} {what}: begin a new one", limit=limit)
