"""The command-line tool: parses, calls, prints. One module per group of commands, with late imports."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from incoref._version import __version__
from incoref.cli import (
    analyse,
    batch,
    corpora,
    info,
    label,
    mcp,
    model,
    prepare,
    recipe,
    reference,
    report,
    resolve,
    schema,
    score,
    serve,
    stream,
    trace,
    train,
)
from incoref.errors import IncorefError

app = typer.Typer(
    name="incoref",
    help="Coreference resolution for text that is still arriving.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"incoref {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None: ...


for _commands in (
    resolve,
    stream,
    batch,
    serve,
    mcp,
    trace,
    schema,
    model,
    score,
    analyse,
    report,
    corpora,
    prepare,
    reference,
    label,
    train,
    recipe,
    info,
):
    _commands.register(app)


def main() -> None:
    """Run the tool; an expected error prints one line to stderr and exits with code 1."""
    try:
        app()
    except IncorefError as error:
        print(f"incoref: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
