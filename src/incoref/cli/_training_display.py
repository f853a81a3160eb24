"""Shows the progress of a training run: a bar on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from incoref.learning.train.progress import DevProgress, DevReport, Report, StepReport

_SMOOTHING = 0.95
_SECONDS_BETWEEN_LINES = 10.0


@dataclass(slots=True)
class Figures:
    """The figures that both displays show, smoothed over recent updates."""

    loss: float = 0.0
    f1: float | None = None
    tokens: float = 0.0
    seconds: float = 0.0
    updates: int = 0
    left: float = 0.0

    def add(self, report: StepReport) -> None:
        keep = min(_SMOOTHING, self.updates / (self.updates + 1))
        self.updates += 1
        self.loss = keep * self.loss + (1 - keep) * report.loss
        self.tokens = keep * self.tokens + (1 - keep) * report.tokens
        self.seconds = keep * self.seconds + (1 - keep) * report.seconds
        self.left = self.seconds * (report.steps - report.step - 1)

    def __str__(self) -> str:
        f1 = "–" if self.f1 is None else f"{self.f1:.2f}"
        speed = self.tokens / self.seconds if self.seconds else 0.0
        return f"loss {self.loss:.3f}  F1 {f1}  {speed:.0f} tokens/s  {clock(self.left)} left"


def clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}"


def dev_line(report: DevReport) -> str:
    of = f"epoch {report.epoch}" if report.epoch else "before training"
    if report.averaged:
        of = f"mean of epochs {', '.join(map(str, report.averaged))}"
    scores = "  ".join(
        f"{name} {result.conll_f1:.2f}, mentions {result.mentions.f1:.2f}" for name, result in report.scores.items()
    )
    return f"{of}: F1 {report.mean_f1:.2f}  ({scores}){'  best so far' if report.best else ''}"


@contextmanager
def display() -> Iterator[Callable[[Report], None]]:
    """A function that takes a run's reports and shows them."""
    if sys.stdout.isatty():
        with _bar() as report:
            yield report
    else:
        yield _Lines()


class _Lines:
    def __init__(self) -> None:
        self._figures = Figures()
        self._last = -_SECONDS_BETWEEN_LINES

    def __call__(self, report: Report) -> None:
        if isinstance(report, DevReport):
            self._figures.f1 = report.mean_f1
            print(dev_line(report), flush=True)
        elif isinstance(report, StepReport):
            self._figures.add(report)
            ends = report.step + 1 == report.steps
            if ends or time.monotonic() - self._last >= _SECONDS_BETWEEN_LINES:
                self._last = time.monotonic()
                print(f"update {report.step + 1}/{report.steps}  epoch {report.epoch}  {self._figures}", flush=True)


@contextmanager
def _bar() -> Iterator[Callable[[Report], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    figures = Figures()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
    )
    with Progress(*columns) as progress:
        training = progress.add_task("training", total=None, figures="")
        dev = progress.add_task("dev", total=None, visible=False, figures="")

        def report(event: Report) -> None:
            if isinstance(event, StepReport):
                figures.add(event)
                progress.update(
                    training,
                    completed=event.step + 1,
                    total=event.steps,
                    description=f"epoch {event.epoch}",
                    figures=str(figures),
                )
            elif isinstance(event, DevProgress):
                progress.update(
                    dev, visible=True, completed=event.done, total=event.documents, description=f"dev {event.corpus}"
                )
            else:
                figures.f1 = event.mean_f1
                progress.update(dev, visible=False)
                progress.update(training, figures=str(figures))
                progress.console.print(dev_line(event), highlight=False)

        yield report
