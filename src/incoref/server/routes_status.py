"""Whether the server is alive and ready, and what it has done: for those who run it."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response

from incoref.server.problems import STOPPING, Refused
from incoref.server.routing import Service, described, json_response, problems

router = APIRouter(tags=["status"])


@router.get("/healthz", response_model=None, operation_id="healthz", summary="The process answers")
async def healthz() -> Response:
    return json_response({"status": "ok"})


@router.get(
    "/readyz",
    response_model=None,
    responses=problems(503),
    operation_id="readyz",
    summary="The server takes requests, and its store can be used",
)
async def readyz(service: Service) -> Response:
    if service.stopping:
        raise Refused(STOPPING, "the server is being stopped")
    await asyncio.to_thread(service.store.check)
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
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
