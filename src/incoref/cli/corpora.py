"""``incoref convert`` and ``incoref corpus stats``: convert and count annotated corpora."""

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

corpus = typer.Typer(help="Count and prepare annotated corpora.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.command("convert", epilog=_FORMATS)(convert)
    app.add_typer(corpus, name="corpus")


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A file or a directory.")],
    target: Annotated[
        str,
        typer.Argument(metavar="OUT", help="A file, or a directory (existing, or ending in a slash)."),
    ],
    from_format: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help="Format of IN. Default: detected from its content."),
    ] = None,
    to_format: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help="Format of OUT. Default: inferred from its suffix.")
    ] = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Convert a corpus from one format to another.

    Whatever the target format can't represent is listed on standard error. If IN has an error, OUT is left unchanged.

    Examples:

        incoref convert GUM_news_nasa.conllu nasa.conll

        incoref convert litbank/conll litbank.jsonlines

        incoref convert train.conll brat/ --to brat

        incoref convert meeting.vtt meeting.conllu
    """
    from incoref import corpora

    write_documents(corpora.read(source, from_format, encoding), target, to_format)


def write_documents(documents: Iterable[Document], target: Path | str, format: str | None) -> None:
    """Write documents and list on standard error what the format can't represent."""
    from incoref import corpora

    losses = corpora.write(documents, target, format)
    if losses:
        print(f"incoref: note: the format of {target} can't express:", file=sys.stderr)
        for loss in losses:
            print(f"  {loss}", file=sys.stderr)


@corpus.command("stats")
def stats(
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Files or directories.", show_default=False)],
    format: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="Format of the files. Default: detected from content."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count documents, sentences, words, mentions and clusters, by path and in total.

    A nested mention lies inside a longer one; a crossing one starts inside another and ends outside it; a duplicated
    one covers the same words as another. Speakers are counted per document.

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
    """One row per path, or one column per path if only that fits the terminal."""
    shown = {**counted, "total": total} if len(counted) > 1 else counted
    figures = {path: [f"{figure:,}" for figure in counts.to_json().values()] for path, counts in shown.items()}
    names = [name.replace("_", " ") for name in total.to_json()]
    by_row = [["", *names], *([path, *row] for path, row in figures.items())]
    by_column = [list(row) for row in zip(*by_row, strict=True)]
    columns = shutil.get_terminal_size().columns
    fits_better = sys.stdout.isatty() and width(by_column) <= columns < width(by_row)
    print_table(by_column if fits_better else by_row)
