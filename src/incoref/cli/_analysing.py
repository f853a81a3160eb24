"""What the analysis commands share: options, progress bar, printed tables and written files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli._console import note
from incoref.cli._tables import print_table
from incoref.cli.model import read_documents
from incoref.errors import IncorefError

if TYPE_CHECKING:
    from incoref.analysis.findings import Findings
    from incoref.analysis.result_cache import ResultCache
    from incoref.types import Document

Out = Annotated[
    Path,
    typer.Option(
        "--out", "-o", help="Folder for NAME.json, NAME.png and NAME.svg, and for cached results (results.jsonl)."
    ),
]
Name = Annotated[str | None, typer.Option("--name", help="Base name of the files. Default: the analysis's name.")]
Again = Annotated[bool, typer.Option("--again", help="Ignore cached results.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Use at most N documents, for a quick trial.")]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        "-s",
        help="A model folder or 'default', optionally with @sent-inc, @k=N or @part-inc; or files with a system's "
        "output. 'NAME: SYSTEM' sets the name shown. Repeatable.",
    ),
]
DropSingletons = Annotated[
    bool, typer.Option("--drop-singletons", help="Drop entities with one mention from key and response.")
]
BesidePaper = Annotated[bool, typer.Option("--paper", help="Add the paper's figures (OntoNotes).")]
DEFAULT_OUT = Path("analyses")
COMMAND: ContextVar[str | None] = ContextVar("COMMAND", default=None)
"""The command line to record, if it isn't this process's own."""


@contextmanager
def result_cache(out: Path, again: bool) -> Iterator[ResultCache]:
    """The folder's result cache, with a progress bar on a terminal and none in a pipe."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from incoref.analysis.result_cache import ResultCache

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def tell(what: str, done: int, total: int) -> None:
            if total == 1:  # a model to train, which shows its own progress
                bar.stop()
                return
            bar.start()
            if bar.tasks[0].description != what or not done:
                bar.reset(task, description=what, total=total)
            bar.update(task, completed=done, total=total)

        yield ResultCache(out / "results.jsonl", again=again, progress=tell)


def documents_of(
    corpus: list[Path], format: str | None, listed: Path | None = None, limit: int | None = None
) -> list[Document]:
    """The documents to analyse; their ids must be unique."""
    documents = read_documents(corpus, format, listed)[:limit]
    if not documents:
        raise IncorefError(f"{', '.join(map(str, corpus))}: no documents")
    seen: set[str] = set()
    for document in documents:
        if document.id in seen:
            raise IncorefError(f"two documents have the id '{document.id}'; analyse them in separate runs")
        seen.add(document.id)
    return documents


def finish(findings: Findings, cache: ResultCache, out: Path, name: str | None) -> None:
    """Print the tables, write the files, and print their paths."""
    from incoref.analysis.files import write_findings

    for number, table in enumerate(findings.tables):
        if number:
            print()
        print(table.title)
        print_table(table.texts())
        if table.note:
            print(table.note)
    sys.stdout.flush()
    command = COMMAND.get() or shlex.join(["incoref", *sys.argv[1:]])
    written = write_findings(findings, out, name or findings.analysis, command, cache.provenance)
    note("written: " + ", ".join(map(str, written)))
