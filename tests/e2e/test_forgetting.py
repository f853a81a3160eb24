"""What was deleted or forgotten is nowhere in the store's files, whatever happens to the processes."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import redis

import redis_server
from incoref.client import Session as RemoteSession
from incoref.errors import IncorefError
from incoref.resolver import Resolver
from incoref.server.commands import Forget, Introduce, Rename, Say
from incoref.server.limits import Limits
from incoref.server.memory_store import MemoryStore
from incoref.server.problems import STORE, Refused
from incoref.server.redis_store import RedisStore
from incoref.server.service import SessionService
from incoref.server.sqlite_store import SqliteStore
from incoref.server.store import Record, StoreFailed
from server_process import QuickServer

if TYPE_CHECKING:
    from tiny_models import TinyModels

NAME = "Xanthippe Quillfeather"


def files_with(folder: Path, words: str) -> list[str]:
    """The files of a store that hold some words."""
    parts = [part.encode() for part in words.split()]
    found = []
    for path in folder.rglob("*"):
        try:
            content = path.read_bytes() if path.is_file() else b""
        except FileNotFoundError:
            continue  # Redis writes its files under passing names
        if any(part in content for part in parts):
            found.append(path.name)
    return found


def talk(url: str, sentences: int = 30) -> RemoteSession:
    """A session of some length, with a participant who is to be forgotten."""
    session = RemoteSession(url)
    session.introduce(NAME)
    for number in range(sentences):
        session.say(f"Anna saw the man {number} . He left .", "Carl")
    return session


@pytest.mark.parametrize("ending", ["kill", "kill and restart"])
def test_sqlite_files_hold_nothing_deleted_or_forgotten(tiny: TinyModels, tmp_path: Path, ending: str) -> None:
    store = f"sqlite:{tmp_path / 'sessions.db'}"
    with QuickServer(tiny.fp32, store) as server:
        forgetting, deleting = talk(server.url), talk(server.url)
        other = RemoteSession(server.url)
        other.say("Berta stayed .")
        assert files_with(tmp_path, NAME)
        forgetting.forget(forgetting.entities[0])
        deleting.delete()
        server.kill()
    if ending == "kill and restart":
        with QuickServer(tiny.fp32, store) as server:
            assert RemoteSession(server.url, id=other.id).text == "Berta stayed .\n"
            assert RemoteSession(server.url, id=forgetting.id).sentences == 60
            server.kill()
    assert files_with(tmp_path, NAME) == []
    assert files_with(tmp_path, "Berta")


def test_a_killed_server_finishes_when_it_starts_again(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    store = SqliteStore(path)
    for id in ("ada", "bob"):
        store.create(id, "x", b"", 0)
        for number in range(1, 40):
            store.append(id, Record(number, None, NAME.encode() * number, b"answer"), 0)
    store.delete("ada")
    store.append("bob", Record(40, None, b"forget", b""), 0, b"state")
    copies = tmp_path / "as after a kill"  # the files as they are on disk now, without a clean close
    copies.mkdir()
    for file in tmp_path.glob("sessions.db*"):
        (copies / file.name).write_bytes(file.read_bytes())
    assert files_with(copies, NAME)
    SqliteStore(copies / "sessions.db")
    assert files_with(copies, NAME) == []
    store.close()


def test_another_process_that_reads_does_not_keep_it(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    store.create("ada", "x", b"", 0)
    store.append("ada", Record(1, None, NAME.encode(), b"answer"), 0)
    reader = subprocess.Popen(
        ["python3", "-c", READER, str(tmp_path / "sessions.db")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert reader.stdin is not None and reader.stdout is not None
    assert reader.stdout.readline() == "reading\n"
    store.delete("ada")
    with pytest.raises(StoreFailed, match="another process"):
        store.scrub()
    reader.communicate("\n")
    store.scrub()
    assert files_with(tmp_path, NAME) == []
    store.close()


def test_nothing_stays_behind_where_rows_have_moved(tmp_path: Path) -> None:
    """SQLite moves rows between its pages as they fill up and empty, and leaves copies where they were."""
    store = SqliteStore(tmp_path / "sessions.db")
    draw = random.Random(1)
    numbers = dict.fromkeys(range(24), 0)
    for id in numbers:
        store.create(f"{id}", "x", b"", 0)
    for _ in range(400):
        id = draw.choice(list(numbers))
        numbers[id] += 1
        words = b"Xanthippe-%d " % id * draw.choice((1, 3, 10, 40, 150))
        store.append(f"{id}", Record(numbers[id], None, words, words[:20], words[:40]), 0)
    gone = draw.sample(list(numbers), 18)
    for id in gone:
        if id % 2:
            store.delete(f"{id}")
        else:
            store.append(f"{id}", Record(numbers[id] + 1, None, b"forget", b""), 0, b"state")
    store.scrub()
    found = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    left = {int(id) for id in re.findall(rb"Xanthippe-(\d+) ", found)}
    assert left == set(numbers) - set(gone)
    store.close()


READER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN")
db.execute("SELECT count(*) FROM records").fetchone()
print("reading", flush=True)
sys.stdin.readline()
"""


