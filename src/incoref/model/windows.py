"""How a stream of any length goes through an encoder whose positions end.

Blocks (sentences, as sub-words) fill a window from its start. A block that no longer fits opens a new window, which
starts with the tail of the last one, encoded anew as context. So a block's vectors depend on its window alone: on at
most ``size`` sub-words, whatever came before; and what a stream computes block by block is what training computes
for the same windows at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowSizes:
    size: int = 512
    """Positions in a window; the first one holds the start symbol."""
    tail: int = 96
    """At most this many sub-words of the last window are kept as context of the next."""
    cache: bool = True
    """Whether a block is read after others at all; if not, every block has a window of its own."""

    @property
    def capacity(self) -> int:
        return self.size - 1

    @property
    def longest_block(self) -> int:
        """A longer block must be cut: so that every window has room for a block and its context."""
        return self.capacity - self.tail

    def check(self, length: int, block: str = "a block") -> None:
        """Raises ``ValueError`` if a block of this length must be cut first."""
        if length > self.longest_block:
            raise ValueError(f"{block} has {length} sub-words; at most {self.longest_block} fit")

    def fits(self, inside: Sequence[int], coming: int) -> bool:
        """Whether a block of this length may follow those inside a window."""
        return sum(inside) + coming <= self.capacity and (self.cache or not inside)


@dataclass(frozen=True, slots=True)
class Window:
    """Blocks ``context`` to ``end`` of a stream; those before ``new`` were answered by the window before."""

    context: int
    new: int
    end: int


def kept_tail(lengths: list[int], coming: int, sizes: WindowSizes) -> int:
    """How many of a window's last blocks stay as context of the next, whose first new block is ``coming`` long."""
    room = min(sizes.tail, sizes.capacity - coming) if sizes.cache else 0
    kept = 0
    for length in reversed(lengths):
        room -= length
        if room < 0:
            break
        kept += 1
    return kept


def plan(lengths: Iterable[int], sizes: WindowSizes) -> list[Window]:
    """The windows of a stream of blocks of these lengths."""
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
