"""What the routes have in common: finding the service, checking ids, telling who asks, answering with JSON."""

from __future__ import annotations

import asyncio
import hashlib
import re
from concurrent.futures import Future
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Request, Response
from pydantic import BaseModel

from incoref.server.commands import Command, encoded
from incoref.server.events import answer_bytes
from incoref.server.middleware import problem_headers
from incoref.server.problems import KINDS, STOPPING, Refused
from incoref.server.service import SessionService
from incoref.server.store import missing

T = TypeVar("T")

_ID = re.compile(r"[0-9a-f]{32}")
EXAMPLE_ID = "00000000000000000000000000000000"


# These wait for nothing, and are coroutines all the same: FastAPI does plain functions on other threads, and to go
# there and back costs more than the rest of a request's way to the service.
async def _service(request: Request) -> SessionService:
    service: SessionService = request.app.state.service
    return service


async def checked_id(id: Annotated[str, Path(description="Of the session.", examples=[EXAMPLE_ID])]) -> str:
    if not _ID.fullmatch(id):
        raise missing(id)
    return id


async def _viewed(
    view: Annotated[str, Path(description="What sharing a session gave.", examples=[EXAMPLE_ID])],
) -> str:
    if not _ID.fullmatch(view):
        raise missing(view)
    return view


async def _owner(request: Request) -> str:
    """Who asks, for the limit on sessions of one client; addresses are not kept."""
    address = request.client.host if request.client else "local"
    return hashlib.blake2b(address.encode(), digest_size=8).hexdigest()


Service = Annotated[SessionService, Depends(_service)]
Id = Annotated[str, Depends(checked_id)]
View = Annotated[str, Depends(_viewed)]
Owner = Annotated[str, Depends(_owner)]


async def known(service: SessionService, id: str) -> None:
    """Raises ``NoSession`` if there is none of this id; asks the store alone, whatever the workers do."""
    if service.stopping:
        raise Refused(STOPPING, "the server is being stopped; try again at once", retry_after=1)
    await asyncio.to_thread(service.store.head, id)


async def done(future: Future[T]) -> T:
    """The result of what a service does, without holding up others."""
    return await asyncio.wrap_future(future)


def problem_response(error: Refused) -> Response:
    return Response(encoded(error.to_json()), error.kind.status, problem_headers(error))


def json_response(value: Any, status: int = 200) -> Response:
    return Response(encoded(value), status, media_type="application/json")


async def performed(service: SessionService, id: str, command: Command, sequence: int | None) -> Response:
    record = await done(service.perform(id, command, sequence))
    return Response(answer_bytes(record), media_type="application/json")


def answers(model: type[BaseModel], *refusals: int, status: int = 200, about: str = "Done.") -> dict[int | str, Any]:
    """For the OpenAPI document: what is answered, and which refusals there may be beside those that all have."""
    told: dict[int | str, Any] = {status: {"model": model, "description": about}}
    return told | problems(*refusals)


def described(status: int, about: str, *media_types: str) -> dict[int | str, Any]:
    """For the OpenAPI document: an answer that is no JSON of ours."""
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
