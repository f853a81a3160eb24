"""``incoref trace``: every step of the transition system on a text, as the paper shows it."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli._console import STDIN, put, quiet_end
from incoref.cli.model import Genre, ModelFolder, Scheme, Setting, Threads
from incoref.errors import IncorefError
from incoref.model.transitions import Action

if TYPE_CHECKING:
    from rich.table import Table

    from incoref.outputs.tracing import Row

_BUFFER = 4
"""Number of buffer words shown."""
_PIPE_WIDTH = 160


def register(app: typer.Typer) -> None:
    app.command()(trace)


def trace(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads standard input.")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; incoref schema trace prints its schema.")
    ] = False,
    setting: Setting = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    model: ModelFolder = None,
    threads: Threads = 1,
) -> None:
    """Show every action of the transition system, its probability, and the state after it.

    PUSH opens a mention at the next word. ADVANCE moves on to the word after it.
    POP ends the mention opened last. PEEK does the same, but keeps it open for
    a longer mention. Only clusters with a mention in the sentence are shown.

    Examples:

        incoref trace "Auto workers ended their strike."

        incoref trace "Anna called Ben. He was out." --json
    """
    with quiet_end():
        if text == STDIN:
            from incoref.corpora.files import decoded

            text = decoded(sys.stdin.buffer.read(), "standard input")
        elif any("\udc80" <= character <= "\udcff" for character in text):
            raise IncorefError("TEXT is not UTF-8; convert it first, for example with: iconv -f LATIN1 -t UTF-8")
        from incoref.outputs.jsonable import json_line
        from incoref.outputs.tracing import rows
        from incoref.resolver import load

        session = load(model, threads=threads).session(
            setting=setting, scheme=scheme, genre=genre, trace=True, undo=0
        )
        updates = session.feed(text) + session.flush()
        words = [token.text for token in session.document().tokens]
        if as_json:
            put(json_line({"text": session.text, "steps": [row.to_json() for row in rows(updates, words)]}) + "\n")
        else:
            _print(list(rows(updates, words)))


def _print(rows: list[Row]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    in_pipe = not console.is_terminal
    if in_pipe:
        console.width = _PIPE_WIDTH
    for sentence, group in groupby(rows, key=lambda row: row.sentence):
        with console.capture() if in_pipe else nullcontext() as captured:
            if sentence:
                console.print()
            console.print(_table(list(group)))
        if captured is not None:
            put("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _table(rows: list[Row]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from incoref.outputs.pieces import one_line

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("step", "action", "prob.", "stack", "buffer", "mention", "clusters"):
        table.add_column(name, justify="right" if name in ("step", "prob.") else "left", overflow="fold")
    for row in rows:
        rest = " …" if len(row.buffer) > _BUFFER else ""
        cells = (
            str(row.step),
            row.action,
            f"{row.probability:.3f}",
            " | ".join(row.stack),
            " ".join(row.buffer[:_BUFFER]) + rest,
            _decision(row),
            " ".join(f"{{{', '.join(mentions)}}}" for _, mentions in row.clusters),
        )
        style = "bold" if row.mention else "dim" if row.action == Action.ADVANCE.name else ""
        table.add_row(*(Text(one_line(cell)) for cell in cells), style=style)
    return table


def _decision(row: Row) -> str:
    """The mention found and its entity, with the probability of that choice."""
    mention = row.mention
    if mention is None:
        return ""
    confidence = "" if mention.confidence is None else f" {mention.confidence:.3f}"
    return f"{mention.text} → {'new ' if mention.new else ''}{mention.entity}{confidence}"
