"""Compare a server under load with the library on the same cores: throughput, latency, memory, no lost updates.

The server runs in its own process on this machine, with every feed on disk before it is answered. Live sessions
receive turns of real dialogues in round-robin order; a session whose dialogue ends is deleted and replaced by a new
one. Library and server alternate on the same turns, so that other load slows both equally, and must give the same
answers. Then the server continues alone, at half its maximum load to measure latency and at full load to measure
memory. In the end, every session must contain everything it was told, in order.

    python benchmarks/serving.py ../shared/corpora/mudoco
    python benchmarks/serving.py ../shared/corpora/mudoco --redis
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import incoref

Turn = tuple[str, str]
Found = list[tuple[int, int, str]]


def dialogues(folder: Path) -> Iterator[list[Turn]]:
    """Yield the turns of each dialogue with their speakers, repeating endlessly."""
    found = []
    for path in sorted(folder.glob("*.eval.jsonlines")):
        for line in path.read_text(encoding="utf-8").splitlines():
            data = json.loads(line)
            turns = zip(data["sentences"], data["speakers"], strict=True)
            found.append([(" ".join(words), speakers[0]) for words, speakers in turns if words])
    random.Random(1).shuffle(found)
    while True:
        yield from found


@dataclass
class Seat:
    """A local session and a remote one, with the dialogue that both receive."""

    turns: list[Turn] = field(default_factory=list)
    fresh: bool = True
    local: incoref.Session | None = None
    remote: str = ""
    expected: Found = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """The turns that the remote session has acknowledged."""

    def next_turn(self, source: Iterator[list[Turn]]) -> Turn:
        self.fresh = not self.turns
        if self.fresh:
            self.turns = list(reversed(next(source)))
        return self.turns.pop()


class Connection:
    """A keep-alive connection with a minimal HTTP client."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._used = 0.0

    async def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        if self._streams is None or time.monotonic() - self._used > 30:  # after that, the server may close it
            self._streams = await asyncio.open_connection(self._host, self._port)
        self._used = time.monotonic()
        reader, writer = self._streams
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\n"
        writer.write(head.encode() + b"content-length: %d\r\n\r\n" % len(data) + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        content = await reader.readexactly(int(length[1])) if length else b""
        if answer[9:10] != b"2":
            raise RuntimeError(f"{method} {path}: {answer[:30]!r} {content!r}")
        return json.loads(content) if content else {}

    def forget(self) -> None:
        """Drop a broken connection, so that the next request opens a new one."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Start a private Redis that flushes every change to disk before it answers; yields its URL."""
    socket = folder / "socket"
    settings = ("--port", "0", "--unixsocket", str(socket), "--dir", str(folder), "--save", "")
    durable = ("--appendonly", "yes", "--appendfsync", "always")
    with subprocess.Popen(["redis-server", *settings, *durable], stdout=subprocess.DEVNULL) as server:
        while not socket.exists():
            assert server.poll() is None, "redis-server did not start"
            time.sleep(0.01)
        try:
            yield f"unix://{socket}"
        finally:
            server.terminate()


class Server:
    def __init__(self, store: str, workers: int | None, *more: str, port: int = 0) -> None:
        command = [sys.executable, "-m", "incoref", "serve", "--port", str(port), "--log-level", "warning"]
        command += ["--store", store, *(() if workers is None else ("--workers", str(workers))), *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        found = re.search(r"http://(\S+):(\d+)", self.process.stdout.readline())
        assert found is not None, "the server did not start"
        self.host, self.port = found[1], int(found[2])

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024

    @property
    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


@dataclass(frozen=True)
class Cores:
    """CPU affinity: server and library take turns on the same cores; clients use the others, if any."""

    ours: set[int]
    clients: set[int]

    @classmethod
    def chosen(cls, count: int | None) -> Cores:
        every = sorted(os.sched_getaffinity(0))
        ours = set(every[: count or max(1, len(every) // 2)])
        return cls(ours, set(every) - ours or ours)

    @contextmanager
    def for_us(self) -> Iterator[None]:
        """Run threads and processes started in this context on the cores of server and library."""
        os.sched_setaffinity(0, self.ours)
        try:
            yield
        finally:
            os.sched_setaffinity(0, self.clients)


class Benchmark:
    def __init__(self, folder: Path, sessions: int, server: Server, clients: int, cores: Cores) -> None:
        self.resolver = incoref.load()
        self.source = dialogues(folder)
        self.seats = [Seat() for _ in range(sessions)]
        self.server, self.cores = server, cores
        self.idle: asyncio.Queue[Connection] = asyncio.Queue()
        for _ in range(clients):
            self.idle.put_nowait(Connection(server.host, server.port))
        self.wrong = 0

    def bare(self, turns: list[Turn]) -> float:
        """Return the seconds that the library takes to read one turn in every session."""

        def read(place: int) -> None:
            seat, (text, speaker) = self.seats[place], turns[place]
            if seat.fresh or seat.local is None:
                seat.local = self.resolver.session()
            updates = seat.local.say(text, speaker)
            seat.expected = [(m.start, m.end, m.entity) for update in updates for m in update.mentions]

        started = time.perf_counter()
        with self.cores.for_us(), ThreadPoolExecutor(len(self.cores.ours)) as pool:
            list(pool.map(read, range(len(turns))))
        return time.perf_counter() - started

    async def begin(self, seat: Seat) -> None:
        connection = await self.idle.get()
        if seat.remote:
            await connection.ask("DELETE", f"/v1/sessions/{seat.remote}")
        seat.remote, seat.told = (await connection.ask("POST", "/v1/sessions"))["id"], []
        self.idle.put_nowait(connection)

    async def tell(self, seat: Seat, turn: Turn, compare: bool = True) -> None:
        connection = await self.idle.get()
        body = {"text": turn[0], "speaker": turn[1], "sequence": len(seat.told) + 1}
        answer = await connection.ask("POST", f"/v1/sessions/{seat.remote}/feed", body)
        self.idle.put_nowait(connection)
        seat.told.append(turn[0])
        found = [(m["start"], m["end"], m["entity"]) for update in answer["updates"] for m in update["mentions"]]
        self.wrong += answer["event"] != len(seat.told) or (compare and found != seat.expected)

    async def served(self, turns: list[Turn], compare: bool = True) -> float:
        """Return the seconds that the server takes to read one turn in every session at full speed."""
        await asyncio.gather(*(self.begin(seat) for seat in self.seats if seat.fresh))
        started = time.perf_counter()
        await asyncio.gather(*(self.tell(seat, turn, compare) for seat, turn in zip(self.seats, turns, strict=True)))
        return time.perf_counter() - started

    async def whole(self) -> int:
        """Return how many sessions contain everything they were told, in order."""
        connection = await self.idle.get()
        states = [await connection.ask("GET", f"/v1/sessions/{seat.remote}") for seat in self.seats]
        self.idle.put_nowait(connection)
        return sum(
            state["text"].split() == " ".join(seat.told).split() and state["sequence"] == len(seat.told)
            for seat, state in zip(self.seats, states, strict=True)
        )

    async def latencies(self, turns: list[Turn], rate: float) -> list[float]:
        """Return latencies in seconds from when each request was due, at random times, ``rate`` per second."""
        await asyncio.gather(*(self.begin(seat) for seat in self.seats if seat.fresh))
        draw, found = random.Random(2), list[float]()
        due = time.perf_counter()

        async def one(seat: Seat, turn: Turn, at: float) -> None:
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            await self.tell(seat, turn, compare=False)
            found.append(time.perf_counter() - at)

        tasks = []
        for seat, turn in zip(self.seats, turns, strict=True):
            due += draw.expovariate(rate)
            tasks.append(one(seat, turn, due))
        await asyncio.gather(*tasks)
        return found

    async def run_slowly(self, rounds: int, rate: float) -> None:
        found = []
        for _ in range(rounds):
            turns = [seat.next_turn(self.source) for seat in self.seats]
            found += await self.latencies(turns, rate)
        marks = statistics.quantiles(found, n=100)
        print(f"at {rate:.1f} turns/s: p50 {1000 * marks[49]:.1f} ms, p99 {1000 * marks[98]:.1f} ms, ", end="")
        print(f"p99 / p50 = {marks[98] / marks[49]:.1f}; memory {self.server.megabytes:.0f} MB")

    async def run_on(self, rounds: int) -> None:
        """Print the server's memory per minute at full load."""
        print("\n| minute | turns | server's memory, MB |\n|---|---|---|")
        count, started, shown = 0, time.monotonic(), -1
        for _ in range(rounds):
            turns = [seat.next_turn(self.source) for seat in self.seats]
            await self.served(turns, compare=False)
            count += len(turns)
            minute = int((time.monotonic() - started) / 60)
            if minute > shown:
                print(f"| {minute} | {count} | {self.server.megabytes:.0f} |", flush=True)
                shown = minute

    async def run(self, rounds: int, slow_rounds: int, more_rounds: int) -> None:
        if rounds:
            await self.compare(rounds, slow_rounds)
        if more_rounds:
            await self.run_on(more_rounds)
        asked = len(self.seats) * (rounds + slow_rounds + more_rounds)
        print(f"wrong or lost answers: {self.wrong} of {asked}")
        print(f"sessions that hold what they were told, in order: {await self.whole()} of {len(self.seats)}")

    async def compare(self, rounds: int, slow_rounds: int) -> None:
        count = len(self.seats)
        bare, served = [], []
        bare_work = served_work = 0.0
        print("| round | library, turns/s | server, turns/s | server's memory, MB |\n|---|---|---|---|")
        for number in range(rounds):
            turns = [seat.next_turn(self.source) for seat in self.seats]
            before = time.process_time()
            bare.append(self.bare(turns))
            bare_work += time.process_time() - before
            before = self.server.processor_seconds
            served.append(await self.served(turns))
            served_work += self.server.processor_seconds - before
            speeds = f"{count / bare[-1]:.1f} | {count / served[-1]:.1f}"
            print(f"| {number + 1} | {speeds} | {self.server.megabytes:.0f} |", flush=True)
        share = sum(bare) / sum(served)
        rate = count * rounds / sum(served)
        print(f"\nserver: {rate:.1f} turns/s, {100 * share:.0f}% of the library's {count * rounds / sum(bare):.1f}")
        each = [1000 * work / (count * rounds) for work in (bare_work, served_work)]
        print(f"processor time a turn: library {each[0]:.1f} ms, server {each[1]:.1f} ms")
        if slow_rounds:
            await self.run_slowly(slow_rounds, rate / 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="with the dialogues, *.eval.jsonlines")
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--slow-rounds", type=int, default=2, help="at half load, for latencies")
    parser.add_argument("--more-rounds", type=int, default=0, help="of the server alone, for its memory")
    parser.add_argument("--redis", action="store_true", help="sessions in a Redis of our own instead of SQLite")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--cores", type=int, help="for the server and the library; half of them when not given")
    parser.add_argument("--workers", type=int, help="of the server; its own choice when not given")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # also stops the server
    cores = Cores.chosen(arguments.cores)
    with tempfile.TemporaryDirectory(prefix="serving") as name, ExitStack() as stack:
        folder = Path(name)
        store = stack.enter_context(redis_server(folder)) if arguments.redis else f"sqlite:{folder / 'sessions.db'}"
        with cores.for_us():
            server = Server(store, arguments.workers)
        try:
            benchmark = Benchmark(arguments.folder, arguments.sessions, server, arguments.clients, cores)
            asyncio.run(benchmark.run(arguments.rounds, arguments.slow_rounds, arguments.more_rounds))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
