"""Liveness, readiness and metrics, for operators of the server."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response

from incoref.server.metrics import MEDIA_TYPE
from incoref.server.problems import STOPPING, Refused
from incoref.server.routing import Service, described, json_response, problems

router = APIRouter(tags=["status"])


@router.get("/healthz", response_model=None, operation_id="healthz", summary="Liveness")
async def healthz() -> Response:
    return json_response({"status": "ok"})


@router.get(
    "/readyz",
    response_model=None,
    responses=problems(503),
    operation_id="readyz",
    summary="Readiness: the server accepts requests, and its store can be read and written",
)
async def readyz(service: Service) -> Response:
    if service.stopping:
        raise Refused(STOPPING, "the server is stopping")
    await asyncio.to_thread(service.check)
    return json_response({"status": "ready"})


@router.get(
    "/metrics",
    response_class=Response,
    response_model=None,
    responses=described(200, "In Prometheus's text format.", "text/plain") | problems(401),
    operation_id="metrics",
    summary="Counters, gauges and histograms",
)
async def metrics(service: Service) -> Response:
    text = await asyncio.to_thread(service.metrics.text)
    return Response(text, media_type=MEDIA_TYPE)
