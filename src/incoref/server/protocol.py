"""Limits enforced before a request reaches the application: size and time of headers, number of connections.

A subclass of uvicorn's HTTP protocol; it doesn't look at the content of requests.
"""

from __future__ import annotations

import asyncio
from asyncio.events import TimerHandle
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from incoref.server.limits import Limits

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class BoundedProtocol(HttpToolsProtocol):
    """A connection with limits on the time and size of request headers."""

    limits = Limits()
    waiting: ClassVar[dict[BoundedProtocol, None]] = {}
    """Connections without a request, longest-waiting first."""
    _header_bytes = 0
    """Bytes received since the start of the request, or since the last part of its body."""
    _header_timer: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._make_room()
        self._expect_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._header_bytes += len(data)
        super().data_received(data)
        if self._header_bytes > self.limits.headers:
            self._refuse(_TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._expect_headers()

    def on_headers_complete(self) -> None:
        self._stop_timer()
        self.waiting.pop(self, None)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._header_bytes = 0  # the next bytes may be headers of another request
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._header_bytes = 0
        self.waiting[self] = None

    def _expect_headers(self) -> None:
        self.waiting.setdefault(self)
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self.limits.header_seconds, self._refuse, _TOO_SLOW)

    def _stop_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _refuse(self, answer: bytes) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()

    def _make_room(self) -> None:
        """Close the connection that has waited longest without a request, or this one if all others have one."""
        longest = next((other for other in self.waiting if other._has_no_request), self)
        self.waiting.pop(longest, None)
        longest.transport.abort()

    @property
    def _has_no_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete


def bounded_protocol(limits: Limits) -> type[BoundedProtocol]:
    """Return the protocol class with these limits."""
    return type("BoundedProtocol", (BoundedProtocol,), {"limits": limits, "waiting": {}})
