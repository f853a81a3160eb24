"""``incoref convert`` and ``incoref corpus stats``: annotated corpora in other formats, and in figures."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli._inputs import Encoding
from incoref.cli._tables import print_table, width

if TYPE_CHECKING:
    from collections.abc import Iterable

    from incoref.corpora import Statistics
    from incoref.types import Document

_FORMATS = (
    "Formats: conll-2012, conllu, conllua, litbank, jsonlines (span ranking, MuDoCo), incoref (its own JSON lines), "
    "text, text-jsonlines; read only: transcript, whatsapp, slack, discord, messages, whisper, srt, webvtt, ass, "
    "mail; written only: brat."
)

corpus = typer.Typer(help="Look at annotated corpora.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.command("convert", epilog=_FORMATS)(convert)
    app.add_typer(corpus, name="corpus")


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A file or a directory.")],
    target: Annotated[
        str,
        typer.Argument(metavar="OUT", help="A file, or a directory (one that exists, or with a slash at the end)."),
    ],
    from_format: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help="Format of IN; guessed from its content if not given."),
    ] = None,
    to_format: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Format of OUT; from its suffix if not given.")
    ] = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Convert a corpus from one format to another.

    What the target format has no place for is listed on standard error. If anything is wrong with IN, OUT stays as it
    was.

    Examples:

        incoref convert GUM_news_nasa.conllu nasa.conll

        incoref convert litbank/conll litbank.jsonlines

        incoref convert train.conll brat/ --to brat

        incoref convert meeting.vtt meeting.conllu
    """
    from incoref import corpora

    write_documents(corpora.read(source, from_format, encoding), target, to_format)


def write_documents(documents: Iterable[Document], target: Path | str, format: str | None) -> None:
    """Write documents and say on standard error what the format has no place for."""
    from incoref import corpora

    losses = corpora.write(documents, target, format)
    if losses:
        print(f"incoref: note: not in {target}, because its format has no place for it:", file=sys.stderr)
        for loss in losses:
            print(f"  {loss}", file=sys.stderr)


@corpus.command("stats")
def stats(
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Files or directories.", show_default=False)],
    format: Annotated[
        str | None, typer.Option("--format", metavar="FORMAT", help="Their format; guessed if not given.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count documents, sentences, words, mentions and clusters, by path and in total.

    Nested mentions lie inside a longer one, crossing ones start inside another and end outside it, duplicated ones
    have the words of another, and those across sentences end in a later one. Speakers are counted in each document.

    Examples:

        incoref corpus stats train.conll dev.conll

        incoref corpus stats gum/dev --json
    """
    from incoref import corpora

    counted = {path: corpora.statistics(corpora.read(path, format)) for path in paths}
    total = sum(counted.values(), start=corpora.Statistics())
    if as_json:
        figures = {"total": total.to_json(), "paths": {path: counts.to_json() for path, counts in counted.items()}}
        print(json.dumps(figures, ensure_ascii=False, indent=2))
    else:
        _print_table(counted, total)


def _print_table(counted: dict[str, Statistics], total: Statistics) -> None:
    """A row a path; on a terminal that is too narrow for that, a column a path if that fits."""
    shown = {**counted, "total": total} if len(counted) > 1 else counted
    figures = {path: [f"{figure:,}" for figure in counts.to_json().values()] for path, counts in shown.items()}
    names = [name.replace("_", " ") for name in total.to_json()]
    by_row = [["", *names], *([path, *row] for path, row in figures.items())]
    by_column = [list(row) for row in zip(*by_row, strict=True)]
    columns = shutil.get_terminal_size().columns
    fits_better = sys.stdout.isatty() and width(by_column) <= columns < width(by_row)
    print_table(by_column if fits_better else by_row)
