"""``incoref batch``: resolves collections of documents into folders of shards."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli._console import INTERRUPTED, note, put, quiet_end
from incoref.cli.model import Genre, ModelFolder, Scheme, Setting, Threads

if TYPE_CHECKING:
    from incoref.batch.collection import Progress, Summary

_EPILOG = (
    "Exit codes: 0, done (bad rows are in errors.jsonl); 1, the run stopped; 2, wrong usage; 130, interrupted. "
    "After 1, 130 or a kill, run the same command again to continue. See docs/scale.md."
)


class Table(StrEnum):
    JSONL = "jsonl"
    PARQUET = "parquet"


class Field(StrEnum):
    TEXT = "text"
    SENTENCES = "sentences"
    ENTITIES = "entities"
    RESOLVED = "resolved"


def register(app: typer.Typer) -> None:
    app.command(epilog=_EPILOG)(batch)


def batch(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="IN…",
            help="JSON lines (also .gz, .zst), Parquet, Arrow, .txt files, folders of these, or - for JSON lines on "
            "standard input.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="The folder for the shards.")],
    to: Annotated[Table, typer.Option("--to", help="Format of the shards.")] = Table.JSONL,
    text_column: Annotated[
        str, typer.Option("--text-column", help="Column with the text, or a list of turns.")
    ] = "text",
    id_column: Annotated[
        str, typer.Option("--id-column", help="Column with the id. Rows without one get file and line.")
    ] = "id",
    speaker_column: Annotated[
        str | None,
        typer.Option(
            "--speaker-column", help="Column with the speaker of the text, or of each turn.", show_default=False
        ),
    ] = None,
    fields: Annotated[
        list[Field] | None,
        typer.Option("--field", help="Field to write. Repeatable. Default: text, sentences, entities."),
    ] = None,
    singletons: Annotated[bool, typer.Option("--singletons", help="Include entities with one mention.")] = False,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, help="Number of processes.")] = 1,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray", metavar="ADDRESS", help="Run the workers on this Ray cluster, such as auto.", show_default=False
        ),
    ] = None,
    shard_rows: Annotated[int, typer.Option("--shard-rows", min=1, help="Maximum rows per shard.")] = 1000,
    max_errors: Annotated[
        int | None,
        typer.Option("--max-errors", min=0, help="Stop after more than this many bad rows.", show_default=False),
    ] = None,
    setting: Setting = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    model: ModelFolder = None,
    threads: Threads = 1,
) -> None:
    """Resolve every document of a collection, however large, into a folder of shards.

    Each row is a document; columns other than text, id and speaker are passed
    through. Rows that can't be read as documents go to OUT/errors.jsonl. After
    any interruption, run the same command again: it continues, and the result
    is byte-identical to that of an uninterrupted run.

    Examples:

        incoref batch articles.jsonl -o resolved/

        incoref batch articles.parquet -o resolved/ --to parquet --workers 8

        zcat dump.gz | incoref batch - -o resolved/ --text-column body

        incoref batch stories/ -o resolved/ --field entities --field resolved
    """
    from incoref.batch.answers import DEFAULT_FIELDS, Columns
    from incoref.batch.collection import run

    with quiet_end(), _bar() as tell:
        try:
            summary = run(
                inputs,
                output,
                to=to.value,
                columns=Columns(text_column, id_column, speaker_column),
                fields=[field.value for field in fields] if fields else DEFAULT_FIELDS,
                singletons=singletons,
                workers=workers,
                threads=threads,
                shard_rows=shard_rows,
                max_errors=max_errors,
                model=model,
                ray=ray,
                tell=tell,
                setting=setting,
                scheme=scheme,
                genre=genre,
            )
        except KeyboardInterrupt:
            note("interrupted; run the same command again to continue")
            raise typer.Exit(INTERRUPTED) from None
    put(_shown(summary))


def _shown(summary: Summary) -> str:
    resumed = f", {summary.resumed:,} of them in earlier runs" if summary.resumed else ""
    errors = f"; {summary.errors:,} bad rows: {summary.folder / 'errors.jsonl'}" if summary.errors else ""
    return (
        f"{summary.documents:,} documents{resumed}, {summary.words:,} words, {summary.entities:,} entities in "
        f"{summary.shards:,} shards: {summary.folder}{errors}\n"
        f"{summary.seconds:.1f} s, {summary.documents_per_second:.1f} documents/s, "
        f"{summary.words_per_second:,.0f} words/s\n"
    )


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None] | None]:
    """Show progress on a terminal, and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=None)

    def tell(progress: Progress) -> None:
        if not bar.live.is_started:  # not before: it has a thread, and worker processes are forked
            bar.start()
        seconds, share = max(progress.seconds, 1e-9), progress.share
        left = "" if progress.seconds_left is None else f", {_minutes(progress.seconds_left)} left"
        bar.update(
            task,
            total=1.0 if share is not None else None,
            completed=share or 0.0,
            description=f"{progress.documents + progress.skipped:,} documents, "
            f"{progress.documents / seconds:.1f} documents/s, {progress.words / seconds:,.0f} words/s{left}",
        )

    try:
        yield tell
    finally:
        bar.stop()


def _minutes(seconds: float) -> str:
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}"
