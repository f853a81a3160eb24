"""Test servers that are repeatedly killed under load: lost or repeated changes, wrong answers, latency.

Two server processes share one Redis behind one address. Clients read, feed, undo and follow many sessions; at regular
intervals, one process is killed without warning and restarted. A client whose connection breaks repeats its request
with the same sequence number. Every answer must have the next event's number. In the end, every session must contain
what it was told, streams must have received each event exactly once, and the answers of some sessions must equal the
library's. Alternatively, --long measures the cost of one very long session.

    python benchmarks/serving_load.py ../shared/corpora/mudoco --sessions 2000 --seconds 600
    python benchmarks/serving_load.py ../shared/corpora/mudoco --long 100000
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serving import Connection, Server, Turn, dialogues, redis_server

import incoref

_UNDO = 20
"""Default number of undo steps of a session."""
_SHARES = (("feed", 60), ("since", 20), ("state", 8), ("export", 4), ("undo", 8))
_AGAIN = (OSError, asyncio.IncompleteReadError)
_LIMITS = ("--limit", "client_sessions=1000000", "--limit", "sessions=1000000")


class Address:
    """A round-robin proxy: each connection goes to the next server that accepts it."""

    def __init__(self, ports: list[int]) -> None:
        self._ports, self._turn = ports, 0
        self._passing = set[asyncio.Task[None]]()

    async def open(self) -> int:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return int(self._listener.sockets[0].getsockname()[1])

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in self._ports:
            self._turn += 1
            try:
                theirs = await asyncio.open_connection("127.0.0.1", self._ports[self._turn % len(self._ports)])
            except OSError:
                continue
            for source, target in ((reader, theirs[1]), (theirs[0], writer)):
                task = asyncio.create_task(self._pass(source, target))
                self._passing.add(task)
                task.add_done_callback(self._passing.discard)
            return
        writer.close()

    @staticmethod
    async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                target.write(data)
                await target.drain()
        target.close()


@dataclass
class Told:
    """A session with a record of everything done to it."""

    id: str = ""
    changes: list[tuple[str, Turn | None, Any]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    steps: deque[int] = field(default_factory=lambda: deque(maxlen=_UNDO))
    """Number of texts before each step that can be undone."""

    @property
    def last(self) -> int:
        return len(self.changes)


class Load:
    def __init__(self, folder: Path, host: str, port: int, sessions: int) -> None:
        self.source = dialogues(folder)
        self.host, self.port = host, port
        self.told = [Told() for _ in range(sessions)]
        self.turns: list[Turn] = []
        self.seconds: dict[str, list[float]] = {name: [] for name, _ in _SHARES}
        self.faults = Counter[str]()
        self.again = 0
        self.events = 0
        self.over = False

    async def ask(self, link: Connection, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a request, retrying while connections break or servers stop; return the answer."""
        pause = 0.05
        while True:
            try:
                return await link.ask(method, path, body)
            except _AGAIN:
                link.forget()
            except RuntimeError as error:
                if " 503 " not in str(error) and " 429 " not in str(error):
                    raise
            self.again += 1
            await asyncio.sleep(pause)
            pause = min(1.0, 2 * pause)

    def next_turn(self) -> Turn:
        if not self.turns:
            self.turns = list(reversed(next(self.source)))
        return self.turns.pop()

    async def begin(self, mine: list[Told]) -> None:
        link = Connection(self.host, self.port)
        for told in mine:
            told.id = (await self.ask(link, "POST", "/v1/sessions"))["id"]

    async def client(self, mine: list[Told], rate: float, seed: int) -> None:
        """Send requests one at a time, due at random times."""
        draw, link, due = random.Random(seed), Connection(self.host, self.port), time.perf_counter()
        names, weights = zip(*_SHARES, strict=True)
        while not self.over:
            due += draw.expovariate(rate)
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            told, name = draw.choice(mine), draw.choices(names, weights)[0]
            if name == "undo" and not told.steps:
                name = "feed"
            started = time.perf_counter()
            await self.do(link, told, name)
            self.seconds[name].append(time.perf_counter() - started)
            due = max(due, time.perf_counter() - 5)  # after a stall, don't catch up on everything at once

    async def do(self, link: Connection, told: Told, name: str) -> None:
        path, number = f"/v1/sessions/{told.id}", told.last + 1
        if name == "feed":
            text, speaker = turn = self.next_turn()
            body = {"text": text, "speaker": speaker, "sequence": number}
            answer = await self.ask(link, "POST", f"{path}/feed", body)
            told.steps.append(len(told.texts))
            told.texts.append(text)
            told.changes.append((name, turn, found_in(answer["updates"])))
        elif name == "undo":
            answer = await self.ask(link, "POST", f"{path}/undo", {"sequence": number})
            del told.texts[told.steps.pop() :]
            told.changes.append((name, None, answer["sentences"]))
        else:
            query = {"since": f"?since={max(0, len(told.texts) - 2)}", "state": "", "export": "/export?format=json"}
            answer = await self.ask(link, "GET", path + query[name])
            if name == "export":
                self.faults["a wrong text in an export"] += answer["text"].split() != words(told)
                return
            self.faults["a state that is not the latest"] += (answer["event"], answer["sequence"] or 0) != (
                told.last,
                told.last,
            )
            self.faults["a wrong text"] += not " ".join(words(told)).endswith(" ".join(answer["text"].split()))
            return
        self.faults["a change lost or made twice"] += answer["event"] != told.last

    async def follow(self, told: Told) -> None:
        """Follow an event stream, resuming whenever it breaks; each event must arrive once, in order."""
        after = 0
        while not self.over:
            try:
                reader, writer = await asyncio.open_connection(self.host, self.port)
                path = f"/v1/sessions/{told.id}/events?after={after}"
                writer.write(f"GET {path} HTTP/1.1\r\nhost: {self.host}\r\n\r\n".encode())
                with contextlib.closing(writer):
                    while not self.over and (line := await asyncio.wait_for(reader.readline(), 30)):
                        if line.startswith(b"id: "):
                            number = int(line[4:])
                            self.faults["an event lost or sent twice"] += number != after + 1
                            after, self.events = number, self.events + 1
            except (*_AGAIN, TimeoutError):
                pass
            await asyncio.sleep(0.2)

    async def whole(self) -> int:
        """Return how many sessions contain what they were told."""
        link, count = Connection(self.host, self.port), 0
        for told in self.told:
            state = await self.ask(link, "GET", f"/v1/sessions/{told.id}")
            count += state["text"].split() == words(told) and state["event"] == told.last
        return count

    def checked(self, most: int) -> tuple[int, int]:
        """Return the number of answers compared with the library's, and of those that differ."""
        resolver, compared, wrong = incoref.load(), 0, 0
        for told in sorted(self.told, key=lambda told: -told.last)[:most]:
            session = resolver.session()
            for name, turn, answer in told.changes:
                if turn is None:
                    session.undo()
                    expected: Any = session.sentences
                else:
                    updates = session.say(*turn)
                    expected = [(m.start, m.end, m.entity) for update in updates for m in update.mentions]
                compared, wrong = compared + 1, wrong + (answer != expected)
                assert name in ("feed", "undo")
        return compared, wrong


