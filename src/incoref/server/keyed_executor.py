"""A thread pool with keys: tasks with the same key run in order, one at a time; different keys run in parallel.

Keys take turns, so a long queue for one key doesn't delay the others, and queues are bounded. With few tasks waiting,
only the usual number runs at once, so that each finishes as soon as possible; with many waiting, more run at once and
benefit from shared work. A task that waits for disk or network lets another one run in the meantime. A long task
calls ``give_way`` between its steps to let others run. Independent of the work itself.
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
"""How long a task runs before others take precedence."""
_MOST_PAUSED = 256
"""Maximum number of paused tasks; each occupies a thread."""
_PAUSED_TURN = 4
"""Every this many turns, a paused task continues even if new tasks are waiting."""


class QueueFull(IncorefError):
    """Too many tasks are waiting, for this key if ``of_key``, else overall."""

    def __init__(self, waiting: int, of_key: bool) -> None:
        super().__init__(f"{waiting} requests are waiting{' for this session' if of_key else ''}; try again later")
        self.waiting, self.of_key = waiting, of_key


class Abandoned(IncorefError):
    """The task was stopped midway because its result is no longer needed."""


class Task(Future[T], Generic[T]):
    """The future of a task. Cancelling it also stops a running task, the next time it gives way."""

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
        # The extra threads are for tasks that wait elsewhere or are paused. Threads are started on demand.
        self._pool = ThreadPoolExecutor(2 * workers + _MOST_PAUSED, "incoref")
        self._workers, self._usual = workers, min(workers, usual or workers)
        self._most, self._most_of_key = most, most_of_key
        self._ready: deque[str] = deque()  # keys whose next task can start, in order of turn
        self._paused: deque[Task[Any]] = deque()
        self._turns = 0
        self._running = 0
        self._closed = False
        self._queues: dict[str, deque[Task[Any]]] = {}  # contains a key while any of its tasks is waiting or running
        self._changed = Condition()
        self._waiting = 0
        self._thread = local()

    @property
    def waiting(self) -> int:
        """Number of tasks that have not started."""
        return self._waiting

    def submit(self, key: str, work: Callable[[], T], *, bounded: bool = True) -> Task[T]:
        """Queue a task after all others for its key. If ``bounded``, raises ``QueueFull`` when queues are full."""
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
        """Let another task run while this one waits for something other than a processor."""
        left = time.perf_counter()
        with self._changed:
            self._running -= 1
            self._start()
        try:
            yield
        finally:
            with self._changed:
                self._running += 1  # continue immediately, even if that briefly exceeds the limit
            task: Task[Any] | None = getattr(self._thread, "task", None)
            if task is not None:
                task.resumed += time.perf_counter() - left

    def give_way(self) -> float:
        """Let other tasks run if this one has used its time slice; returns the seconds it has run in total.

        Tasks call this between steps. Raises ``Abandoned`` if the task's result is no longer needed.
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
        """Wait until no task is waiting or running; returns False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._queues, timeout)

    def close(self) -> None:
        """Cancel waiting tasks, abandon paused ones, and wait for running ones."""
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
        """Mark keys as ready and start as many tasks as possible; the caller holds the lock."""
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
                except BaseException as error:  # the future passes any exception on
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
