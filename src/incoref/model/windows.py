"""Divide a stream of any length into windows for an encoder with a limited number of positions.

Blocks (sentences, as sub-words) fill a window from its start. A block that no longer fits opens a new window, which
starts with the tail of the last one, re-encoded as context. So a block's vectors depend only on its window, at most
``size`` sub-words, whatever came before; and encoding a stream block by block gives the same vectors as encoding the
same windows at once in training.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowSizes:
    size: int = 512
    """Positions in a window; the first one holds the start symbol."""
    tail: int = 96
    """Up to this many sub-words of a window are kept as context for the next."""
    cache: bool = True
    """Whether blocks attend to earlier ones at all; if not, every block has its own window."""

    @property
    def capacity(self) -> int:
        return self.size - 1

    @property
    def longest_block(self) -> int:
        """The longest block that leaves every window room for its context; longer blocks must be cut."""
        return self.capacity - self.tail

    def check(self, length: int, block: str = "a block") -> None:
        """Raise ``ValueError`` if a block of this length must be cut first."""
        if length > self.longest_block:
            raise ValueError(f"{block} has {length} sub-words; at most {self.longest_block} fit")

    def fits(self, inside: Sequence[int], coming: int) -> bool:
        """Whether a block of length ``coming`` fits into a window after blocks of the lengths ``inside``."""
        return sum(inside) + coming <= self.capacity and (self.cache or not inside)


@dataclass(frozen=True, slots=True)
class Window:
    """Blocks ``context`` to ``end`` (exclusive) of a stream; those before ``new`` come from the previous window."""

    context: int
    new: int
    end: int


def kept_tail(lengths: list[int], coming: int, sizes: WindowSizes) -> int:
    """Return how many last blocks stay as context for a next window that starts with ``coming`` sub-words."""
    room = min(sizes.tail, sizes.capacity - coming) if sizes.cache else 0
    kept = 0
    for length in reversed(lengths):
        room -= length
        if room < 0:
            break
        kept += 1
    return kept


def plan(lengths: Iterable[int], sizes: WindowSizes) -> list[Window]:
    """Return the windows of a stream of blocks with these lengths."""
    windows: list[Window] = []
    inside: list[int] = []  # lengths of the blocks in the open window
    context = new = block = 0
    for block, length in enumerate(lengths):
        sizes.check(length, f"block {block}")
        if not sizes.fits(inside, length):
            windows.append(Window(context, new, block))
            kept = kept_tail(inside, length, sizes)
            inside = inside[len(inside) - kept :]
            context, new = block - kept, block
        inside.append(length)
    if inside:
        windows.append(Window(context, new, block + 1))
    return windows
