"""Keys keep their order, take turns, and run few tasks at once unless many wait."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from threading import Event, Lock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.server.keyed_executor import KeyedExecutor, QueueFull


class Watched:
    """Tasks that wait for a sign, and how many of them run."""

    def __init__(self) -> None:
        self.go = Event()
        self.running = self.most = 0
        self._lock = Lock()

    def __call__(self) -> None:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.go.wait(10)
        with self._lock:
            self.running -= 1


def until(true: Callable[[], bool]) -> None:
    tries = 0
    while not true():
        assert tries < 1000
        tries += 1
        Event().wait(0.005)


def test_few_run_at_once_until_many_wait() -> None:
    executor, task = KeyedExecutor(6, 100, 100, usual=2), Watched()
    done = [executor.submit(str(number), task) for number in range(5)]
    until(lambda: task.running == 2)
    assert executor.waiting == 3
    done.append(executor.submit("6", task))
    until(lambda: task.running == 6)
    done += [executor.submit(str(number), task) for number in range(10, 14)]
    assert executor.waiting == 4
    task.go.set()
    for each in done:
        each.result(10)
    assert task.most == 6
    executor.close()


def test_all_workers_are_usual_unless_told_otherwise() -> None:
    executor, task = KeyedExecutor(3, 100, 100), Watched()
    done = [executor.submit(str(number), task) for number in range(3)]
    until(lambda: task.running == 3)
    task.go.set()
    for each in done:
        each.result(10)
    executor.close()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from("abcd"), max_size=40),
    st.integers(1, 5),
    st.one_of(st.none(), st.integers(1, 7)),
)
def test_everything_is_done_once_and_inorder_of_its_key(names: list[str], workers: int, usual: int | None) -> None:
    executor, found = KeyedExecutor(workers, 100, 100, usual), list[tuple[str, int]]()
    futures: list[Future[None]] = []
    for number, name in enumerate(names):
        futures.append(executor.submit(name, lambda name=name, number=number: found.append((name, number))))  # type: ignore[misc]
    for future in futures:
        future.result(10)
    assert executor.drained(10)
    executor.close()
    assert sorted(number for _, number in found) == list(range(len(names)))
    for key in "abcd":
        numbers = [number for name, number in found if name == key]
        assert numbers == sorted(numbers)


def test_while_a_task_waits_elsewhere_another_runs_but_not_one_with_its_key() -> None:
    executor, task, written = KeyedExecutor(1, 10, 10), Watched(), Event()

    def write() -> None:
        with executor.elsewhere():
            assert written.wait(10)

    writing, same, other = executor.submit("a", write), executor.submit("a", task), executor.submit("b", task)
    until(lambda: task.running == 1)
    assert not writing.done()
    assert not same.running()
    task.go.set()
    other.result(10)
    assert not same.running()
    written.set()
    writing.result(10)
    same.result(10)
    assert executor.drained(10)
    executor.close()


def test_queues_are_bounded() -> None:
    executor, task = KeyedExecutor(1, 3, 2), Watched()
    running = executor.submit("a", task)
    until(lambda: task.running == 1)
    waiting = [executor.submit("a", task), executor.submit("a", task)]
    with pytest.raises(QueueFull, match="for this session"):
        executor.submit("a", task)
    waiting.append(executor.submit("b", task))
    with pytest.raises(QueueFull, match=r"^3 requests are waiting;"):
        executor.submit("c", task)
    task.go.set()
    for each in (running, *waiting):
        each.result(10)
    executor.close()


def test_a_task_that_fails_holds_up_no_other() -> None:
    executor = KeyedExecutor(1, 10, 10)

    def fail() -> None:
        raise ValueError("no")

    failed, after = executor.submit("a", fail), executor.submit("a", lambda: "done")
    with pytest.raises(ValueError, match="no"):
        failed.result(10)
    assert after.result(10) == "done"
    executor.close()


def test_what_waits_when_lanes_close_is_cancelled_and_what_runs_is_ended() -> None:
    executor, task = KeyedExecutor(4, 10, 10, usual=1), Watched()
    running = executor.submit("a", task)
    until(lambda: task.running == 1)
    waiting = [executor.submit("a", task), executor.submit("b", task)]
    waiting[0].add_done_callback(lambda _: task.go.set())
    executor.close()
    assert running.result(0) is None
    for each in waiting:
        with pytest.raises(CancelledError):
            each.result(0)
