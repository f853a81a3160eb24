"""Each policy forgets those whom it says it forgets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.errors import IncorefError
from incoref.options import EVICTION_POLICIES, SessionOptions
from incoref.session.eviction import Eviction
from incoref.session.transcript import LiveEntity


def entities(*uses: tuple[int, int]) -> list[LiveEntity]:
    """Of so many mentions, the latest one ending at such a token."""
    return [LiveEntity(str(number), None, count, latest) for number, (count, latest) in enumerate(uses)]


def test_none_forgets_nobody() -> None:
    assert Eviction("none").evicted(entities(*[(1, 0)] * 5000), 1_000_000) == []


def test_lru_forgets_who_was_mentioned_longest_ago() -> None:
    live = entities((9, 10), (1, 40), (1, 20), (5, 30))
    assert Eviction("lru", 2).evicted(live, 50) == [0, 2]


def test_dual_keeps_the_latest_and_the_most_frequent() -> None:
    live = entities((9, 10), (1, 60), (1, 20), (5, 30), (1, 50), (1, 40))
    assert Eviction("dual", 4).evicted(live, 70) == [2, 5]


def test_icoref_forgets_the_idle_and_lone_ones_sooner() -> None:
    live = entities((1, 400), (1, 401), (2, 400), (2, 0), (1, 1000))
    assert Eviction("icoref", idle=600).evicted(live, 1000) == [0]
    assert Eviction("icoref", idle=500).evicted(live, 1000) == [0, 1, 3]
    assert Eviction("icoref", 3, idle=600).evicted(live, 1000) == [0, 3]


def test_the_default_is_bounded() -> None:
    policy = Eviction()
    assert len(policy.evicted(entities(*[(1, 0)] * 5000), 10)) == 4050


@pytest.mark.parametrize("policy", ["lru", "dual"])
def test_eviction_makes_room_for_more_than_one(policy: str) -> None:
    assert Eviction(policy, 100).evicted(entities(*[(1, n) for n in range(100)]), 100) == []
    assert Eviction(policy, 100).evicted(entities(*[(1, n) for n in range(101)]), 101) == [*range(6)]


@given(
    policy=st.sampled_from(EVICTION_POLICIES[1:]),
    limit=st.integers(1, 12),
    uses=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 99), st.booleans()), max_size=30),
)
def test_the_bound_holds_and_introduced_ones_stay(policy: str, limit: int, uses: list[tuple[int, int, bool]]) -> None:
    live = [
        LiveEntity(str(n), None, count, latest, introduced=known) for n, (count, latest, known) in enumerate(uses)
    ]
    gone = Eviction(policy, limit).evicted(live, 100)
    assert gone == sorted(set(gone))
    assert not any(live[row].introduced for row in gone)
    kept = len(live) - len(gone)
    assert kept <= max(limit, sum(entity.introduced for entity in live))
    assert kept >= min(limit, len(live)), "a bound of less than twenty leaves no room to spare"


@pytest.mark.parametrize(
    ("policy", "limit", "idle", "fault"),
    [
        ("fifo", None, 600, "no eviction policy 'fifo'; choose one of none, lru, dual, icoref"),
        ("none", 5, 600, "max_entities needs an eviction policy"),
        ("lru", 0, 600, "at least one"),
        ("icoref", None, 0, "at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused(policy: str, limit: int | None, idle: int, fault: str) -> None:
    with pytest.raises(IncorefError, match=fault):
        SessionOptions(eviction=policy, max_entities=limit, idle=idle)