def until(true: Callable[[], bool], seconds: float = 40) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    "settings", [(), ("--save", "3600 1000"), ("--save", "3600 1000", "--appendonly", "no")], ids=" ".join
)
def test_redis_writes_its_files_anew(tiny: TinyModels, settings: tuple[str, ...]) -> None:
    with redis_server.running(*settings) as url, QuickServer(tiny.fp32, url) as server:
        folder = Path(url.removeprefix("unix://")).parent
        admin: Any = redis.Redis.from_url(url)
        forgetting, deleting = talk(server.url), talk(server.url)
        if settings:
            admin.save()
        assert files_with(folder, NAME)
        forgetting.forget(forgetting.entities[0])
        deleting.delete()
        until(lambda: files_with(folder, NAME) == [] and not admin.exists("incoref:scrub"))
        assert RemoteSession(server.url, id=forgetting.id).sentences == 60


def test_files_are_written_anew_until_that_succeeds() -> None:
    """The first time, Redis has ended before it was done."""
    with redis_server.running() as url:
        folder = Path(url.removeprefix("unix://")).parent
        admin: Any = redis.Redis.from_url(url)
        store = RedisStore(url)
        store.create("ada", "x", NAME.encode(), 0)
        admin.config_set("rdb-key-save-delay", 10_000_000)  # a rewrite takes long
        store.delete("ada")
        store.scrub()
        admin.config_set("rdb-key-save-delay", 0)
        os.kill(child_of(admin), signal.SIGKILL)
        until(lambda: not admin.info("persistence")["aof_rewrite_in_progress"])
        assert files_with(folder, NAME)
        until(lambda: store.scrub() or not admin.exists("incoref:scrub"))
        assert files_with(folder, NAME) == []


def child_of(admin: Any) -> int:
    """The process that writes a Redis server's file."""
    parent = admin.info("server")["process_id"]
    return int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])


@pytest.mark.parametrize("forbidden", ["-bgrewriteaof", "-@dangerous"])
def test_a_redis_that_may_not_be_asked_is_warned_of(caplog: pytest.LogCaptureFixture, forbidden: str) -> None:
    with redis_server.running() as url:
        admin: Any = redis.Redis.from_url(url)
        rights = ["+@all", forbidden]
        admin.execute_command("ACL", "SETUSER", "ada", "on", "nopass", "~*", *rights)
        store = RedisStore(f"{url}?username=ada&password=x")
        store.create("ada", "x", NAME.encode(), 0)
        assert store.delete("ada")
        for _ in range(2):
            store.scrub()
        assert caplog.text.count("until somebody runs BGREWRITEAOF") == 1


