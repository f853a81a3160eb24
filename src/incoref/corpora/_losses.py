"""What a target format can't express: counted while writing, reported afterwards, never dropped in silence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
    """Something of the documents that the written file doesn't hold."""

    what: str
    count: int

    def __str__(self) -> str:
        return f"{self.count} × {self.what}"


class Losses:
    """Collects losses while a writer runs."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, what: str, count: int = 1) -> None:
        if count:
            self._counts[what] += count

    def report(self) -> list[Loss]:
        """One entry a kind, in order of first appearance."""
        return [Loss(what, count) for what, count in self._counts.items()]
