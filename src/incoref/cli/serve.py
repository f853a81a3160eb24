"""``incoref serve``: sessions over HTTP and WebSocket."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli.model import ModelFolder
from incoref.errors import IncorefError, MissingExtra

if TYPE_CHECKING:
    from incoref.server.limits import Limits


def register(app: typer.Typer) -> None:
    app.command()(serve)


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = 8000,
    store: Annotated[
        str,
        typer.Option(
            "--store",
            help="Where to store sessions: sqlite:PATH, memory, or redis://HOST:PORT/NUMBER for several servers.",
        ),
    ] = "sqlite:incoref-sessions.db",
    model: ModelFolder = None,
    token: Annotated[
        str | None, typer.Option("--token", envvar="INCOREF_TOKEN", help="Token that clients must send.")
    ] = None,
    allow_anyone: Annotated[
        bool, typer.Option("--allow-anyone", help="Accept requests from other machines without a token.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="A public host name of the server. Repeatable."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", help="A site (https://…) whose pages may send requests (CORS). Repeatable."),
    ] = None,
    trusted_proxies: Annotated[
        str, typer.Option("--trusted-proxies", help="Proxies trusted to report the client's address.")
    ] = "127.0.0.1",
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="Reader threads. Default: a few per processor."),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="NAME=NUMBER", help="Override a limit; see docs/server.md. Repeatable."),
    ] = None,
    grace: Annotated[float, typer.Option("--grace", min=0, help="Seconds to finish requests when stopping.")] = 30,
    log_level: Annotated[str, typer.Option("--log-level", help="Log level: debug, info, warning or error.")] = "info",
    log_text: Annotated[
        bool, typer.Option("--log-text", help="Log the messages of unexpected errors, which may quote text.")
    ] = False,
) -> None:
    """Serve sessions over HTTP and WebSocket, and a live page.

    Example: incoref serve --port 8000 --store sqlite:sessions.db
    """
    for package in ("fastapi", "uvicorn", "websockets", "prometheus_client"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "serve", "incoref serve")
    if log_level not in ("debug", "info", "warning", "error"):
        raise IncorefError(f"no log level '{log_level}'; choose from debug, info, warning, error")
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("incoref").setLevel(log_level.upper())

    from incoref.server.lifecycle import ServeOptions
    from incoref.server.lifecycle import serve as run

    run(
        ServeOptions(
            host=host,
            port=port,
            store=store,
            model=model,
            token=token,
            allow_anyone=allow_anyone,
            hosts=allow_host or (),
            origins=allow_origin or (),
            trusted_proxies=trusted_proxies,
            workers=workers,
            limits=_limits(limit or ()),
            grace=grace,
            log_text=log_text,
        ),
        say=lambda line: print(line, flush=True),
    )


def _limits(given: Sequence[str]) -> Limits:
    from incoref.server.limits import Limits

    known = {field.name for field in fields(Limits)}
    values: dict[str, int] = {}
    for item in given:
        name, _, value = item.partition("=")
        if name not in known or not value.isdecimal():
            raise IncorefError(f"'{item}' sets no limit; write NAME=NUMBER with one of {', '.join(sorted(known))}")
        values[name] = int(value)
    return Limits(**values)