def test_a_server_that_held_the_session_does_not_bring_it_back(tiny: TinyModels, tmp_path: Path) -> None:
    """Another process, which holds the state from before, stops in good order afterwards."""
    place = tmp_path / "sessions.db"
    stale = SessionService(Resolver(tiny.model), SqliteStore(place))
    with QuickServer(tiny.fp32, f"sqlite:{place}") as server:
        session = talk(server.url)
        stale.look(session.id, lambda live: live.session.text).result()
        stale.perform(session.id, Say("Berta left .")).result()
        again = RemoteSession(server.url, id=session.id)
        again.forget(again.entities[0])
        stale.stop()
        server.kill()
    assert files_with(tmp_path, NAME) == []
    with QuickServer(tiny.fp32, f"sqlite:{place}") as server:
        names = [entity.name for entity in RemoteSession(server.url, id=session.id).entities]
        assert names and NAME not in names


def test_a_session_that_leaves_memory_while_a_forget_waits(resolver: Resolver) -> None:
    store = MemoryStore()
    service = SessionService(resolver, store, Limits(memory=1))
    id = service.create("me").result()
    service.perform(id, Introduce(NAME)).result()
    for number in range(12):
        service.perform(id, Say(f"Anna saw the man {number} .")).result()
    held = replace(service._held.get(id))
    forgotten = service.perform(id, Forget("1"))
    service._submit_snapshot(id, held)  # what eviction does, with the state from before
    forgotten.result()
    service.stop()
    kept = [store.snapshot(id, number) for number in store.snapshots(id)]
    assert len(kept) == 1
    again = SessionService(resolver, store)
    assert NAME not in again.look(id, lambda live: [entity.name for entity in live.session.entities]).result()
    again.stop()


class ScrubFails(MemoryStore):
    scrubbed, failing = 0, True

    def scrub(self) -> None:
        if self.failing:
            raise StoreFailed("/secret: the log is in use")
        self.scrubbed += 1


def test_a_forget_that_is_half_done_says_so_and_its_retry_finishes(resolver: Resolver) -> None:
    store = ScrubFails()
    service = SessionService(resolver, store)
    id = service.create("me").result()
    service.perform(id, Introduce(NAME), 1).result()
    with pytest.raises(Refused, match="the entity is forgotten, but") as caught:
        service.perform(id, Forget("1"), 2).result()
    assert caught.value.kind is STORE and caught.value.more["changed"] == "yes"
    assert service.look(id, lambda live: live.session.entities).result() == []
    with pytest.raises(Refused, match="the entity is forgotten, but"):
        service.perform(id, Forget("1"), 2).result()
    store.failing = False
    assert json.loads(service.perform(id, Forget("1"), 2).result().answer) == {"gone": "1"}
    assert store.scrubbed
    service.stop()


class AppendFails(MemoryStore):
    failing = False

    def append(self, id: str, record: Record, now: float, state: bytes | None = None) -> None:
        if self.failing and state is not None:
            raise StoreFailed("/secret: the disk is full")
        super().append(id, record, now, state)


def test_a_forget_that_fails_changed_nothing(resolver: Resolver) -> None:
    store = AppendFails()
    service = SessionService(resolver, store)
    id = service.create("me").result()
    service.perform(id, Introduce("Anna"), 1).result()
    service.perform(id, Rename("1", NAME), 2).result()
    store.failing = True
    with pytest.raises(StoreFailed):
        service.perform(id, Forget("1"), 3).result()
    assert [entity.name for entity in service.look(id, lambda live: live.session.entities).result()] == [NAME]
    store.failing = False
    service.perform(id, Forget("1"), 3).result()
    (left,) = store.records(id)
    assert b"forget" in left.command and NAME.encode() not in left.command + left.answer + left.effect
    service.stop()


def test_a_forgotten_name_is_not_in_any_answer(tiny: TinyModels) -> None:
    with QuickServer(tiny.fp32, "memory") as server:
        session = talk(server.url, 2)
        session.forget(session.entities[0])
        for path in ("", "/document", "/export?format=json", "/export?format=html"):
            assert NAME not in httpx.get(f"{server.url}/v1/sessions/{session.id}{path}").text
        with pytest.raises(IncorefError, match="nothing to undo"):
            session.undo()
