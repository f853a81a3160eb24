"""``incoref resolve``: raw text in, who is who out."""

from __future__ import annotations

import sys
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli.model import ModelFolder, Threads
from incoref.errors import IncorefError

if TYPE_CHECKING:
    from incoref.types import Document

_FORMATS = ("text", "json", "resolved")
# The Okabe-Ito palette, whose colours colour-blind people can tell apart.
_COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7")


def register(app: typer.Typer) -> None:
    app.command()(resolve)


def resolve(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A text file; - for standard input.")] = "-",
    format: Annotated[str, typer.Option("--format", "-f", help="text, json or resolved.")] = "text",
    singletons: Annotated[bool, typer.Option("--singletons", help="Also entities with one mention.")] = False,
    model: ModelFolder = None,
    threads: Threads = 1,
) -> None:
    """Find the entities of a plain text, sentence by sentence.

    Examples:

      incoref resolve story.txt

      echo "Anna called Ben. He was out." | incoref resolve --format json
    """
    if format not in _FORMATS:
        raise IncorefError(f"no format '{format}'; choose from {', '.join(_FORMATS)}")
    from incoref.outputs.jsonable import document_json, json_line
    from incoref.resolver import load

    text = _read(file)
    session = load(model, threads=threads).session(undo=0)
    session.feed(text)
    session.flush()
    document = session.document(file, singletons=singletons)
    if format == "resolved":
        print(session.resolved_text().rstrip("\n"))
    elif format == "json":
        print(json_line(document_json(document)))
    else:
        _print_text(document)


def _read(file: str) -> str:
    data = sys.stdin.buffer.read() if file == "-" else _bytes_of(Path(file))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise IncorefError(f"{file}: not UTF-8 at byte {error.start}; convert it first") from error


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise IncorefError(f"{path}: {error.strerror}") from error


def _print_text(document: Document) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.text import Text

    console = Console(highlight=False)
    text = Text(document.text)
    for entity, colour in zip(document.entities, cycle(_COLOURS), strict=False):
        for mention in entity.mentions:
            text.stylize(f"underline {colour}", mention.start, mention.end)
    console.print(text)
    for entity, colour in zip(document.entities, cycle(_COLOURS), strict=False):
        mentions = ", ".join(m.text for m in entity.mentions)
        console.print(f"[{colour}]{escape(f'{entity.name} ({entity.type})')}[/]: {escape(mentions)}", soft_wrap=True)
