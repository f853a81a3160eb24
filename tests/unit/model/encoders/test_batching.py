"""Requests of several threads in one call."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Lock

import pytest

from incoref.model.encoders.batching import Batcher


class Work:
    """Squares; keeps account of the calls. The first one waits for a sign."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.at_once = self.most_at_once = 0
        self.begun, self.go_on = Event(), Event()
        self._lock = Lock()

    def __call__(self, given: Sequence[int]) -> list[int]:
        with self._lock:
            self.calls.append(list(given))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun.set()
        assert self.go_on.wait(10)
        with self._lock:
            self.at_once -= 1
        if 13 in given:
            raise ValueError("thirteen")
        return [number**2 for number in given]


def waiting(together: Batcher[int, int], count: int) -> None:
    while len(together._waiting) < count:
        pass


def test_one_after_the_other_nobody_waits_for_company() -> None:
    work = Work()
    work.go_on.set()
    together = Batcher(work, calls=1, most=100)
    assert [together(number, "kind", 1) for number in range(5)] == [0, 1, 4, 9, 16]
    assert work.calls == [[0], [1], [2], [3], [4]]


def test_those_who_wait_go_together_if_they_are_of_a_kind_and_have_room() -> None:
    work = Work()
    together = Batcher(work, calls=1, most=10)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(together, 0, "kind", 1)]
        assert work.begun.wait(10)
        for place, (number, kind, size) in enumerate(
            [(1, "kind", 4), (2, "other", 4), (3, "kind", 4), (4, "kind", 4)], start=1
        ):
            futures.append(pool.submit(together, number, kind, size))
            waiting(together, place)
        work.go_on.set()
        assert [future.result(10) for future in futures] == [0, 1, 4, 9, 16]
    assert sorted(sorted(call) for call in work.calls[1:]) in (
        [[1, 3], [2], [4]],
        [[1, 4], [2], [3]],
        [[1], [2], [3, 4]],
    )


def test_no_more_calls_at_once_than_allowed() -> None:
    work, start = Work(), Barrier(8)
    together = Batcher(work, calls=2, most=1)

    def ask(number: int) -> int:
        start.wait()
        return together(number, "kind", 1)

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(ask, number) for number in range(8)]
        waiting(together, 6)
        work.go_on.set()
        assert [future.result(10) for future in futures] == [number**2 for number in range(8)]
    assert work.most_at_once == 2


def test_what_goes_wrong_reaches_everyone_in_the_call_and_nobody_else() -> None:
    work = Work()
    together = Batcher(work, calls=1, most=10)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(together, 0, "kind", 1)
        assert work.begun.wait(10)
        bad = [pool.submit(together, number, "unlucky", 1) for number in (12, 13)]
        waiting(together, 2)
        good = pool.submit(together, 5, "kind", 1)
        waiting(together, 3)
        work.go_on.set()
        assert first.result(10) == 0 and good.result(10) == 25
        for future in bad:
            with pytest.raises(ValueError, match="thirteen"):
                future.result(10)
    assert together(3, "kind", 1) == 9
