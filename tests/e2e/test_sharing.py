"""Viewers see what the session shows now, and nothing once the share is revoked."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

import redis_server
from incoref.client import Session as RemoteSession
from server_process import QuickServer

if TYPE_CHECKING:
    from tiny_models import TinyModels


@pytest.fixture(scope="module")
def server(tiny: TinyModels) -> Iterator[QuickServer]:
    with QuickServer(tiny.fp32, "memory") as running:
        yield running


class Stream:
    """The lines of an event stream, read in a thread of its own until it ends."""

    def __init__(self, url: str) -> None:
        self.lines: list[str] = []
        self._opened = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(url,), daemon=True)
        self._thread.start()
        assert self._opened.wait(30)

    def _read(self, url: str) -> None:
        # The server is killed when the tests are over.
        with contextlib.suppress(httpx.TransportError), httpx.stream("GET", url, timeout=60) as stream:
            for line in stream.iter_lines():
                self.lines.append(line)
                self._opened.set()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def until(self, words: str) -> None:
        end = time.monotonic() + 30
        while words not in self.text:
            assert time.monotonic() < end, self.text
            time.sleep(0.02)

    def ended(self) -> bool:
        self._thread.join(30)
        return not self._thread.is_alive()


def test_unsharing_ends_open_streams(server: QuickServer) -> None:
    session = RemoteSession(server.url)
    session.say("Anna left .")
    streams = [Stream(session.share() + "/events") for _ in range(3)]
    own = Stream(f"{server.url}/v1/sessions/{session.id}/events")
    session.say("Berta stayed .")
    for stream in streams:
        stream.until("Berta")
    session.unshare()
    for stream in streams:
        assert stream.ended()
        assert stream.lines[-3:] == ["event: end", "data: {}", ""]
    session.say("Carl came .")
    own.until("Carl")
    assert all("Carl" not in stream.text for stream in streams)


def test_unsharing_on_another_server_ends_open_streams(tiny: TinyModels) -> None:
    with (
        redis_server.running() as url,
        QuickServer(tiny.fp32, url) as one,
        QuickServer(tiny.fp32, url) as two,
    ):
        session = RemoteSession(one.url)
        view = session.share().removeprefix(one.url)
        stream = Stream(f"{two.url}{view}/events")
        session.unshare()
        assert stream.ended()
        assert "event: end" in stream.text


def test_a_new_share_does_not_revive_an_old_stream(server: QuickServer) -> None:
    session = RemoteSession(server.url)
    stream = Stream(session.share() + "/events")
    session.unshare()
    assert session.share()
    assert stream.ended()


def test_viewers_do_not_see_what_was_undone(server: QuickServer) -> None:
    session = RemoteSession(server.url, trace=True, runners_up=2)
    session.say("Anna left .")
    session.introduce("Quillfeather")
    session.say("Xanthippe stayed .")
    session.undo()
    session.say("Berta came .")
    view = session.share()
    for after in ("", "?after=0", "?after=1", "?after=99"):
        stream = Stream(f"{view}/events{after}")
        stream.until("event: reset")
        assert "Xanthippe" not in stream.text and "Quillfeather" not in stream.text
    stream = Stream(f"{view}/events?after=5")
    session.say("Carl saw her .")
    stream.until("Carl")
    assert "event: reset" not in stream.text
    for route in (
        "",
        "?since=0",
        "?since=1",
        "/export?format=json",
        "/export?format=html",
        "/export?format=resolved",
    ):
        assert "Xanthippe" not in httpx.get(view + route).text
    assert httpx.get(f"{view}/decision?start=12&end=21").status_code == 404


def test_viewers_do_not_see_what_history_dropped(server: QuickServer) -> None:
    session = RemoteSession(server.url, history=1)
    view = session.share()
    stream = Stream(f"{view}/events")
    session.say("Xanthippe left . Berta stayed .")
    stream.until("Berta")
    session.say("Carl came .")
    stream.until("Carl")
    assert "Xanthippe" not in stream.text
    late = Stream(f"{view}/events")
    late.until("event: reset")
    assert "Xanthippe" not in late.text and "Berta" not in late.text
    for route in ("", "?since=0", "/export?format=json", "/export?format=text"):
        assert "Xanthippe" not in httpx.get(view + route).text


def test_viewers_do_not_see_names_that_were_corrected_away(server: QuickServer) -> None:
    session = RemoteSession(server.url)
    session.introduce("Anna")
    view = session.share()
    stream = Stream(f"{view}/events?after=1")
    session.rename("1", "Xanthippe")
    stream.until("event: rename")
    assert "Xanthippe" not in stream.text
