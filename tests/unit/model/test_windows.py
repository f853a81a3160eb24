"""Windows by example."""

from __future__ import annotations

import pytest

from incoref.model.windows import Window, WindowSizes, kept_tail, plan

SIZES = WindowSizes(size=21, tail=6)  # 20 sub-words beside the start symbol


def test_blocks_fill_a_window_before_the_next_one_opens() -> None:
    assert plan([5, 5, 5, 5, 1], SIZES) == [Window(0, 0, 4), Window(3, 4, 5)]


def test_a_new_window_starts_with_the_tail_of_the_last() -> None:
    assert plan([10, 4, 2, 2, 9], SIZES) == [Window(0, 0, 4), Window(2, 4, 5)]


def test_a_block_too_long_for_the_tail_ends_it() -> None:
    assert plan([7, 7, 7], SIZES) == [Window(0, 0, 2), Window(2, 2, 3)]


def test_the_tail_gives_way_to_a_long_block() -> None:
    assert kept_tail([3, 3], coming=14, sizes=SIZES) == 2
    assert kept_tail([3, 3], coming=15, sizes=SIZES) == 1
    assert kept_tail([3, 3], coming=20, sizes=SIZES) == 0


def test_no_blocks_need_no_window() -> None:
    assert plan([], SIZES) == []


def test_without_a_cache_every_block_is_read_alone() -> None:
    alone = WindowSizes(size=21, tail=6, cache=False)
    assert plan([5, 3, 1], alone) == [Window(0, 0, 1), Window(1, 1, 2), Window(2, 2, 3)]


def test_a_block_that_leaves_no_room_for_context_is_refused() -> None:
    assert plan([SIZES.longest_block], SIZES) == [Window(0, 0, 1)]
    with pytest.raises(ValueError, match="block 1 has 15 sub-words; at most 14 fit"):
        plan([3, 15], SIZES)
