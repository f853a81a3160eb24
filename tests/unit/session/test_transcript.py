"""A log grows and is forgotten like a list, and leaves the logs that it grew from as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from incoref.session.transcript import Log

steps = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 200)), max_size=8)


@given(steps)
def test_a_log_is_like_a_list(steps: list[tuple[int, int]]) -> None:
    log, items, number = Log[int].of(()), list[int](), 0
    kept: list[tuple[Log[int], list[int]]] = []
    for added, dropped in steps:
        new = list(range(number, number + added))
        number += added
        log, items = log.extended(new).without_first(dropped), (items + new)[dropped:]
        kept.append((log, list(items)))
    for earlier, expected in kept:
        assert list(earlier) == expected
        assert len(earlier) == len(expected)
        assert earlier.last == (expected[-1] if expected else None)


def test_what_is_forgotten_is_let_go() -> None:
    log = Log.of(range(10_000)).without_first(9_990)
    assert sum(map(len, log.chunks)) + len(log.tail) < 300
