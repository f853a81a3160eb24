"""ASGI middleware for every request: access checks, body limits, metrics and logging.

It refuses requests without the token, for an unknown host name or from another site's pages, and oversized bodies
before reading them. It cancels requests whose client has disconnected, adds security headers to every response, turns
uncaught exceptions into problem details, and records metrics and logs. The log contains neither text nor session ids.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
import traceback
from base64 import urlsafe_b64decode
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from incoref.server.commands import encoded
from incoref.server.metrics import Metrics
from incoref.server.problems import (
    BAD_REQUEST,
    FOREIGN,
    INTERNAL,
    MEDIA_TYPE,
    MISDIRECTED,
    TOO_LARGE,
    UNAUTHORIZED,
    Refused,
    refusal,
)

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SUBPROTOCOL = "incoref.v1"
TOKEN_SUBPROTOCOL = "incoref.token."

_BODY_SECONDS = 30
_CLIENT_GONE = 499
"""Status logged when the client disconnected; the same as nginx uses."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "WS"})
_OPEN_PATHS = ("/v1/shared/",)
_LONG_PATHS = frozenset({"/v1/recognise"})
_log = logging.getLogger("incoref.server")


@dataclass(frozen=True, slots=True)
class MiddlewareOptions:
    token: str | None = None
    """The bearer token that clients must send; None allows everyone."""
    hosts: frozenset[str] | None = None
    """Host names that the server accepts; None means any."""
    origins: frozenset[str] = frozenset()
    """Origins of other sites whose pages may send requests."""
    body: int = 1_000_000
    """Bytes in the body of a request."""
    long_body: int = 6_000_000
    """Bytes in the body of a request that only recognises a text."""
    log_text: bool = False
    """Whether to log the messages of unexpected errors, which may quote text."""


