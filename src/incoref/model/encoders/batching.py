"""Batch requests of several threads into one call when they would have to wait for each other anyway.

A thread that finds a free slot makes the call, for itself and for all waiting requests of the same kind. So no
request waits just to be batched, and a single thread makes its calls as if there were no batching. Independent of the
work that is done.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from threading import Condition
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True, eq=False)
class _Request(Generic[T, R]):
    given: T
    kind: Hashable
    size: int
    answer: R | None = None
    error: BaseException | None = None
    done: bool = False


class Batcher(Generic[T, R]):
    def __init__(self, work: Callable[[Sequence[T]], Sequence[R]], calls: int, most: int) -> None:
        """``work`` answers requests of one kind in order; at most ``calls`` run at once, of at most size ``most``."""
        self._work, self._calls, self._most = work, calls, most
        self._waiting: list[_Request[T, R]] = []
        self._changed = Condition()
        self._running = 0

    def __call__(self, given: T, kind: Hashable, size: int) -> R:
        request = _Request[T, R](given, kind, size)
        with self._changed:
            self._waiting.append(request)
            self._changed.wait_for(lambda: request.done or (self._running < self._calls and request in self._waiting))
            taken = [] if request.done else self._take(request)
            self._running += bool(taken)
        if taken:
            self._run(taken)
        if request.error is not None:
            raise request.error
        return request.answer  # type: ignore[return-value]  # set, as there is no error

    def _take(self, request: _Request[T, R]) -> list[_Request[T, R]]:
        """Take the request and those that fit into its call, longest-waiting first."""
        taken, room = [request], self._most - request.size
        for other in self._waiting:
            if other is not request and other.kind == request.kind and other.size <= room:
                taken.append(other)
                room -= other.size
        self._waiting = [other for other in self._waiting if other not in taken]
        return taken

    def _run(self, taken: Sequence[_Request[T, R]]) -> None:
        try:
            for request, answer in zip(taken, self._work([request.given for request in taken]), strict=True):
                request.answer = answer
        except BaseException as error:  # every request in the call gets it, whatever it is
            for request in taken:
                request.error = error
        finally:
            with self._changed:
                for request in taken:
                    request.done = True
                self._running -= 1
                self._changed.notify_all()
