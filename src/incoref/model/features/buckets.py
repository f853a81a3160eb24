"""Classes for numbers without an upper bound: each bucket holds a range, the last one everything larger."""

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
        """The classes of an array of numbers; negative ones are in the first."""
        return self._class_of.take(values, mode="clip")
