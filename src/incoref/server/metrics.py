"""Counters, gauges and histograms, written in Prometheus's text format. Knows nothing of what is counted."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from threading import Lock

Labels = tuple[tuple[str, str], ...]

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Counter:
    """A number that only grows, for each set of labels."""

    kind = "counter"

    def __init__(self) -> None:
        self._values: dict[Labels, float] = {}
        self._lock = Lock()

    def add(self, amount: float = 1, **labels: str) -> None:
        key = tuple(labels.items())
        with self._lock:
            self._values[key] = self._values.get(key, 0) + amount

    def lines(self, name: str) -> Iterator[str]:
        with self._lock:
            values = sorted(self._values.items())
        for labels, value in values or [((), 0)]:
            yield f"{name}{_labels(labels)} {_number(value)}"


class Gauge:
    """A number that is asked for when the metrics are read."""

    kind = "gauge"

    def __init__(self, value: Callable[[], float]) -> None:
        self._value = value

    def lines(self, name: str) -> Iterator[str]:
        yield f"{name} {_number(self._value())}"


class Histogram:
    """How many values were at most as large as each bound, for each set of labels."""

    kind = "histogram"

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self._bounds = tuple(bounds)
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}
        self._lock = Lock()

    def add(self, value: float, **labels: str) -> None:
        key = tuple(labels.items())
        with self._lock:
            counts = self._counts.setdefault(key, [0] * (len(self._bounds) + 1))
            counts[bisect_left(self._bounds, value)] += 1
            self._sums[key] = self._sums.get(key, 0.0) + value

    def lines(self, name: str) -> Iterator[str]:
        with self._lock:
            found = [(labels, list(counts), self._sums[labels]) for labels, counts in sorted(self._counts.items())]
        for labels, counts, total in found:
            for bound, count in zip((*map(_number, self._bounds), "+Inf"), accumulate(counts), strict=True):
                yield f"{name}_bucket{_labels((*labels, ('le', bound)))} {count}"
            yield f"{name}_sum{_labels(labels)} {_number(total)}"
            yield f"{name}_count{_labels(labels)} {sum(counts)}"


class Metrics:
    """All metrics of a server, by name."""

    def __init__(self) -> None:
        self._all: dict[str, tuple[str, Counter | Gauge | Histogram]] = {}

    def counter(self, name: str, help: str) -> Counter:
        made = Counter()
        self._all[name] = help, made
        return made

    def gauge(self, name: str, help: str, value: Callable[[], float]) -> None:
        self._all[name] = help, Gauge(value)

    def histogram(self, name: str, help: str) -> Histogram:
        made = Histogram()
        self._all[name] = help, made
        return made

    def text(self) -> str:
        lines = []
        for name, (help, metric) in self._all.items():
            lines += [f"# HELP {name} {help}", f"# TYPE {name} {metric.kind}", *metric.lines(name)]
        return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    written = (f'{name}="{_escaped(value)}"' for name, value in labels)
    return "{" + ",".join(written) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