class Middleware:
    def __init__(self, app: App, options: MiddlewareOptions, metrics: Metrics) -> None:
        self._app, self._options = app, options
        self._digest = None if options.token is None else _digest(options.token)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status = time.perf_counter(), 0

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *_security_headers(scope["path"])]
            await send(message)

        try:
            self._check(scope)
            body = await self._body(scope, receive)
            if not await self._run(scope, body, receive, sent):
                status = _CLIENT_GONE
        except Exception as error:
            self._report(error)
            if not status:
                await _answer(refusal(error), sent)
        finally:
            self._account(scope, scope["method"], status, time.perf_counter() - started)

    async def _run(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> bool:
        """Run the application; cancel it if the client disconnects first. Returns whether it finished."""
        gone, given = asyncio.Event(), False

        async def received() -> Message:
            nonlocal given
            if not given:
                given = True
                return {"type": "http.request", "body": body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        async def run() -> None:
            await self._app(scope, received, send)

        running, watching = asyncio.create_task(run()), asyncio.create_task(watch())
        try:
            await asyncio.wait({running, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                running.cancel()
            await running
        except asyncio.CancelledError:
            if not gone.is_set():
                raise
            return False
        finally:
            watching.cancel()
            running.cancel()
        return True

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status = time.perf_counter(), 101
        try:
            self._check(scope)
            await self._app(scope, receive, send)
        except Refused as error:
            status = error.kind.status
            await _deny(error, scope, receive, send)
        except Exception as error:
            self._report(error)
            status = INTERNAL.status
            await send({"type": "websocket.close", "code": 1011})
        finally:
            self._account(scope, "WS", status, time.perf_counter() - started)

    def _check(self, scope: Scope) -> None:
        headers = _headers(scope)
        host = headers.get("host", "")
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if self._options.hosts is not None and name.lower() not in self._options.hosts:
            raise Refused(MISDIRECTED, "use a host name that the server answers to; --allow-host adds one")
        origin = headers.get("origin")
        if origin is not None and origin not in self._options.origins and _host_of(origin) != host:
            raise Refused(FOREIGN, "this came from a page of another site; --allow-origin allows a site's pages")
        if self._digest is not None and _is_guarded(scope["path"]) and scope.get("method") != "OPTIONS":
            given = _token(scope, headers)
            if given is None or not hmac.compare_digest(_digest(given), self._digest):
                raise Refused(UNAUTHORIZED, "send the header 'Authorization: Bearer TOKEN'")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        headers = _headers(scope)
        limit = max(self._options.body, self._options.long_body if scope["path"] in _LONG_PATHS else 0)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal()):
            raise Refused(BAD_REQUEST, "the Content-Length header is not a number")
        if len(length) > 15 or int(length) > limit:
            raise _too_large(limit)
        parts, size = [], 0
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(BAD_REQUEST, "the connection was closed before the request was complete")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > limit:
                        raise _too_large(limit)
                    if not message.get("more_body"):
                        break
        except TimeoutError as error:
            raise Refused(BAD_REQUEST, f"the body did not arrive within {_BODY_SECONDS} seconds") from error
        if size and headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise Refused(MEDIA_TYPE, "send JSON with the header 'Content-Type: application/json'")
        return b"".join(parts)

    def _report(self, error: Exception) -> None:
        """Log an unexpected error without its message, which may quote text."""
        if refusal(error).kind is not INTERNAL:
            return
        if self._options.log_text:
            _log.error("unexpected error", exc_info=error)
            return
        places = (f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__))
        _log.error("unexpected %s at %s", type(error).__name__, " > ".join(places))

    def _account(self, scope: Scope, method: str, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        method = method if method in _METHODS else "other"  # clients can invent methods, and each would be a label
        self._metrics.requests.labels(route, method, str(status)).inc()
        if method != "WS" and not route.endswith("/events"):
            self._metrics.request_seconds.labels(route).observe(seconds)
        _log.info("%s %s %d %.1f ms", method, route, status, 1000 * seconds)


def _too_large(limit: int) -> Refused:
    return Refused(TOO_LARGE, f"a body may have at most {limit} bytes: send the text in parts", limit=limit)


def _digest(token: str) -> bytes:
    # Digests have equal length, so that timing doesn't reveal the length of the token.
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # "http://["
        return None


def _is_guarded(path: str) -> bool:
    return path == "/metrics" or (path.startswith("/v1/") and not path.startswith(_OPEN_PATHS))


def _token(scope: Scope, headers: dict[str, str]) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    # Pages can't set WebSocket headers, so they send the token as a subprotocol, in URL-safe base64.
    for offered in scope.get("subprotocols", ()):
        if offered.startswith(TOKEN_SUBPROTOCOL):
            data = offered.removeprefix(TOKEN_SUBPROTOCOL)
            try:
                return urlsafe_b64decode(data + "=" * (-len(data) % 4)).decode("utf-8", "surrogateescape")
            except ValueError:
                return None
    return None


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _security_headers(path: str) -> Iterable[tuple[bytes, bytes]]:
    yield b"content-security-policy", CONTENT_SECURITY_POLICY.encode()
    yield b"x-content-type-options", b"nosniff"
    yield b"referrer-policy", b"no-referrer"
    if path.startswith("/v1/"):
        yield b"cache-control", b"no-store"


def problem_headers(error: Refused) -> dict[str, str]:
    headers = {"content-type": "application/problem+json"}
    if error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    if error.kind is UNAUTHORIZED:
        headers["www-authenticate"] = "Bearer"
    return headers


def _raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _answer(error: Refused, send: Send) -> None:
    body = encoded(error.to_json())
    # The rest of an unread body must not be parsed as the next request.
    headers = {**problem_headers(error), "content-length": str(len(body)), "connection": "close"}
    await send({"type": "http.response.start", "status": error.kind.status, "headers": _raw(headers)})
    await send({"type": "http.response.body", "body": body})


async def _deny(error: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a WebSocket handshake."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    headers = _raw(problem_headers(error))
    await send({"type": "websocket.http.response.start", "status": error.kind.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": encoded(error.to_json())})
