"""The sessions of a server: commands run in order, are durable before they are answered, and are bounded.

A plain library without HTTP: methods return futures; refused calls raise ``Refused`` or ``NoSession``. Commands of
one session run strictly one after the other, whichever thread or process they come from; different sessions run in
parallel on one thread pool. Long commands yield to other sessions between sentences, and stop when their future is
cancelled or their time is up.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from incoref.options import UNKNOWN_GENRE
from incoref.resolver import Resolver
from incoref.server.commands import Command, Forget, Read, encoded
from incoref.server.held_sessions import HeldSessions
from incoref.server.keyed_executor import KeyedExecutor, QueueFull
from incoref.server.limits import Limits
from incoref.server.listeners import Listeners
from incoref.server.livesession import LiveSession, Viewed, follow, head_of, load, load_archived
from incoref.server.metrics import Metrics
from incoref.server.problems import (
    BUSY,
    OTHER_MODEL,
    SEQUENCE,
    STOPPING,
    STORE,
    TOO_LARGE,
    TOO_MANY_SESSIONS,
    TOO_SLOW,
    Refused,
)
from incoref.server.session_limits import bounded, check_room, check_sentences
from incoref.server.store import NoSession, OutOfOrder, Record, Store, StoreFailed
from incoref.session.session import Session
from incoref.types import Document

T = TypeVar("T")

_ATTEMPTS = 20
_FAR_BEHIND = 8
"""Up to this many records of another process are replayed; beyond that, loading a snapshot may be faster."""
_FLUSH_RECORDS = 10
"""A session with this many records since its snapshot gets a new one before it leaves memory."""
_LONG = 5_000
"""For each this many sentences of a session, its snapshot interval grows by one step: the cost of a snapshot is
proportional to the session's length."""
_LARGE = 1_000
"""Number of sentences above which a session takes noticeably long to render, save and load."""
_LARGE_SAVE = 500_000
"""Size in bytes of such a session's snapshot."""
_SWEEP_SECONDS = 5.0
_EXPIRE_SECONDS = 60.0
_HEALTHY_SECONDS = 2.0
"""How long a successful check of the store remains valid."""


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
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.resolver, self.store, self.limits = resolver, store, limits or Limits()
        self.metrics = Metrics()
        self._clock = clock or steady_clock()
        self._executor = KeyedExecutor(workers, self.limits.waiting, self.limits.session_waiting, usual_workers)
        self._workers = workers
        self._snapshot_records, self._snapshot_sentences = snapshot_every, 6 * snapshot_every
        self._held = HeldSessions(self.limits.memory)
        self._listeners = Listeners()
        self._streams_lock = Lock()
        self._streams = 0
        self._stopping = Event()
        self._seconds_each = 0.05
        self._healthy_until = 0.0
        self._check_lock = Lock()
        self._large_lock = Lock()
        self._register_gauges()
        self._sweeper = Thread(target=self._sweep, name="incoref-sweeper", daemon=True)
        self._sweeper.start()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def waiting(self) -> int:
        return self._executor.waiting

    def create(self, owner: str, options: Mapping[str, Any] | None = None) -> Future[str]:
        """Create a session; returns its id, 128 random bits."""
        return self._create(owner, bounded(self.limits, options or {}))

    def _create(self, owner: str, options: Mapping[str, Any]) -> Future[str]:
        id = secrets.token_hex(16)

        def created() -> str:
            self._check_room_for(owner)
            self.store.create(id, owner, head_of(self.resolver, dict(options)), self._clock())
            return id

        return self._submit(id, created)

    def perform(self, id: str, command: Command, sequence: int | None = None) -> Future[Record]:
        """Execute a command; the record, with its answer, is in the store when the future is done.

        A sequence number must be higher than those before, or that of an earlier command, which is then not executed
        again.
        """
        if command.size > self.limits.text:
            raise Refused(
                TOO_LARGE,
                f"{command.size} characters in one request; at most {self.limits.text} are allowed: send it in parts",
                limit=self.limits.text,
            )
        return self._submit(id, lambda: self._perform(id, command, sequence))

    def look(self, id: str, function: Callable[[Viewed], T]) -> Future[T]:
        """Apply a function to a session, after all earlier requests for it.

        Works even for sessions that can't be continued.
        """

        def looked() -> T:
            try:
                live = self._current(id)
            except Refused as error:
                if error.kind is not OTHER_MODEL:
                    raise
                with self._beside_others(self.store.last(id) > _LARGE):
                    return function(load_archived(self.store, id))
            with self._beside_others(live.session.sentences > _LARGE):
                return function(live)

        return self._submit(id, looked)

    def fork(self, id: str, owner: str) -> Future[str]:
        """Create a session that starts from the current state of this one; returns its id."""
        twin = secrets.token_hex(16)

        def copied() -> str:
            self._check_room_for(owner)
            self.store.copy(id, twin, owner, self._clock())
            return twin

        return self._submit(id, copied)

    def replay(self, id: str, owner: str) -> Future[str]:
        """Create a session by reading this one's text again with the server's model; returns its id.

        Its entities are new, and corrections are not repeated.
        """
        twin = secrets.token_hex(16)

        def replayed() -> str:
            self._check_room_for(owner)
            archived = load_archived(self.store, id).session
            document, options = archived.document("session"), archived.options
            known = self.resolver.model.config.names
            given = {
                **asdict(options),
                "scheme": options.scheme if options.scheme in known.schemes else None,
                "genre": options.genre if options.genre in known.genres else UNKNOWN_GENRE,
            }
            self.store.create(twin, owner, head_of(self.resolver, given), self._clock())
            try:
                self._perform(twin, Read(_plain_json(document)), None)
            except BaseException as error:
                self.store.delete(twin)
                if isinstance(error, Refused) and error.kind is TOO_SLOW:
                    raise Refused(
                        TOO_SLOW,
                        f"reading the session again takes more than {self.limits.seconds} seconds: have the server's "
                        "limit 'seconds' raised, or export its text and feed that to a new session in parts",
                        limit=self.limits.seconds,
                    ) from error
                raise
            return twin

        return self._submit(id, replayed)

    def delete(self, id: str) -> Future[bool]:
        """Delete a session and all its data."""

        def deleted() -> bool:
            self._held.let_go(id)
            existed = self.store.delete(id)
            self._listeners.tell(id)
            self._scrub("the session is deleted")
            return existed

        return self._submit(id, deleted)

    def share(self, id: str, wanted: bool) -> Future[str | None]:
        """Return a session's second id, for viewing it, which stays the same until it is revoked."""

        def shared() -> str | None:
            view = self.store.view(id)
            if wanted and view is None:
                view = secrets.token_hex(16)
                self.store.share(id, view)
            elif not wanted and view is not None:
                view = None
                self.store.share(id, None)
                self._listeners.tell(id)
            return view

        return self._submit(id, shared)

    def run(self, work: Callable[[Callable[[], None]], T]) -> Future[T]:
        """Run work that belongs to no session; its argument is a function to call between steps."""
        return self._submit(secrets.token_hex(8), lambda: work(self._time_limit()))

    def check(self) -> None:
        """Raise ``StoreFailed`` unless the store can be read and written."""
        with self._check_lock:
            if time.monotonic() >= self._healthy_until:
                self.store.check()
                self._healthy_until = time.monotonic() + _HEALTHY_SECONDS

    def listen(self, id: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback``, from any thread, when a session changes; returns a function that unregisters it."""
        return self._listeners.add(id, callback)

    def check_streams(self) -> None:
        """Raise ``Refused`` unless one more long-lived connection is allowed."""
        if self._streams >= self.limits.streams:
            self.metrics.refusals.labels("streams").inc()
            raise Refused(
                BUSY,
                f"{self.limits.streams} event streams and WebSockets are open, which is the limit",
                retry_after=10,
            )

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """Count a long-lived connection while it is open."""
        self.check_streams()
        with self._streams_lock:
            self._streams += 1
        try:
            yield
        finally:
            with self._streams_lock:
                self._streams -= 1

    def stop_taking(self) -> None:
        """Refuse everything from now on."""
        self._stopping.set()
        self._listeners.tell_all()

    def drained(self, timeout: float | None = None) -> bool:
        """Wait until no task is waiting or running; returns False on timeout."""
        return self._executor.drained(timeout)

    def stop(self, timeout: float = 30) -> bool:
        """Finish accepted requests, store the sessions' states and close the store; returns whether all was done.

        Every changed session gets a snapshot, from which even a later version that would read its text differently
        can continue it.
        """
        self.stop_taking()
        until = time.monotonic() + timeout
        done = self._executor.drained(timeout)
        for id, live in self._held.items():
            if done and live.records_since and time.monotonic() < until:
                with suppress(StoreFailed, NoSession):  # the log is complete without it
                    live.snapshot(self.store, id)
        self._executor.close()
        self._sweeper.join()
        self.store.close()
        return done

    def _submit(self, key: str, work: Callable[[], T], *, must: bool = False) -> Future[T]:
        if self.stopping and not must:
            raise Refused(STOPPING, "the server is stopping; try again at once", retry_after=1)

        def timed() -> T:
            started = time.perf_counter()
            try:
                return work()
            finally:
                self._seconds_each += 0.05 * (time.perf_counter() - started - self._seconds_each)

        try:
            return self._executor.submit(key, timed, bounded=not must)
        except QueueFull as error:
            ahead = error.waiting * self._seconds_each / (1 if error.of_key else self._workers)
            self.metrics.refusals.labels("queue").inc()
            raise Refused(BUSY, str(error), retry_after=max(1, round(ahead))) from error

    def _check_room_for(self, owner: str) -> None:
        for limit, count, whose in (
            (self.limits.sessions, self.store.count(), "the server has"),
            (self.limits.client_sessions, self.store.count(owner), "you have"),
        ):
            if count >= limit:
                self.metrics.refusals.labels("sessions").inc()
                raise Refused(
                    TOO_MANY_SESSIONS,
                    f"{whose} {count} sessions, and {limit} is the limit: delete some",
                    retry_after=60,
                    limit=limit,
                )

    def _perform(self, id: str, command: Command, sequence: int | None) -> Record:
        for _ in range(_ATTEMPTS):
            live = self._current(id)
            if sequence is not None and live.sequence is not None and sequence <= live.sequence:
                return self._repeated(id, command, sequence, live.sequence)
            check_room(self.limits, live, command)
            twin = live.session.fork()
            started = time.perf_counter()
            twin.between_steps = self._time_limit()
            answer = command.apply(twin)
            twin.between_steps = None
            check_sentences(self.limits, command, twin.sentences)
            state, known = None, live.session
            if isinstance(command, Forget):  # it erases the log, so its record must contain everything that is left
                state, known = live.state_after(command, sequence, twin), twin.blank()
            effect = encoded(twin.changes_since(known))
            record = Record(live.number + 1, sequence, command.encode(), encoded(answer), effect)
            self.metrics.command_seconds.observe(time.perf_counter() - started)
            try:
                with self._executor.elsewhere():
                    self._append(id, record, state)
            except OutOfOrder:  # another process was faster: continue from its records
                continue
            before = live.session
            live.follow(record, command, twin)
            self._account(before, twin, answer)
            self._after(id, live)
            if isinstance(command, Forget):
                self._scrub("the entity is forgotten")
            return record
        self.metrics.refusals.labels("contention").inc()
        raise Refused(BUSY, "other servers keep writing to this session", retry_after=1)

    def _append(self, id: str, record: Record, state: bytes | None) -> None:
        try:
            self.store.append(id, record, self._clock(), state)
        except StoreFailed:
            self._healthy_until = 0.0
            raise

    def _after(self, id: str, live: LiveSession) -> None:
        """Do the work due after a command is stored."""
        live.touched = self._clock()
        times = 1 + live.session.sentences // _LONG
        if (
            live.records_since >= times * self._snapshot_records
            or live.sentences_since >= times * self._snapshot_sentences
        ):
            self._submit_snapshot(id, live)
        self._hold(id, live)
        self._listeners.tell(id)

    def _submit_snapshot(self, id: str, live: LiveSession) -> None:
        def put() -> None:
            # The log is complete without it, and readyz reports a failing store.
            with suppress(StoreFailed, NoSession), self._beside_others(live.session.sentences > _LARGE):
                live.snapshot(self.store, id)

        self._submit(id, put, must=True)

    @contextmanager
    def _beside_others(self, large: bool) -> Iterator[None]:
        """Wrap work that can't give way; if large, it takes no worker's place and only one runs at a time."""
        if not large:
            yield
            return
        with self._executor.elsewhere(), self._large_lock:
            yield

    def _scrub(self, done: str) -> None:
        """Remove just-deleted data from the store's files."""
        try:
            with self._executor.elsewhere():
                self.store.scrub()
        except StoreFailed as error:
            raise Refused(
                STORE,
                f"{done}, but the store's files still hold its words; the server keeps trying to remove them, "
                "and so does this request, sent again with its sequence number",
                retry_after=1,
                changed="yes",
            ) from error

    def _time_limit(self) -> Callable[[], None]:
        """Return a function to call between the steps of a request: gives way to others, and raises on timeout."""
        limit = self.limits.seconds
        before = self._executor.give_way()

        def between() -> None:
            if self._executor.give_way() - before > limit:
                self.metrics.refusals.labels("time").inc()
                raise Refused(
                    TOO_SLOW,
                    f"reading this takes more than {limit} seconds; nothing was changed: send it in parts",
                    limit=limit,
                )

        return between

    def _give_way(self) -> None:
        self._executor.give_way()

    def _repeated(self, id: str, command: Command, sequence: int, last: int) -> Record:
        """Return the record of a command that was executed before."""
        record = self.store.with_sequence(id, sequence)
        if record is None:
            raise Refused(
                SEQUENCE,
                f"the answer to {sequence} is no longer stored, and {last} has followed: continue after it",
                last=last,
            )
        if record.command != command.encode():
            raise Refused(SEQUENCE, f"{sequence} was a different request: continue after {last}", last=last)
        if isinstance(command, Forget):
            self._scrub("the entity is forgotten")
        return record

    def _current(self, id: str) -> LiveSession:
        """Return the session in the store's current state; only called by tasks with the session's key."""
        live = self._held.get(id)
        try:
            if live is None:
                live = self._load(id)
            else:
                missed = self.store.records(id, live.number, _FAR_BEHIND + 1)
                gap = any(record.number > live.number + 1 for record in missed[:1])
                commands = [Command.decode(record.command) for record in missed]
                if len(missed) > _FAR_BEHIND or gap or any(isinstance(command, Forget) for command in commands):
                    live = self._load(id)
                else:
                    for record, command in zip(missed, commands, strict=True):
                        follow(live, record, command, self._give_way)
        except (NoSession, Refused):
            self._held.let_go(id)
            raise
        self._touch(id, live)
        self._hold(id, live)
        return live

    def _load(self, id: str) -> LiveSession:
        self.metrics.loads.inc()
        return load(self.resolver, self.store, id, self._give_way, self._restored)

    def _restored(self, saved: bytes) -> Session:
        with self._beside_others(len(saved) > _LARGE_SAVE):
            return self.resolver.restore(saved)

    def _touch(self, id: str, live: LiveSession) -> None:
        """Record from time to time that a session is in use; ignore failures, so that reading still works."""
        now = self._clock()
        if abs(now - live.touched) > self.limits.idle / 20:
            with suppress(StoreFailed):
                self.store.touch(id, now)
                live.touched = now

    def _hold(self, id: str, live: LiveSession) -> None:
        """Keep a session in memory, evicting the least recently used ones if necessary."""
        for oldest, let_go in self._held.hold(id, live):
            self.metrics.evictions.labels("session from memory").inc()
            if let_go.records_since >= _FLUSH_RECORDS:
                self._submit_snapshot(oldest, let_go)

    def _sweep(self) -> None:
        """From time to time, delete expired sessions and scrub deleted data."""
        pause = min(_SWEEP_SECONDS, self.limits.idle / 4)
        expiring = 0.0
        while not self._stopping.wait(pause):
            try:
                if time.monotonic() >= expiring:
                    expiring = time.monotonic() + min(_EXPIRE_SECONDS, self.limits.idle / 4)
                    self.expire()
                self.store.scrub()
            except StoreFailed:  # retried next time; requests for a session report the failure
                self.metrics.refusals.labels("store").inc()

    def expire(self) -> int:
        """Delete the sessions that have been unused for too long; returns their number."""
        before = self._clock() - self.limits.idle
        count = self.store.expire(before)
        self._listeners.tell(*self._held.let_unused_go(before))
        self.metrics.evictions.labels("idle session").inc(count)
        return count

    def _account(self, before: Session, after: Session, answer: Mapping[str, Any]) -> None:
        updates = answer.get("updates", ())
        self.metrics.sentences.inc(len(updates))
        self.metrics.tokens.inc(max(0, after.tokens - before.tokens))
        self.metrics.evictions.labels("entity").inc(sum(len(update.get("evicted", ())) for update in updates))

    def _register_gauges(self) -> None:
        gauge = self.metrics.gauge
        gauge("incoref_sessions", "Sessions in the store.", lambda: self.store.count())
        gauge("incoref_sessions_in_memory", "Sessions in memory.", lambda: len(self._held))
        gauge("incoref_streams", "Open event streams and WebSockets.", lambda: self._streams)
        gauge("incoref_waiting", "Requests waiting for a worker.", lambda: self._executor.waiting)


def steady_clock() -> Callable[[], float]:
    """Return a time-of-day clock that ignores later changes of the system clock, which might expire sessions."""
    begun = time.time() - time.monotonic()
    return lambda: begun + time.monotonic()


def _plain_json(document: Document) -> dict[str, Any]:
    """Return a document as JSON without its entities."""
    return {**replace(document, entities=()).to_json()}
