"""The server as a real process: killed at any moment, stopped in good order, shared by several."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from typer.testing import CliRunner
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import redis_server
from incoref.cli import app
from incoref.client import AsyncSession, ServerError
from incoref.client import Session as RemoteSession
from incoref.errors import IncorefError
from incoref.resolver import Resolver
from incoref.session.session import Session
from incoref.session.updates import Message, Update
from incoref.types import Document
from server_process import QuickServer, ServerProcess

if TYPE_CHECKING:
    from tiny_models import TinyModels

KILLS = int(os.environ.get("INCOREF_KILLS", "8"))
"""How often a server is killed in a test; more, and for longer, when someone wants to know."""

AnySession = Session | RemoteSession
Step = Callable[[AnySession], Any]


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with redis_server.running() as url:
        yield url


@pytest.fixture(scope="module")
def server(tiny: TinyModels) -> Iterator[QuickServer]:
    with QuickServer(tiny.int8, "memory") as running:
        yield running


def random_steps(draw: random.Random, count: int) -> list[tuple[str, Step]]:
    """Things to do with a session, most of them saying something."""
    words = "Anna Carl the old man he she her . met saw left I".split()
    steps: list[tuple[str, Step]] = []
    for number in range(count):
        text = " ".join(draw.choices(words, k=draw.randint(1, 9))) + f" {number} ."
        speaker = draw.choice((None, "Anna", "Carl"))
        entity, other = str(draw.randint(1, 6)), str(draw.randint(1, 6))
        kinds: list[tuple[str, Step]] = [
            *[("say", lambda s, t=text, w=speaker: s.say(t, w))] * 8,
            *[("feed", lambda s, t=text, w=speaker: s.feed(t + " ", w))] * 4,
            ("flush", lambda s: s.flush()),
            ("undo", lambda s: s.undo()),
            ("rename", lambda s, e=entity, n=number: s.rename(e, f"Berta {n}")),
            ("merge", lambda s, e=entity, o=other: s.merge(e, o)),
            ("introduce", lambda s, n=number: s.introduce(f"Dora {n}")),
            ("detach", lambda s: s.detach((0, 4))),
            ("reassign", lambda s, e=entity: s.reassign((0, 4), e)),
        ]
        steps.append(draw.choice(kinds))
    return steps


def outcome(step: Step, session: AnySession) -> Any:
    """What a step gives, or that it can't be done."""
    try:
        return step(session)
    except ServerError as error:
        assert error.status == 422, error
    except IncorefError:
        pass
    return "impossible"


@dataclass
class Load:
    """A client that does one thing after the other, whatever happens to the server, until it is told to stop."""

    url: str
    seed: int
    session: RemoteSession = field(init=False)
    found: list[Any] = field(default_factory=list)
    error: BaseException | None = None
    enough: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.session = RemoteSession(self.url, patience=60)
        self.steps = random_steps(random.Random(self.seed), 5000)
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            for _, step in self.steps:
                if self.enough.is_set():
                    return
                self.found.append(outcome(step, self.session))
        except BaseException as error:
            self.error = error

    def check(self, resolver: Resolver) -> None:
        """All was answered as by a session that nothing ever happened to."""
        self.enough.set()
        self.thread.join()
        if self.error is not None:
            raise self.error
        local = resolver.session()
        for (name, step), answer in zip(self.steps, self.found, strict=False):
            assert answer == outcome(step, local), name
        assert self.session.text == local.text
        assert self.session.entities == local.entities
        assert self.session.sentences == local.sentences
        self.session.close()


