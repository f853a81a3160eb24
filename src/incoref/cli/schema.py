"""``incoref schema``: JSON Schemas of the tool's output."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from incoref.cli._console import put, quiet_end


class Output(StrEnum):
    RESOLVE = "resolve"
    STREAM = "stream"
    TRACE = "trace"


def register(app: typer.Typer) -> None:
    app.command()(schema)


def schema(output: Annotated[Output, typer.Argument(help="The command whose output the schema describes.")]) -> None:
    """Print the JSON Schema of a command's output.

    Example: incoref schema stream > stream.schema.json
    """
    from incoref.outputs.schemas import schema_text

    with quiet_end():
        put(schema_text(output))
