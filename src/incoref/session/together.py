"""Many texts at once, one session each, with batched encoder and detector.

Results are bit-identical to reading one text after the other. Memory is bounded: only a few texts are open at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from incoref.model.folder import Block, Model
from incoref.model.step import Seen
from incoref.session.advance import AT_ONCE, Wanted

_TEXTS = 64
"""Number of texts open at a time."""

T = TypeVar("T")


@dataclass(slots=True)
class _Open(Generic[T]):
    """A text that is being read."""

    item: T
    reading: Wanted[None]
    wanted: Sequence[Block] = ()
    """The blocks it waits for; none when it has been read."""
    error: Exception | None = None

    def go_on(self, seen: Sequence[Seen] | None) -> None:
        """Read until the next batched computation is needed, or to the end."""
        try:
            self.wanted = self.reading.send(seen)
        except StopIteration:
            self.wanted = ()
        except Exception as error:
            self.wanted, self.error = (), error


def read_together(
    model: Model, classes: Mapping[str, int], texts: Iterable[tuple[T, Wanted[None]]]
) -> Iterator[tuple[T, Exception | None]]:
    """Read texts; yields each one in order when it is done, with the error that ended it, if any."""
    rest = iter(texts)
    opened: deque[_Open[T]] = deque()
    more = True
    while more or opened:
        while more and len(opened) < _TEXTS and sum(len(text.wanted) for text in opened) < AT_ONCE:
            item = next(rest, None)
            if item is None:
                more = False
                break
            opened.append(_Open(*item))
            opened[-1].go_on(None)
        waiting = [text for text in opened if text.wanted]
        seen = model.foreseen([block for text in waiting for block in text.wanted], classes) if waiting else None
        done = 0
        for text in waiting:
            count = len(text.wanted)
            text.go_on(None if seen is None else seen[done : done + count])
            done += count
        while opened and not opened[0].wanted:
            text = opened.popleft()
            yield text.item, text.error
