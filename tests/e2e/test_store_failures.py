"""When the store fails, answers are true, reads go on, and readyz tells."""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import redis

import redis_server
from incoref.client import Session as RemoteSession
from server_process import QuickServer, ServerProcess

if TYPE_CHECKING:
    from tiny_models import TinyModels


@pytest.fixture
def redis_url() -> Iterator[str]:
    with redis_server.running() as url:
        yield url


def feed(url: str, id: str, text: str, sequence: int | None = None) -> httpx.Response:
    return httpx.post(f"{url}/v1/sessions/{id}/feed", json={"text": text, "sequence": sequence}, timeout=60)


def ready(url: str) -> int:
    return httpx.get(f"{url}/readyz", timeout=60).status_code


def reads_work(url: str, id: str, text: str) -> None:
    path = f"{url}/v1/sessions/{id}"
    assert httpx.get(path).json()["text"] == text
    assert httpx.get(f"{path}/export?format=conll").status_code == 200
    with httpx.stream("GET", f"{path}/events") as stream:
        assert any(line.startswith("id: 1") for line in stream.iter_lines())


def test_a_server_with_a_full_disk_still_serves_reads(tiny: TinyModels, tmp_path: Path) -> None:
    with ServerProcess(tiny.fp32, f"sqlite:{tmp_path / 'sessions.db'}") as server:
        session = RemoteSession(server.url)
        session.say("Anna left .")
        assert ready(server.url) == 200
        process = server._process.pid
        before = resource.prlimit(process, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        answer = feed(server.url, session.id, "She stayed .", 2)
        assert (answer.status_code, answer.json()["changed"]) == (503, "no")
        assert ready(server.url) == 503
        reads_work(server.url, session.id, "Anna left .\n")
        assert httpx.post(f"{server.url}/v1/sessions").status_code == 503
        resource.prlimit(process, resource.RLIMIT_FSIZE, before)
        assert ready(server.url) == 200
        assert feed(server.url, session.id, "She stayed .", 2).json()["event"] == 2


def test_a_session_that_is_not_in_memory_can_be_read_from_a_full_disk(tiny: TinyModels, tmp_path: Path) -> None:
    with ServerProcess(tiny.fp32, f"sqlite:{tmp_path / 'sessions.db'}", "--limit", "memory=1") as server:
        session, other = RemoteSession(server.url), RemoteSession(server.url)
        session.say("Anna left .")
        other.say("Berta left .")
        resource.prlimit(server._process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        reads_work(server.url, session.id, "Anna left .\n")
        reads_work(server.url, other.id, "Berta left .\n")


def test_a_server_starts_on_a_full_disk_and_serves_reads(tiny: TinyModels, tmp_path: Path) -> None:
    """What the log holds has no room in the database then."""
    store = f"sqlite:{tmp_path / 'sessions.db'}"
    with ServerProcess(tiny.fp32, store) as server:
        session = RemoteSession(server.url)
        for _ in range(30):
            session.say("Anna left .")
        server.kill()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # For processes that are started meanwhile: enough for SQLite's index of the log, which is in memory.
    resource.setrlimit(resource.RLIMIT_FSIZE, (32_768, before[1]))
    try:
        again = ServerProcess(tiny.fp32, store)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with again:
        assert ready(again.url) == 503
        reads_work(again.url, session.id, 30 * "Anna left .\n")


def test_a_redis_that_takes_no_writes(tiny: TinyModels, redis_url: str) -> None:
    with QuickServer(tiny.fp32, redis_url) as server:
        session = RemoteSession(server.url)
        session.say("Anna left .")
        assert ready(server.url) == 200
        admin: Any = redis.Redis.from_url(redis_url)
        admin.config_set("min-replicas-to-write", 1)
        answer = feed(server.url, session.id, "She stayed .", 2)
        assert (answer.status_code, answer.json()["changed"]) == (503, "no")
        assert ready(server.url) == 503
        reads_work(server.url, session.id, "Anna left .\n")
        admin.config_set("min-replicas-to-write", 0)
        assert ready(server.url) == 200
        assert feed(server.url, session.id, "She stayed .", 2).json()["event"] == 2


class LossyProxy:
    """Passes everything on to Redis; when it is armed, it loses the reply to the next record and the connection."""

    def __init__(self, url: str) -> None:
        self._target = url.removeprefix("unix://")
        self.armed = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            target = socket.socket(socket.AF_UNIX)
            target.connect(self._target)
            lost = threading.Event()
            threading.Thread(target=self._pass, args=(client, target, lost), daemon=True).start()
            threading.Thread(target=self._reply, args=(target, client, lost), daemon=True).start()

    def _pass(self, client: socket.socket, target: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 20):
                if self.armed and b"Berta" in data:
                    self.armed = False
                    lost.set()
                target.sendall(data)
        target.close()

    def _reply(self, target: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := target.recv(1 << 20):
                if lost.is_set():
                    break
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)
            client.close()


@pytest.mark.parametrize("sequence", [7, None])
def test_a_lost_reply_is_told_as_such_and_a_retry_is_exact(
    tiny: TinyModels, redis_url: str, sequence: int | None
) -> None:
    proxy = LossyProxy(redis_url)
    with QuickServer(tiny.fp32, proxy.url) as server:
        session = RemoteSession(server.url)
        session.say("Anna left .")
        proxy.armed = True
        answer = feed(server.url, session.id, "Berta stayed .", sequence)
        assert (answer.status_code, answer.json()["changed"]) == (503, "maybe")
        assert "may or may not" in answer.json()["detail"]
        if sequence is not None:
            assert feed(server.url, session.id, "Berta stayed .", sequence).json()["event"] == 2
        reads_work(server.url, session.id, "Anna left .\nBerta stayed .\n")
    proxy.listener.close()


def test_a_redis_that_is_gone_changed_nothing(tiny: TinyModels) -> None:
    with redis_server.running() as url:
        server = QuickServer(tiny.fp32, url)
        session = RemoteSession(server.url)
    with server:
        answer = feed(server.url, session.id, "Anna left .", 1)
        assert (answer.status_code, answer.json()["changed"]) == (503, "no")
        assert ready(server.url) == 503
        assert httpx.get(f"{server.url}/healthz").status_code == 200
