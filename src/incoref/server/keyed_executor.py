"""A thread pool with keys: tasks with the same key run one after the other, in order; other keys run in parallel.

Keys take turns, so a long queue for one key doesn't hold up the others, and queues are bounded. While few tasks
wait, only the usual number runs at once, so each finishes soonest; when many wait, more run at once for what they
can share. A task that waits for a disk or a network lets another one run in the meantime, and a long task calls
``give_way`` between its steps, so that others get their turn. Knows nothing of the work itself.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition, Event, local
from typing import Any, Generic, TypeVar

from incoref.errors import IncorefError

T = TypeVar("T")

SLICE_SECONDS = 0.1
"""How long a task runs before it lets others go first."""
_MOST_PAUSED = 256
"""Tasks that may be paused at once; each holds a thread."""
_PAUSED_TURN = 4
"""Every this many turns, a paused task goes on, even if new tasks are waiting."""


class QueueFull(IncorefError):
    """Too many tasks are waiting; ``of_key`` says whether for this key or overall."""

    def __init__(self, waiting: int, of_key: bool) -> None:
        super().__init__(f"{waiting} requests are waiting{' for this session' if of_key else ''}; try again later")
        self.waiting, self.of_key = waiting, of_key


class Abandoned(IncorefError):
    """Nobody waits for the task's result any more, so it stopped halfway."""


class Task(Future[T], Generic[T]):
    """The result of a task. Cancelling it also stops it while it runs, where it next gives way."""

    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__()
        self.work = work
        self.abandoned = False
        self.worked = 0.0
        """Seconds it has run, up to its last pause."""
        self.resumed = 0.0
        self.turn = Event()

    def cancel(self) -> bool:
        self.abandoned = True
        return super().cancel()


class KeyedExecutor:
    def __init__(self, workers: int, most: int, most_of_key: int, usual: int | None = None) -> None:
        """Run at most ``workers`` tasks at once, but only ``usual`` while there are fewer tasks than workers."""
        # Half of the workers' threads are for tasks that wait elsewhere. Threads are started when they are needed.
        self._pool = ThreadPoolExecutor(2 * workers + _MOST_PAUSED, "incoref")
        self._workers, self._usual = workers, min(workers, usual or workers)
        self._most, self._most_of_key = most, most_of_key
        self._ready: deque[str] = deque()  # keys whose next task can start, in order
        self._paused: deque[Task[Any]] = deque()
        self._turns = 0
        self._running = 0
        self._closed = False
        self._queues: dict[str, deque[Task[Any]]] = {}  # a key is here while a task of it waits or runs
        self._changed = Condition()
        self._waiting = 0
        self._thread = local()

    @property
    def waiting(self) -> int:
        """Tasks that have not started."""
        return self._waiting

    def submit(self, key: str, work: Callable[[], T], *, bounded: bool = True) -> Task[T]:
        """Run this after everything queued for its key. Raises ``QueueFull``, unless it is not ``bounded``."""
        task = Task(work)
        with self._changed:
            queue = self._queues.get(key)
            if bounded and self._waiting >= self._most:
                raise QueueFull(self._waiting, of_key=False)
            if bounded and queue is not None and len(queue) >= self._most_of_key:
                raise QueueFull(len(queue), of_key=True)
            self._waiting += 1
            if queue is None:
                self._queues[key] = deque([task])
                self._start(key)
            else:
                queue.append(task)
        return task

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """For a task while it waits for something other than a processor: another one may run in its place."""
        left = time.perf_counter()
        with self._changed:
            self._running -= 1
            self._start()
        try:
            yield
        finally:
            with self._changed:
                self._running += 1  # it goes on at once, even if that is one too many for a while
            task: Task[Any] | None = getattr(self._thread, "task", None)
            if task is not None:
                task.resumed += time.perf_counter() - left

    def give_way(self) -> float:
        """For a task between its steps: let others run if it had its share; returns the seconds it has run.

        Raises ``Abandoned`` if nobody waits for its result.
        """
        task: Task[Any] = self._thread.task
        if task.abandoned:
            raise Abandoned("nobody waits for the result any more")
        ran = time.perf_counter() - task.resumed
        if ran < SLICE_SECONDS:
            return task.worked + ran
        task.worked += ran
        with self._changed:
            pausing = bool(self._ready) and len(self._paused) < _MOST_PAUSED and not self._closed
            if pausing:
                task.turn.clear()
                self._paused.append(task)
                self._running -= 1
                self._start()
        if pausing:
            task.turn.wait()
            if self._closed:
                with self._changed:
                    self._running += 1
                raise Abandoned("the server was stopped")
        task.resumed = time.perf_counter()
        return task.worked

    def drained(self, timeout: float | None = None) -> bool:
        """Wait until nothing waits or runs; returns whether that happened in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queues, timeout)

    def close(self) -> None:
        """Cancel what has not started, abandon what is paused, and wait for the rest."""
        with self._changed:
            self._closed = True
            for queue in self._queues.values():
                for task in queue:
                    task.cancel()
            for task in self._paused:
                task.turn.set()
            self._paused.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _start(self, *ready: str) -> None:
        """Start what can start, now that these keys are ready. Called with the lock held."""
        self._ready.extend(ready)
        crowded = self._running + len(self._ready) + len(self._paused) >= self._workers
        most = self._workers if crowded else self._usual
        while (self._ready or self._paused) and self._running < most and not self._closed:
            self._running += 1
            self._turns += 1
            if self._paused and (not self._ready or self._turns % _PAUSED_TURN == 0):
                self._paused.popleft().turn.set()
            else:
                self._pool.submit(self._run_next, self._ready.popleft())

    def _run_next(self, key: str) -> None:
        with self._changed:
            task = self._queues[key].popleft()
            self._waiting -= 1
        try:
            if task.set_running_or_notify_cancel():
                self._thread.task, task.resumed = task, time.perf_counter()
                try:
                    result = task.work()
                except BaseException as error:  # whoever waits for the result gets it, whatever it is
                    task.set_exception(error)
                else:
                    task.set_result(result)
        finally:
            self._thread.task = None
            with self._changed:
                self._running -= 1
                if self._queues[key]:
                    self._start(key)
                else:
                    del self._queues[key]
                    self._start()
                self._changed.notify_all()
