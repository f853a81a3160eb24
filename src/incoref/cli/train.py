"""``incoref train``: trains a model on annotated corpora."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli._extras import need_training

if TYPE_CHECKING:
    from incoref.learning.train.dry_run import Inspection

INTERRUPTED = 130
"""Exit code of a run that was asked to stop: the shell's own code for an interrupt."""


def register(app: typer.Typer) -> None:
    app.command()(train)


def train(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="Model, corpora and settings; see configs/.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the run. Default: runs/ and the configuration's name."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the data and measure memory and time, without training.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Use at most N documents of each corpus, for a quick trial.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Override a setting: training.epochs=2. Repeatable."),
    ] = None,
) -> None:
    """Train a model from a configuration file.

    Writes log.jsonl, the best model so far (best/) and the latest checkpoint (last/) to the run's folder. After an
    interrupt or a kill, the same command with --resume continues as if nothing had happened.

    Example: incoref train configs/default-en.toml --out runs/trial --limit 20 --set training.epochs=1
    """
    need_training("Training")
    from incoref.cli._data_sources import check_paths
    from incoref.cli._training_display import display
    from incoref.learning.config import Configuration
    from incoref.learning.train.trainer import Stopped, Trainer, holds_run

    configuration = Configuration.load(config, settings or [])
    check_paths(configuration, config)
    if limit is not None:
        configuration = configuration.with_limit(limit)
    folder = out or Path("runs") / config.stem
    if not dry_run:
        holds_run(folder, configuration, resume)  # says so before minutes of reading
    trainer = Trainer(configuration, folder)
    for warning in trainer.warnings():
        print(f"incoref: warning: {warning}", file=sys.stderr)
    if dry_run:
        from incoref.learning.train.dry_run import inspect

        print_inspection(inspect(trainer))
        return
    try:
        with display() as report, stop_on_signal() as stop:
            progress = trainer.run(report, resume, stop)
    except Stopped:
        done = f"{trainer.progress.step} of {trainer.total} updates"
        print(f"incoref: stopped and saved after {done}; continue with: {_again()}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if progress.best_epoch == 0:
        print(
            f"no epoch beat the model that training started from (F1 {progress.best:.2f}), which is now in "
            f"{folder / 'best'}: try lower learning rates, more documents, or your corpus's annotation scheme"
        )
        return
    print(f"best F1 {progress.best:.2f} after epoch {progress.best_epoch}: {folder / 'best'}")


def _again() -> str:
    """The command that continues this run."""
    given = [word for word in sys.argv[1:] if word != "--resume"]
    return shlex.join(["incoref", *given, "--resume"])


@contextmanager
def stop_on_signal() -> Iterator[Callable[[], bool]]:
    """Whether the process has been asked to stop; a second Ctrl-C stops it at once, without saving."""
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        print("incoref: stopping after this document; press Ctrl-C again to stop now", file=sys.stderr)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def print_inspection(inspection: Inspection) -> None:
    """Print what a run will do, and what to check in its data."""
    from incoref.cli._tables import print_table

    rows: list[tuple[str, ...]] = [
        ("corpus", "for", "documents", "sentences", "tokens", "mentions", "entities", "longest")
    ]
    for c in inspection.corpora:
        figures = (c.documents, c.sentences, c.tokens, c.mentions, c.entities, c.longest)
        rows.append((c.name, c.role, *(f"{figure:,}" for figure in figures)))
    print_table(rows)
    print()
    for corpus in inspection.corpora:
        for fault in corpus.unknown:
            print(f"note: {corpus.name}: {fault}")
    for name in inspection.not_tried:
        print(f"warning: {name} may need more memory than is free; see the settings longest and recompute")
    for what, said in _findings(inspection):
        print(f"{what:18}  {said}")


def _findings(inspection: Inspection) -> Iterator[tuple[str, str]]:
    from incoref.cli._training_display import clock

    yield "mentions to learn", f"{sum(example.mentions for example in inspection.examples):,}"
    for reason, count in sorted(inspection.dropped.items()):
        yield "  left out", f"{count:,} {reason}"
    subwords, unknown = (sum(getattr(e, name) for e in inspection.examples) for name in ("subwords", "unknown"))
    yield "sub-words", f"{subwords:,}, {unknown:,} of them unknown to the tokenizer"
    longest = inspection.longest
    yield "longest text", f"{longest.tokens:,} tokens, {longest.subwords:,} sub-words: {longest.name}"
    millions = f"{inspection.parameters / 1e6:.1f}M, {inspection.trained / 1e6:.1f}M of them trained"
    yield "parameters", f"{millions}, on {inspection.device}"
    yield "updates", f"{inspection.updates:,}, {inspection.tokens:,} tokens"
    for measured in inspection.measured:
        yield "  measured", f"{measured.tokens:,} tokens in {measured.seconds:.2f} s: {measured.document}"
    if inspection.needed_bytes is not None:
        free = (
            ""
            if inspection.available_bytes is None
            else f"; {inspection.available_bytes / 2**30:.1f} GiB more are free now"
        )
        yield "memory", f"{inspection.needed_bytes / 2**30:.1f} GiB{free}"
    if inspection.hours is not None:
        yield "time", f"{clock(3600 * inspection.hours)}, plus evaluation"
