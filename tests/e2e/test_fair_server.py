"""Nobody starves anybody: long requests give way, end with their client, and are bounded; so are connections."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from incoref.client import ServerError
from incoref.client import Session as RemoteSession
from server_process import ServerProcess

if TYPE_CHECKING:
    from tiny_models import TinyModels

LONG = "Anna saw the old man . " * 8_000
"""Takes many seconds to read, even with a small model."""


@pytest.fixture(scope="module")
def server(tiny: TinyModels) -> Iterator[ServerProcess]:
    limits = ("seconds=4", "headers=20000", "header_seconds=2", "connections=400", "participants=3", "entities=50")
    with ServerProcess(tiny.fp32, "memory", *(part for limit in limits for part in ("--limit", limit))) as running:
        yield running


def until(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def metric(server: ServerProcess, name: str) -> float:
    lines = httpx.get(f"{server.url}/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def test_a_short_request_is_answered_while_long_ones_run(tiny: TinyModels) -> None:
    ended: list[int] = []

    def ask(url: str) -> None:
        with contextlib.suppress(httpx.TransportError):  # when the server is killed in the end
            ended.append(httpx.post(f"{url}/feed", json={"text": LONG}, timeout=300).status_code)

    with ServerProcess(tiny.fp32, "memory") as server:
        short = RemoteSession(server.url)
        short.say("Berta left .")
        long = [RemoteSession(server.url) for _ in range(6)]
        urls = [f"{server.url}/v1/sessions/{session.id}" for session in long]
        threads = [threading.Thread(target=ask, args=(url,)) for url in urls]
        for thread in threads:
            thread.start()
        until(lambda: metric(server, "incoref_waiting") == 0)
        for _ in range(5):  # far fewer than the long ones take
            short.say("She stayed .")
        assert not ended
    for thread in threads:
        thread.join()


def test_a_request_that_takes_too_long_is_refused_and_changes_nothing(server: ServerProcess) -> None:
    session = RemoteSession(server.url)
    with pytest.raises(ServerError, match="send it in parts") as caught:
        session.say(LONG)
    assert caught.value.status == 413
    assert caught.value.problem["type"] == "urn:incoref:problem:too-slow"
    assert session.sentences == 0
    assert session.say("Anna left .")[0].sentence == 0


def test_a_request_ends_with_its_client(server: ServerProcess) -> None:
    session = RemoteSession(server.url)
    before = metric(server, "incoref_sentences_total")
    body = json.dumps({"text": LONG}).encode()
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", f"/v1/sessions/{session.id}/feed", body, {"content-type": "application/json"})
    time.sleep(0.5)
    connection.close()
    assert RemoteSession(server.url, id=session.id).sentences == 0  # answered after the request that was given up
    gone = [
        line
        for line in httpx.get(f"{server.url}/metrics").text.splitlines()
        if line.startswith("incoref_requests_total") and 'status="499"' in line
    ]
    assert gone
    assert metric(server, "incoref_sentences_total") == before


def test_a_websocket_request_ends_with_its_client(server: ServerProcess) -> None:
    session = RemoteSession(server.url)
    with connect(server.url.replace("http", "ws") + f"/v1/sessions/{session.id}/ws") as websocket:
        websocket.send(json.dumps({"text": LONG}))
        time.sleep(0.5)
    assert RemoteSession(server.url, id=session.id).sentences == 0


def test_large_headers_are_refused_before_they_are_stored(server: ServerProcess) -> None:
    before = resident(server)
    for _ in range(4):
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
            answer = b""
            try:
                for number in range(2_000):
                    line.sendall(b"x-%d: %s\r\n" % (number, b"a" * 30_000))
                answer = line.recv(100)
            except OSError:
                pass  # it was closed while we were still sending
            assert not answer or answer.startswith(b"HTTP/1.1 431")
    assert resident(server) - before < 50_000_000
    assert httpx.get(f"{server.url}/healthz").status_code == 200


@pytest.mark.parametrize("beginning", [b"0\r\n", b"1\r\n{\r\n0\r\n", b"1;"], ids=["no body", "trailers", "extension"])
def test_headers_after_the_body_are_limited(server: ServerProcess, beginning: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(b"POST /healthz HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n" + beginning)
        answer = b""
        with contextlib.suppress(OSError):
            for number in range(500):
                line.sendall(
                    b"%d" % number * 10_000 if beginning == b"1;" else b"x-%d: %s\r\n" % (number, b"a" * 30_000)
                )
            pytest.fail("all of it was taken")
        with contextlib.suppress(OSError):
            answer = line.recv(100)
        assert not answer or answer.startswith(b"HTTP/1.1 431")
    session = RemoteSession(server.url)
    body = iter([b'{"text": "', *[b"Anna left . "] * 2_000, b'"}'])  # of more parts than headers may have bytes
    answered = httpx.post(
        f"{server.url}/v1/sessions/{session.id}/feed", content=body, headers={"content-type": "application/json"}
    )
    assert answered.status_code in (200, 413)


def test_half_open_connections_do_not_stop_anybody(server: ServerProcess) -> None:
    lines = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(390)]
    try:
        for line in lines:
            line.sendall(b"GET /healthz HTTP/1.1\r\nhost: loc")
        more = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]  # over the limit
        for _ in range(5):
            assert httpx.get(f"{server.url}/healthz").status_code == 200
        for line in lines[-5:]:
            line.settimeout(20)
            with contextlib.suppress(ConnectionResetError):  # it made room for another
                assert line.recv(100)[:12] in (b"", b"HTTP/1.1 408")
        for line in more:
            line.close()
    finally:
        for line in lines:
            line.close()


def resident(server: ServerProcess) -> int:
    pages = Path(f"/proc/{server._process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096


def test_commands_without_text_count_against_limits(server: ServerProcess) -> None:
    session = RemoteSession(server.url)
    for number in range(3):
        session.introduce(f"Anna {number}")
    with pytest.raises(ServerError, match="at most 3 introduced participants"):
        session.introduce("Berta")
    with pytest.raises(ServerError, match="allows up to 50"):
        RemoteSession(server.url, max_entities=51)
    with pytest.raises(ServerError, match="another eviction policy"):
        RemoteSession(server.url, eviction="none")
    assert RemoteSession(server.url, eviction="icoref").options.max_entities == 50


def test_strange_requests_are_refused_politely(server: ServerProcess) -> None:
    session = RemoteSession(server.url)
    path = f"{server.url}/v1/sessions/{session.id}"
    for origin in ("http://[", "http://[::1", "null", "\xff"):
        assert httpx.get(path, headers={"origin": origin.encode("latin-1")}).status_code == 403  # type: ignore[dict-item]
    address = path.replace("http", "ws") + "/ws"
    with connect(address) as websocket:
        websocket.send("[" * 100_000)
        assert json.loads(websocket.recv(timeout=60))["type"] in ("update", "problem", "done")
    with pytest.raises(InvalidStatus, match="404"):
        connect(server.url.replace("http", "ws") + f"/v1/sessions/{'0' * 32}/ws")
    session = RemoteSession(server.url)
    session.say("Anna left .")
    for future in ("7", "99999999999999999999"):
        headers = {"last-event-id": future}
        with httpx.stream("GET", f"{server.url}/v1/sessions/{session.id}/events", headers=headers) as stream:
            lines = stream.iter_lines()
            names = [line for _, line in zip(range(6), lines, strict=False) if line.startswith("event")]
            assert names == ["event: reset"]


def test_refused_handshakes_are_no_errors_in_the_log(tiny: TinyModels) -> None:
    with ServerProcess(tiny.fp32, "memory", "--token", "sesame") as server:
        for header in ({}, {"authorization": "Bearer wrong"}):
            with pytest.raises(InvalidStatus, match="401"):
                connect(server.url.replace("http", "ws") + f"/v1/sessions/{'0' * 32}/ws", additional_headers=header)
        with pytest.raises(InvalidStatus, match="403"):
            connect(
                server.url.replace("http", "ws") + f"/v1/sessions/{'0' * 32}/ws", origin="https://elsewhere.example"
            )
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(b"nonsense\r\n\r\n")
            line.recv(100)
        server.ask_to_stop()
        assert server.ended() == (0, "")
