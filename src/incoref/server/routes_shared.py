"""Read-only views of shared sessions. The session's own id is not revealed."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Header, Response
from fastapi.responses import StreamingResponse

from incoref.server import schemas, views
from incoref.server.routes_sessions import (
    EVENT_STREAM,
    EXPORTED,
    After,
    ExportFormat,
    Place,
    Since,
    Singletons,
    decision_response,
    event_response,
    export_response,
)
from incoref.server.routing import Service, View, answers, done, json_response, problems

router = APIRouter(prefix="/v1/shared", tags=["shared sessions"])


async def _id(service: Service, view: str) -> str:
    return await asyncio.to_thread(service.store.viewed, view)


@router.get(
    "/{view}",
    response_model=None,
    responses=answers(schemas.SessionView, 404, 409),
    operation_id="shared_state",
    summary="The state of a shared session",
)
async def state(view: View, service: Service, since: Since = 0) -> Response:
    id = await _id(service, view)
    return await done(service.look(id, lambda live: json_response(views.session_view(live, since))))


@router.get(
    "/{view}/decision",
    response_model=None,
    responses=answers(schemas.DecisionOfMention, 404, 409),
    operation_id="shared_decision",
    summary="Explain a mention",
)
async def decision(view: View, start: Place, end: Place, service: Service) -> Response:
    return await decision_response(service, await _id(service, view), start, end, viewer=True)


@router.get(
    "/{view}/export",
    response_class=Response,
    response_model=None,
    responses=EXPORTED,
    operation_id="shared_export",
    summary="Export the session",
)
async def export(
    view: View, service: Service, format: ExportFormat = "json", singletons: Singletons = False
) -> Response:
    return await export_response(service, await _id(service, view), format, singletons, viewer=True)


@router.get(
    "/{view}/events",
    response_class=StreamingResponse,
    response_model=None,
    responses=EVENT_STREAM | problems(404),
    operation_id="shared_events",
    summary="Follow changes",
)
async def stream(
    view: View, service: Service, after: After = 0, last_event_id: Annotated[str | None, Header()] = None
) -> Response:
    """Only what happens from now on: fetch the state first, and again after a `reset`."""
    return await event_response(service, await _id(service, view), after, last_event_id, view)
