"""Send text to a session and receive its updates over one WebSocket.

A client frame is a JSON object as for ``POST …/feed``, or ``{"flush": true}``, or plain text, which counts as a
complete utterance. The server sends one frame per completed sentence, ``{"type": "update", "update": …}``, and then
``{"type": "done", …}``. If the request is refused, it sends ``{"type": "problem", …}`` with the problem details, and
the connection stays usable.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import APIRouter, WebSocket
from pydantic import ValidationError
from starlette.websockets import WebSocketDisconnect

from incoref.errors import IncorefError
from incoref.server import schemas
from incoref.server.commands import Flush, encoded
from incoref.server.middleware import SUBPROTOCOL
from incoref.server.problems import INVALID, Refused, refusal
from incoref.server.routes_sessions import command_of
from incoref.server.routing import checked_id, done, known, problem_response
from incoref.server.service import SessionService

router = APIRouter()

_LONGEST_PIECE = 1_000
"""Characters of running text processed at once, so that updates are sent as sentences end."""
_POLL_SECONDS = 1.0
_RESTARTING = 1012


@router.websocket("/v1/sessions/{id}/ws")
async def talk(socket: WebSocket, id: str) -> None:
    service: SessionService = socket.app.state.service
    try:
        await known(service, await checked_id(id))
        service.check_streams()
    except IncorefError as error:
        await socket.send_denial_response(problem_response(refusal(error)))
        return
    offered = socket.scope.get("subprotocols", ())
    await socket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
    try:
        with service.streaming():
            await _talk(socket, service, id)
    except WebSocketDisconnect:
        pass  # the client can repeat a request that has a sequence number


async def _talk(socket: WebSocket, service: SessionService, id: str) -> None:
    """Answer frames until the client disconnects or the server stops."""
    frames = asyncio.ensure_future(_frame(socket))
    answering: asyncio.Task[None] | None = None
    try:
        while not service.stopping:
            finished, _ = await asyncio.wait({frames}, timeout=_POLL_SECONDS)
            if not finished:
                continue
            frame = frames.result()
            frames = asyncio.ensure_future(_frame(socket))
            answering = asyncio.ensure_future(_answer(socket, service, id, frame))
            await asyncio.wait({answering, frames}, return_when=asyncio.FIRST_COMPLETED)
            if frames.done() and frames.exception() is not None:
                frames.result()  # raises if the client has disconnected
            await answering
        await socket.close(_RESTARTING)
    finally:
        frames.cancel()
        if answering is not None:
            answering.cancel()


async def _answer(socket: WebSocket, service: SessionService, id: str, frame: str) -> None:
    try:
        await _perform(socket, service, id, _request(frame))
    except IncorefError as error:
        refused = refusal(error)
        details = {**refused.to_json(), "kind": refused.kind.type, "retry_after": refused.retry_after}
        await _send(socket, {**details, "type": "problem"})


async def _frame(socket: WebSocket) -> str:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    text: str | None = message.get("text")
    return message["bytes"].decode("utf-8", "replace") if text is None else text


def _request(frame: str) -> schemas.FeedRequest | None:
    """Parse a frame; None means flush."""
    try:
        data = json.loads(frame)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        return schemas.FeedRequest(text=frame)
    if data == {"flush": True}:
        return None
    try:
        return schemas.FeedRequest.model_validate(data)
    except ValidationError as error:
        faults = (f"{'/'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()[:3])
        raise Refused(INVALID, "; ".join(faults)) from error


async def _perform(socket: WebSocket, service: SessionService, id: str, request: schemas.FeedRequest | None) -> None:
    for part in _parts(request):
        command = Flush() if part is None else command_of(part)
        record = await done(service.perform(id, command, part.sequence if part else None))
        for update in json.loads(record.answer)["updates"]:
            await _send(socket, {"type": "update", "event": record.number, "update": update})
    await _send(socket, {"type": "done", "event": record.number, "sequence": record.sequence})


def _parts(request: schemas.FeedRequest | None) -> list[schemas.FeedRequest | None]:
    """Split long running text into parts, unless it has a sequence number, which identifies a single request."""
    if request is None or request.final or request.sequence is not None or request.text is None:
        return [request]
    pieces = range(0, max(1, len(request.text)), _LONGEST_PIECE)
    return [request.model_copy(update={"text": request.text[i : i + _LONGEST_PIECE]}) for i in pieces]


async def _send(socket: WebSocket, value: dict[str, Any]) -> None:
    await socket.send_text(encoded(value).decode())
