"""What all analyses have in common on the command line: their options, a progress bar, printing and files."""

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
Name = Annotated[str | None, typer.Option("--name", help="Name of the files; that of the analysis when not given.")]
Again = Annotated[bool, typer.Option("--again", help="Compute everything again, cached or not.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="At most N documents, for a trial.")]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        "-s",
        help="A model folder or 'default', perhaps @sent-inc, @k=N or @part-inc; or files with a system's answers; "
        "'NAME: SYSTEM' gives it a name. May be repeated.",
    ),
]
DropSingletons = Annotated[
    bool, typer.Option("--drop-singletons", help="Leave entities with one mention out of both sides.")
]
BesidePaper = Annotated[bool, typer.Option("--paper", help="Show the paper's figures (OntoNotes) beside ours.")]
DEFAULT_OUT = Path("analyses")
COMMAND: ContextVar[str | None] = ContextVar("COMMAND", default=None)
"""The command that is being run, where it is not this process's own."""


@contextmanager
def result_cache(out: Path, again: bool) -> Iterator[ResultCache]:
    """A cache for the folder, with a progress bar on a terminal and none in a pipe."""
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
    """The documents to analyse, which must have names of their own."""
    found = read_documents(corpus, format, listed)[:limit]
    if not found:
        raise IncorefError(f"{', '.join(map(str, corpus))}: no documents")
    seen: set[str] = set()
    for document in found:
        if document.id in seen:
            raise IncorefError(f"two documents are called '{document.id}'; analyse them in two calls")
        seen.add(document.id)
    return found


def finish(findings: Findings, cache: ResultCache, out: Path, name: str | None) -> None:
    """Print the tables, write the files, and say where they are."""
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