def kill_under_load(tiny: TinyModels, resolver: Resolver, store: str, kills: int) -> None:
    """Kill a server at random moments while clients write to it."""
    draw = random.Random(kills)
    server = QuickServer(tiny.int8, store)
    loads = [Load(server.url, seed) for seed in range(3)]
    try:
        for _ in range(kills):
            goal = sum(len(load.found) for load in loads) + draw.randint(1, 12)
            while sum(len(load.found) for load in loads) < goal and not any(load.error for load in loads):
                time.sleep(0.002)
            time.sleep(draw.uniform(0, 0.05))
            server.kill()
            server = QuickServer(tiny.int8, store, server.port)
        for load in loads:
            load.check(resolver)
    finally:
        for load in loads:
            load.enough.set()
        server.kill()
        for load in loads:
            load.session._patience = 0
            load.thread.join()


def test_kills_under_load_lose_and_double_nothing_with_sqlite(
    tiny: TinyModels, resolver: Resolver, tmp_path: Path
) -> None:
    kill_under_load(tiny, resolver, f"sqlite:{tmp_path / 'sessions.db'}", KILLS)


def test_kills_under_load_lose_and_double_nothing_with_redis(
    tiny: TinyModels, resolver: Resolver, redis_url: str
) -> None:
    kill_under_load(tiny, resolver, redis_url, KILLS // 2)


def test_two_servers_share_their_sessions_in_redis(tiny: TinyModels, resolver: Resolver, redis_url: str) -> None:
    local = resolver.session()
    with QuickServer(tiny.int8, redis_url) as one, QuickServer(tiny.int8, redis_url) as two:
        first = RemoteSession(one.url)
        following = first.events()
        for number in range(6):
            text = f"Anna met the man {number} ."
            turn = first if number % 2 else RemoteSession(two.url, id=first.id)
            if turn is first:
                first = turn = RemoteSession(one.url, id=first.id)
            assert turn.say(text) == local.say(text)
            event, kind, data = next(following)
            assert (event, kind, data["updates"][0]["text"]) == (number + 1, "updates", text)
        assert first.entities == RemoteSession(two.url, id=first.id).entities == local.entities


def test_a_real_command_serves_is_killed_and_stops_in_good_order(
    tiny: TinyModels, resolver: Resolver, tmp_path: Path
) -> None:
    store = f"sqlite:{tmp_path / 'sessions.db'}"
    with ServerProcess(tiny.int8, store) as server:
        assert "this machine only" in server.greeting
        session = RemoteSession(server.url)
        said = [session.say(f"Anna saw Carl {number} .") for number in range(3)]
        server.kill()
    with ServerProcess(tiny.int8, store, port=server.port) as server:
        said += [session.say("She left .")]
        local = resolver.session()
        assert said == [*(local.say(f"Anna saw Carl {number} .") for number in range(3)), local.say("She left .")]

        answers: list[int] = []

        def ask(number: int) -> None:
            with httpx.Client(base_url=server.url, timeout=60) as http, contextlib.suppress(httpx.TransportError):
                while True:
                    path = f"/v1/sessions/{session.id}/feed"
                    answers.append(http.post(path, json={"text": f"Carl left {number} ."}).status_code)
                    if answers[-1] == 503:
                        return

        askers = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
        for asker in askers:
            asker.start()
        time.sleep(0.3)
        server.ask_to_stop()
        for asker in askers:
            asker.join()
        code, said_at_the_end = server.ended()
        assert code == 0
        assert said_at_the_end == ""
        assert set(answers) <= {200, 503}
    with QuickServer(tiny.int8, store) as again:
        after = RemoteSession(again.url, id=session.id)
        assert after.sentences == 4 + answers.count(200)


def test_a_client_goes_on_when_the_server_comes_back(tiny: TinyModels, tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path / 'sessions.db'}"
    server = QuickServer(tiny.int8, store)
    session = RemoteSession(server.url)
    following = session.events()
    session.say("Anna left .")
    assert next(following)[:2] == (1, "updates")
    server.kill()
    with QuickServer(tiny.int8, store, server.port):
        session.say("She stayed .")
        assert next(following)[:2] == (2, "updates")
        session.delete()
        assert list(following) == []
        with pytest.raises(ServerError, match="404"):
            session.say("He .")


def test_a_client_asks_again_when_a_proxy_has_lost_the_answer(server: QuickServer) -> None:
    lost: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        """Passes every request on, and loses the first answer to each feed."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {"content-type": "application/json"}
            answer = httpx.post(server.url + self.path, content=body, headers=headers, timeout=60)
            if self.path.endswith("/feed") and body.decode() not in lost:
                lost.append(body.decode())
                self.answer(502, b"<html>Bad Gateway</html>", "Wed, 21 Oct 2015 07:28:00 GMT")
            else:
                self.answer(answer.status_code, answer.content, "0")

        def answer(self, status: int, content: bytes, again: str) -> None:
            self.send_response(status)
            self.send_header("retry-after", again)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever).start()
        try:
            session = RemoteSession(f"http://127.0.0.1:{proxy.server_port}")
            updates = [update for text in ("Anna left .", "She stayed .") for update in session.say(text)]
        finally:
            proxy.shutdown()
    assert len(lost) == 2
    assert [update.sentence for update in updates] == [0, 1]
    assert RemoteSession(server.url, id=session.id).text == "Anna left .\nShe stayed .\n"


def test_the_client_does_what_a_local_session_does(server: QuickServer, resolver: Resolver) -> None:
    options = {"runners_up": 2, "trace": True, "history": 6}
    local, remote = resolver.session(**options), RemoteSession(server.url, **options)
    document = resolver.resolve("Anna saw the dog . It left .", id="given")
    half = [Message("Carl met her .", "Anna", 7, 1.5), "The old m", "an left . He"]
    steps: list[Step] = [
        lambda s: s.options,
        lambda s: s.say("Anna saw Carl . He left .", "Berta", "first", time=3),
        lambda s: s.say_words(["Do", "n't", "tell", "Anna"], text="Don't tell Anna"),
        lambda s: s.say_words([]),
        lambda s: s.read(document),
        *[lambda s, item=item: s.hear(item) for item in half],
        lambda s: s.flush(),
        lambda s: s.introduce("Dora Kern", type="person", speaker="dora"),
        lambda s: s.say("I met the \ud800 man .", "dora"),
        lambda s: s.rename(s.entities[0], "Anna Weber"),
        lambda s: s.merge(s.entities[0], s.entities[1]),
        lambda s: s.detach(s.entities[0].mentions[-1]),
        lambda s: s.reassign((s.entities[0].mentions[0].start, s.entities[0].mentions[0].end), s.entities[-1]),
        lambda s: s.split(s.entities[-1].id, s.entities[-1].mentions[:1]),
        lambda s: outcome(lambda s: s.detach((1, 2)), s),
        lambda s: outcome(lambda s: s.detach(None), s),  # type: ignore[arg-type]
        lambda s: s.undo(),
        lambda s: s.forget(s.entities[-1].id),
        lambda s: outcome(lambda s: s.undo(), s),
        lambda s: outcome(lambda s: s.rename("99", "x"), s),
        lambda s: s.say("She left .") + s.fork().say("He stayed ."),
        lambda s: (s.text, s.text_start, s.sentences, s.tokens, s.entities, s.resolved_text()),
        lambda s: (s.document("mine"), s.document(singletons=False)),
        lambda s: resolver.restore(s.save()).say("And then ."),
    ]
    for number, step in enumerate(steps):
        assert step(remote) == step(local), number
    assert isinstance(remote.say("Anna .")[0], Update)
    assert isinstance(remote.document(), Document)
    view = remote.share()
    assert httpx.get(view).json()["sentences"] == remote.sentences
    remote.unshare()
    assert httpx.get(view).status_code == 404


def test_a_websocket_over_the_wire(server: QuickServer) -> None:
    session = RemoteSession(server.url)
    address = server.url.replace("http", "ws") + f"/v1/sessions/{session.id}/ws"
    with connect(address) as socket:
        socket.send("Anna left . He stayed .")
        found = [json.loads(socket.recv(timeout=30)) for _ in range(3)]
    assert [message["type"] for message in found] == ["update", "update", "done"]
    assert session.sentences == 2
    session.delete()
    with pytest.raises(InvalidStatus) as caught:
        connect(address)
    assert caught.value.response.status_code == 404
    assert json.loads(caught.value.response.body or b"{}")["type"] == "urn:incoref:problem:not-found"
    with pytest.raises(InvalidStatus, match="403"):
        connect(address, origin="https://elsewhere.example")


def blocks_of(kind: str) -> list[str]:
    page = (Path(__file__).resolve().parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


def test_the_python_examples_of_the_documentation_run(server: QuickServer) -> None:
    examples = blocks_of("python client")
    assert len(examples) == 2
    for example in examples:
        exec(compile(example.replace("http://127.0.0.1:8000", server.url), "server.md", "exec"), {})


def test_the_tour_of_the_documentation_runs(server: QuickServer) -> None:
    if shutil.which("curl") is None:
        pytest.skip("needs curl; on Debian and Ubuntu: apt-get install curl")
    (tour,) = blocks_of("sh tour")
    tour = tour.replace("http://127.0.0.1:8000", server.url).replace("curl -s", "curl -s --fail-with-body")
    done = subprocess.run(["bash", "-euc", tour], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "event: updates" in done.stdout


def test_the_client_says_what_is_wrong(server: QuickServer) -> None:
    with pytest.raises(ServerError, match="404") as caught:
        RemoteSession(server.url, id="0" * 32)
    assert caught.value.problem["type"] == "urn:incoref:problem:not-found"
    with pytest.raises(IncorefError, match="can't be reached"):
        RemoteSession("http://127.0.0.1:1", patience=0)
    with pytest.raises(IncorefError, match="undo"):
        RemoteSession(server.url, id="0" * 32, undo=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "give a token"),
        (["--host", "example.org"], "give a token"),
        (["--token", " "], "printable ASCII"),
        (["--token", "open sesame"], "printable ASCII"),
        (["--token", "ouvre-toi, sésame"], "printable ASCII"),
        (["--store", "sqlite::memory:"], "its own database"),
        (["--limit", "everything=1"], "NAME=NUMBER"),
        (["--limit", "idle=0"], "more than 0"),
        (["--store", "floppy:a"], "is not a store"),
        (["--log-level", "loud"], "log level"),
        (["--host", "203.0.113.1", "--token", "x"], "can't listen"),
    ],
)
def test_what_can_not_be_served_is_refused_with_a_reason(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["serve", "--port", "0", *arguments])
    assert isinstance(result.exception, IncorefError)
    assert message in str(result.exception)


def test_a_session_for_asyncio_has_the_methods_of_a_local_one(server: QuickServer, resolver: Resolver) -> None:
    async def run() -> None:
        local = resolver.session(runners_up=2)
        async with await AsyncSession.open(server.url, runners_up=2) as remote:
            assert await remote.say("Anna saw the old man .", "Carl") == local.say("Anna saw the old man .", "Carl")
            await asyncio.gather(*(remote.say(f"He saw {number} .") for number in range(5)))
            for number in range(5):
                local.say(f"He saw {number} .")
            assert await remote.text() == local.text
            one, other, *_ = await remote.entities()
            mention = (await remote.merge(one, other)).mentions[-1]
            local.merge(one, other)
            assert (await remote.detach(mention)).mentions == local.detach(mention).mentions
            assert await remote.entities() == local.entities
            fork = await remote.fork()
            await fork.undo()
            assert (await fork.sentences(), await remote.sentences()) == (5, 6)
            view = await remote.share()
            assert httpx.get(view).json()["sentences"] == 6
            with pytest.raises(ServerError, match="no entity '99'"):
                await remote.rename("99", "x")
            async with await AsyncSession.open(server.url, id=remote.id) as again:
                assert await again.text() == local.text
            await remote.delete()

    asyncio.run(run())
