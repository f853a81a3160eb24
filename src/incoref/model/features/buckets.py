"""Buckets for numbers without an upper bound: each class covers a range, the last one everything above."""

from __future__ import annotations

from typing import Any

import numpy as np


class Buckets:
    """``Buckets(2, 3, 8)`` has four classes: 0–1, 2, 3–7 and 8 or more."""

    def __init__(self, *starts: int) -> None:
        self._class_of = np.searchsorted(starts, np.arange(starts[-1] + 1), "right")
        first = [0, *starts]
        ends = [start - 1 for start in starts]
        self.names = (
            *(f"{a}" if a == b else f"{a}–{b}" for a, b in zip(first, ends, strict=False)),
            f"{starts[-1]}+",
        )

    def of(self, values: Any) -> Any:
        """Return the classes of an array of numbers; negative numbers are in the first class."""
        return self._class_of.take(values, mode="clip")