def found_in(updates: list[dict[str, Any]]) -> list[tuple[int, int, str]]:
    return [(m["start"], m["end"], m["entity"]) for update in updates for m in update["mentions"]]


def words(told: Told) -> list[str]:
    return " ".join(told.texts).split()


class Servers:
    def __init__(self, store: str, count: int) -> None:
        self._store = store
        self.all = [Server(store, None, *_LIMITS) for _ in range(count)]
        self.kills = 0
        self.over = asyncio.Event()
        self.most: list[list[float]] = [[] for _ in range(count)]
        """The memory of each process before it was killed, MB."""

    @property
    def ports(self) -> list[int]:
        return [server.port for server in self.all]

    async def kill_every(self, seconds: float) -> None:
        while not self.over.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.over.wait(), seconds)
                return
            place = self.kills % len(self.all)
            old = self.all[place]
            self.most[place].append(old.megabytes)
            old.process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(old.process.wait)
            self.all[place] = await asyncio.to_thread(Server, self._store, None, *_LIMITS, port=old.port)
            self.kills += 1

    def stop(self) -> None:
        for server in self.all:
            server.stop()


async def failures(arguments: argparse.Namespace, servers: Servers) -> None:
    port = await Address(servers.ports).open()
    load = Load(arguments.folder, "127.0.0.1", port, arguments.sessions)
    shares = [load.told[place :: arguments.clients] for place in range(arguments.clients)]
    await asyncio.gather(*map(load.begin, shares))
    rate = arguments.rate / arguments.clients
    clients = [asyncio.create_task(load.client(mine, rate, seed)) for seed, mine in enumerate(shares)]
    streams = [asyncio.create_task(load.follow(told)) for told in load.told[: arguments.streams]]
    killing = asyncio.create_task(servers.kill_every(arguments.kill_every))
    begun = time.perf_counter()
    await asyncio.wait([*clients, *streams, killing], timeout=arguments.seconds, return_when=asyncio.FIRST_EXCEPTION)
    load.over = True
    servers.over.set()
    took = time.perf_counter() - begun
    await asyncio.gather(*clients, killing)
    for stream in streams:
        stream.cancel()
    report(load, servers, took)
    print(f"sessions that hold what they were told: {await load.whole()} of {len(load.told)}")
    print("answers compared with the library's: {}; different: {}".format(*load.checked(arguments.compared)))


