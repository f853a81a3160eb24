"""Work in lanes on one pool of threads: a lane's tasks are done one after the other, in order; lanes in parallel.

Lanes take turns, so that a long queue in one holds up no other. Queues are bounded. While little waits, only the
usual number of tasks runs at once, which ends each of them soonest; when much does, more, for what they can do
together. A task that waits for a disk or a network lets another one run meanwhile. Knows nothing of the work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition
from typing import Any, TypeVar

from incoref.errors import IncorefError

T = TypeVar("T")
_Task = tuple[Future[Any], Callable[[], Any]]


class QueueFull(IncorefError):
    """So much is waiting that nothing more is taken; ``of_lane`` tells whether it is this lane or all of them."""

    def __init__(self, waiting: int, of_lane: bool) -> None:
        super().__init__(f"{waiting} requests are waiting{' for this session' if of_lane else ''}; try again later")
        self.waiting, self.of_lane = waiting, of_lane


class Lanes:
    def __init__(self, workers: int, most: int, most_of_lane: int, usual: int | None = None) -> None:
        """At most ``workers`` tasks at once, but only ``usual`` as long as there are fewer tasks than workers."""
        self._pool = ThreadPoolExecutor(2 * workers, "incoref")  # half of them for tasks that wait elsewhere
        self._workers, self._usual = workers, min(workers, usual or workers)
        self._most, self._most_of_lane = most, most_of_lane
        self._ready: deque[str] = deque()  # lanes whose next task can begin, in order
        self._running = 0
        self._closed = False
        self._lanes: dict[str, deque[_Task]] = {}  # a lane is there while something of it waits or runs
        self._changed = Condition()
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """Tasks that no worker has taken."""
        return self._waiting

    def submit(self, lane: str, work: Callable[[], T], *, bounded: bool = True) -> Future[T]:
        """Do this after all that waits in its lane. Raises ``QueueFull`` unless it must be done (not ``bounded``)."""
        future: Future[T] = Future()
        with self._changed:
            tasks = self._lanes.get(lane)
            if bounded and self._waiting >= self._most:
                raise QueueFull(self._waiting, of_lane=False)
            if bounded and tasks is not None and len(tasks) >= self._most_of_lane:
                raise QueueFull(len(tasks), of_lane=True)
            self._waiting += 1
            if tasks is None:
                self._lanes[lane] = deque([(future, work)])
                self._begin(lane)
            else:
                tasks.append((future, work))
        return future

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """For a task while it waits for something else than a processor: another one may run in its place."""
        with self._changed:
            self._running -= 1
            self._begin()
        try:
            yield
        finally:
            with self._changed:
                self._running += 1  # it goes on at once, even if that is one too many for a while

    def drained(self, timeout: float | None = None) -> bool:
        """Wait until nothing waits or runs; whether that happened in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._lanes, timeout)

    def close(self) -> None:
        """What has not begun is cancelled; waits for what has."""
        with self._changed:
            self._closed = True
            for tasks in self._lanes.values():
                for future, _ in tasks:
                    future.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _begin(self, *ready: str) -> None:
        """Begin what may begin, now that these lanes are ready. Called with the lock held."""
        self._ready.extend(ready)
        crowded = self._running + len(self._ready) >= self._workers
        while self._ready and self._running < (self._workers if crowded else self._usual) and not self._closed:
            self._running += 1
            self._pool.submit(self._do_next, self._ready.popleft())

    def _do_next(self, lane: str) -> None:
        with self._changed:
            future, work = self._lanes[lane].popleft()
            self._waiting -= 1
        try:
            if future.set_running_or_notify_cancel():
                try:
                    result = work()
                except BaseException as error:  # whoever waits for the result gets it, whatever it is
                    future.set_exception(error)
                else:
                    future.set_result(result)
        finally:
            with self._changed:
                self._running -= 1
                if self._lanes[lane]:
                    self._begin(lane)
                else:
                    del self._lanes[lane]
                    self._begin()
                self._changed.notify_all()
