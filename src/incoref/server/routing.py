"""Shared code of the routes: finding the service, checking ids, identifying clients, JSON responses."""

from __future__ import annotations

import asyncio
import hashlib
import re
from concurrent.futures import Future
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Request, Response
from pydantic import BaseModel

from incoref.server.commands import Command, encoded
from incoref.server.events import answer_of
from incoref.server.middleware import problem_headers
from incoref.server.problems import KINDS, STOPPING, Refused
from incoref.server.service import SessionService
from incoref.server.store import missing

T = TypeVar("T")

_ID = re.compile(r"[0-9a-f]{32}")
EXAMPLE_ID = "00000000000000000000000000000000"


# These never await, but are coroutines anyway: FastAPI runs plain functions on other threads, and switching threads
# costs more than all the rest of dispatching a request to the service.
async def _service(request: Request) -> SessionService:
    service: SessionService = request.app.state.service
    return service


async def checked_id(id: Annotated[str, Path(description="The session's id.", examples=[EXAMPLE_ID])]) -> str:
    if not _ID.fullmatch(id):
        raise missing(id)
    return id


async def _viewed(
    view: Annotated[str, Path(description="The id that sharing the session returned.", examples=[EXAMPLE_ID])],
) -> str:
    if not _ID.fullmatch(view):
        raise missing(view)
    return view


async def _owner(request: Request) -> str:
    """Identify the client, for the limit on its sessions; its address isn't stored."""
    address = request.client.host if request.client else "local"
    return hashlib.blake2b(address.encode(), digest_size=8).hexdigest()


Service = Annotated[SessionService, Depends(_service)]
Id = Annotated[str, Depends(checked_id)]
View = Annotated[str, Depends(_viewed)]
Owner = Annotated[str, Depends(_owner)]


async def known(service: SessionService, id: str) -> None:
    """Raise ``NoSession`` if there is no such session; only asks the store, so busy workers don't delay it."""
    if service.stopping:
        raise Refused(STOPPING, "the server is stopping; try again at once", retry_after=1)
    await asyncio.to_thread(service.store.head, id)


async def done(future: Future[T]) -> T:
    """Await a future without blocking others; if the caller is cancelled, so is the future."""
    return await asyncio.wrap_future(future)


def problem_response(error: Refused) -> Response:
    return Response(encoded(error.to_json()), error.kind.status, problem_headers(error))


def json_response(value: Any, status: int = 200) -> Response:
    return Response(encoded(value), status, media_type="application/json")


async def performed(service: SessionService, id: str, command: Command, sequence: int | None) -> Response:
    record = await done(service.perform(id, command, sequence))
    return json_response(answer_of(record))


def answers(model: type[BaseModel], *refusals: int, status: int = 200, about: str = "Done.") -> dict[int | str, Any]:
    """Describe a route's response and its specific errors for the OpenAPI document."""
    responses: dict[int | str, Any] = {status: {"model": model, "description": about}}
    return responses | problems(*refusals)


def described(status: int, about: str, *media_types: str) -> dict[int | str, Any]:
    """Describe a response that isn't one of our JSON schemas for the OpenAPI document."""
    content: dict[str, Any] = {"content": {kind: {} for kind in media_types}} if media_types else {}
    return {status: {"description": about, **content}}


def problems(*statuses: int) -> dict[int | str, Any]:
    kinds: dict[int, list[str]] = {}
    for kind in KINDS:
        kinds.setdefault(kind.status, []).append(kind.title)
    common = (400, 401, 403, 413, 415, 421, 422, 429, 503)
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        status: {"description": ". Or: ".join(kinds[status]), "content": {"application/problem+json": schema}}
        for status in sorted({*common, *statuses})
    }
