"""A session that was shared, for those who may only look. Its own id is not told."""

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
    summary="What a shared session knows",
)
async def state(view: View, service: Service, since: Since = 0) -> Response:
    id = await _id(service, view)
    return await done(service.look(id, lambda live: json_response(views.session_view(live, since))))


@router.get(
    "/{view}/decision",
    response_model=None,
    responses=answers(schemas.DecisionOfMention, 404, 409),
    operation_id="shared_decision",
    summary="Why a mention is what it is",
)
async def decision(view: View, start: Place, end: Place, service: Service) -> Response:
    return await decision_response(service, await _id(service, view), start, end)


@router.get(
    "/{view}/export",
    response_class=Response,
    response_model=None,
    responses=EXPORTED,
    operation_id="shared_export",
    summary="The session in a format of its own",
)
async def export(view: View, service: Service, format: ExportFormat = "json") -> Response:
    return await export_response(service, await _id(service, view), format)


@router.get(
    "/{view}/events",
    response_class=StreamingResponse,
    response_model=None,
    responses=EVENT_STREAM | problems(404),
    operation_id="shared_events",
    summary="What happens, as it happens",
)
async def stream(
    view: View, service: Service, after: After = 0, last_event_id: Annotated[str | None, Header()] = None
) -> Response:
    return await event_response(service, await _id(service, view), after, last_event_id)
