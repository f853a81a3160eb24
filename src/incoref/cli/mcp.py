"""``incoref mcp``: coreference tools for agents, over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incoref.cli.model import ModelFolder


def register(app: typer.Typer) -> None:
    app.command("mcp")(serve_mcp)


def serve_mcp(
    http: Annotated[
        bool, typer.Option("--http", help="Serve over HTTP, at /mcp, instead of stdin and stdout.")
    ] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen on, with --http.")] = 8765,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where to store sessions. Default: they end with the server.")
    ] = None,
    model: ModelFolder = None,
) -> None:
    """Give an agent tools to track who is who in conversations and documents (Model Context Protocol).

    Example: incoref mcp --folder sessions
    """
    from incoref.integrations.mcp_server import server
    from incoref.resolver import load

    serving = server(load(model), folder)
    if http:
        serving.run("streamable-http", host=host, port=port)
    else:
        serving.run("stdio")