def report(load: Load, servers: Servers, took: float) -> None:
    count = sum(map(len, load.seconds.values()))
    print(f"{took:.0f} s, {count} requests, {count / took:.1f} a second; {servers.kills} kills; ", end="")
    print(f"{load.again} requests sent again; {load.events} events to streams")
    print("\n| request | number | p50, ms | p99, ms | p99 / p50 |\n|---|---|---|---|---|")
    every = [second for seconds in load.seconds.values() for second in seconds]
    for name, seconds in (*load.seconds.items(), ("all", every)):
        if len(seconds) > 1:
            marks = [1000 * mark for mark in statistics.quantiles(seconds, n=100)]
            print(f"| {name} | {len(seconds)} | {marks[49]:.0f} | {marks[98]:.0f} | {marks[98] / marks[49]:.1f} |")
    for place, server in enumerate(servers.all):
        memory = ", ".join(f"{size:.0f}" for size in (*servers.most[place], server.megabytes))
        print(f"memory of process {place + 1}, before each kill and at the end, MB: {memory}")
    faults = {name: number for name, number in load.faults.items() if number}
    print(f"faults: {faults or 'none'}")


async def long_session(folder: Path, server: Server, place: Path, sentences: int) -> None:
    """Print the speed, latency and sizes as one session grows long."""
    turns = (turn for dialogue in dialogues(folder) for turn in dialogue)
    link = Connection(server.host, server.port)
    id = (await link.ask("POST", "/v1/sessions"))["id"]
    print("| sentences | sentences/s | ?since, ms | memory, MB | store, bytes a sentence |\n|---|---|---|---|---|")
    told, since = 0, 0
    for part in range(10):
        begun = time.perf_counter()
        while told < sentences * (part + 1) // 10:
            text, speaker = next(turns)
            answer = await link.ask("POST", f"/v1/sessions/{id}/feed", {"text": text, "speaker": speaker})
            told += len(answer["updates"])
        speed = (told - since) / (time.perf_counter() - begun)
        begun = time.perf_counter()
        await link.ask("GET", f"/v1/sessions/{id}?since={told - 1}")
        read = 1000 * (time.perf_counter() - begun)
        size = sum(path.stat().st_size for path in place.iterdir()) / told
        print(f"| {told} | {speed:.1f} | {read:.0f} | {server.megabytes:.0f} | {size:.0f} |", flush=True)
        since = told


@contextlib.contextmanager
def stopping(what: Any) -> Iterator[Any]:
    try:
        yield what
    finally:
        what.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="with the dialogues, *.eval.jsonlines")
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--kill-every", type=float, default=20, metavar="SECONDS")
    parser.add_argument("--rate", type=float, default=40, help="requests a second, all clients together")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--streams", type=int, default=50)
    parser.add_argument("--compared", type=int, default=50, help="sessions whose answers the library must give, too")
    parser.add_argument(
        "--long", type=int, metavar="SENTENCES", help="instead: one session of this length, in SQLite"
    )
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    with tempfile.TemporaryDirectory(prefix="load") as name, ExitStack() as stack:
        folder = Path(name)
        if arguments.long:
            limits = ("--limit", f"session_sentences={2 * arguments.long}")
            server = stack.enter_context(stopping(Server(f"sqlite:{folder / 'sessions.db'}", None, *limits)))
            asyncio.run(long_session(arguments.folder, server, folder, arguments.long))
        else:
            store = stack.enter_context(redis_server(folder))
            servers = stack.enter_context(stopping(Servers(store, 2)))
            asyncio.run(failures(arguments, servers))
            size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            print(f"Redis's files: {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
