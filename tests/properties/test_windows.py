"""Windows of any stream: every block answered once, in bounded context, the same one by one as all at once."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from incoref.model.windows import Window, WindowSizes, kept_tail, plan


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[int], WindowSizes]:
    size = draw(st.integers(4, 60))
    sizes = WindowSizes(size, draw(st.integers(0, size - 2)), draw(st.booleans()))
    return draw(st.lists(st.integers(1, sizes.longest_block), max_size=60)), sizes


@given(streams())
def test_every_block_is_new_in_exactly_one_window(stream: tuple[list[int], WindowSizes]) -> None:
    lengths, sizes = stream
    windows = plan(lengths, sizes)
    assert [block for window in windows for block in range(window.new, window.end)] == list(range(len(lengths)))


@given(streams())
def test_a_window_never_holds_more_than_its_size(stream: tuple[list[int], WindowSizes]) -> None:
    lengths, sizes = stream
    for window in plan(lengths, sizes):
        assert window.context <= window.new < window.end
        assert 1 + sum(lengths[window.context : window.end]) <= sizes.size
        assert sum(lengths[window.context : window.new]) <= sizes.tail


@given(streams())
def test_the_tail_is_as_long_as_it_can_be(stream: tuple[list[int], WindowSizes]) -> None:
    lengths, sizes = stream
    windows = plan(lengths, sizes)
    for before, window in pairwise(windows):
        assert window.context >= before.context
        if window.context > before.context:
            longer = sum(lengths[window.context - 1 : window.new])
            assert longer > sizes.tail or longer + lengths[window.new] > sizes.capacity or not sizes.cache


@given(streams())
def test_one_block_after_the_other_gives_the_same_windows(stream: tuple[list[int], WindowSizes]) -> None:
    """What a stream knows is the lengths in its open window; that decides as the plan of the whole does."""
    lengths, sizes = stream
    windows: list[Window] = []
    inside: list[int] = []
    for block, length in enumerate(lengths):
        if not windows or not sizes.fits(inside, length):
            inside = inside[len(inside) - kept_tail(inside, length, sizes) :]
            windows.append(Window(block - len(inside), block, block))
        inside.append(length)
        windows[-1] = Window(windows[-1].context, windows[-1].new, block + 1)
    assert windows == plan(lengths, sizes)


@given(streams())
def test_a_longer_stream_changes_no_window_but_the_last(stream: tuple[list[int], WindowSizes]) -> None:
    lengths, sizes = stream
    whole = plan(lengths, sizes)
    for end in range(len(lengths)):
        part = plan(lengths[:end], sizes)
        assert part[:-1] == whole[: len(part)][:-1]
        if part:
            last = whole[len(part) - 1]
            assert (part[-1].context, part[-1].new) == (last.context, last.new)
