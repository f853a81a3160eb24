"""All stores do the same: any operations, in any order, give the same answers; what was written survives."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import redis_server
from incoref.errors import IncorefError
from incoref.server.memory_store import MemoryStore
from incoref.server.open_store import open_store
from incoref.server.redis_store import RedisStore
from incoref.server.sqlite_store import SqliteStore
from incoref.server.store import NoSession, OutOfOrder, Record, Store

IDS = ("ada", "bob", "cyd")
KINDS = ("memory", "sqlite", "redis")


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with redis_server.running() as url:
        yield url


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory, redis_url: str) -> Iterator[Callable[[str], Store]]:
    """Opens a new store of a kind."""
    stores: list[Store] = []

    def fresh(kind: str) -> Store:
        store: Store
        if kind == "memory":
            store = MemoryStore()
        elif kind == "sqlite":
            store = SqliteStore(tmp_path_factory.mktemp("store") / "sessions.db")
        else:
            store = RedisStore(redis_url, prefix=f"test{len(stores)}:")
        stores.append(store)
        return store

    yield fresh
    for store in stores:
        store.close()


@pytest.fixture(scope="module")
def stores(opened: Callable[[str], Store]) -> tuple[Store, ...]:
    return tuple(opened(kind) for kind in KINDS)


numbers = st.integers(0, 6)
ids = st.sampled_from(IDS)
data = st.binary(max_size=6)
times = st.integers(0, 50).map(float)
records = st.builds(Record, st.integers(1, 6), st.none() | st.integers(0, 4), data, data)
views = st.sampled_from(("v1", "v2"))
operations = st.one_of(
    st.tuples(st.just("create"), ids, st.sampled_from(("x", "y")), data, times),
    st.tuples(st.just("append_next"), ids, st.none() | st.integers(0, 9), data, data, times),
    st.tuples(st.just("append_next"), ids, st.none() | st.integers(0, 9), data, data, times),
    st.tuples(st.just("append"), ids, records, times),
    st.tuples(st.just("records"), ids, numbers, st.none() | numbers),
    st.tuples(st.just("with_sequence"), ids, st.integers(0, 9)),
    st.tuples(st.just("put_snapshot"), ids, numbers, data, numbers),
    st.tuples(st.just("snapshots"), ids),
    st.tuples(st.just("append_next"), ids, st.none() | st.integers(0, 9), data, data, times, st.binary(min_size=1)),
    st.tuples(st.sampled_from(("last", "scrub_all")), ids),
    st.tuples(st.just("copy_fresh"), ids, ids, st.sampled_from(("x", "y")), times),
    st.tuples(st.sampled_from(("head", "view", "delete")), ids),
    st.tuples(st.just("touch"), ids, times),
    st.tuples(st.just("expire"), times),
    st.tuples(st.just("count"), st.sampled_from((None, "x", "y"))),
    st.tuples(st.just("share_own"), ids, st.booleans()),
    st.tuples(st.just("viewed"), ids),
)


def perform(store: Store, name: str, *values: Any) -> Any:
    """What an operation gives, errors included. Ids and views are taken once, as the server takes random ones."""
    try:
        if name == "create":
            store.delete(values[0])
            return store.create(*values)
        if name == "append_next":
            id, sequence, command, answer, now, *state = values
            last = store.last(id)
            assert last == max((record.number for record in store.records(id)), default=0)
            if sequence is not None and store.with_sequence(id, sequence):
                sequence = None
            return store.append(id, Record(last + 1, sequence, command, answer, answer[:2]), now, *state)
        if name == "copy_fresh":
            id, twin, owner, now = values
            if id == twin:
                return None
            store.head(id)
            store.delete(twin)
            return store.copy(id, twin, owner, now)
        if name == "scrub_all":
            return store.scrub()
        if name == "share_own":
            return store.share(values[0], f"view of {values[0]}" if values[1] else None)
        if name == "viewed":
            return store.viewed(f"view of {values[0]}")
        return getattr(store, name)(*values)
    except (NoSession, OutOfOrder) as error:
        return type(error)


@settings(max_examples=60)
@given(st.lists(operations, max_size=25))
def test_all_stores_answer_alike(stores: tuple[Store, ...], steps: list[tuple[Any, ...]]) -> None:
    for id in IDS:
        for store in stores:
            store.delete(id)
    for step in (("create", "ada", "x", b"h", 1.0), *steps):
        memory, *others = (perform(store, *step) for store in stores)
        assert all(other == memory for other in others), (step, memory, others)
    for id in IDS:
        for name in ("records", "snapshots", "head", "view"):
            memory, *others = (perform(store, name, id) for store in stores)
            assert all(other == memory for other in others), (id, name, memory, others)
        numbered = perform(stores[0], "snapshots", id)
        for number in numbered if isinstance(numbered, list) else ():
            assert len({store.snapshot(id, number) for store in stores}) == 1
    assert len({store.count() for store in stores}) == 1


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, opened: Callable[[str], Store]) -> Store:
    return opened(request.param)


def test_a_session_that_is_not_there_is_told_whatever_is_asked(store: Store) -> None:
    for call in (
        lambda: store.records("nobody", 0, 0),
        lambda: store.snapshots("nobody"),
        lambda: store.with_sequence("nobody", 1),
        lambda: store.touch("nobody", 1.0),
        lambda: store.share("nobody", None),
        lambda: store.put_snapshot("nobody", 1, b"", 0),
        lambda: store.last("nobody"),
        lambda: store.copy("nobody", "twin", "x", 1.0),
    ):
        with pytest.raises(NoSession):
            call()
    assert store.count() == 0


def test_a_log_grows_by_one_at_a_time(store: Store) -> None:
    store.create("ada", "x", b"head", 1)
    store.append("ada", Record(1, None, b"c", b"a"), 1)
    for number in (0, 1, 3):
        with pytest.raises(OutOfOrder):
            store.append("ada", Record(number, None, b"", b""), 1)
    assert [record.number for record in store.records("ada")] == [1]


def test_of_writers_at_the_same_place_one_succeeds(store: Store) -> None:
    store.create("ada", "x", b"", 1)
    won: list[tuple[int, int]] = []

    def write(writer: int) -> None:
        for number in range(1, 21):
            try:
                store.append("ada", Record(number, None, b"%d" % writer, b""), 1)
                won.append((number, writer))
            except OutOfOrder:
                continue

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = store.records("ada")
    assert [record.number for record in kept] == list(range(1, len(kept) + 1))
    assert sorted(won) == [(record.number, int(record.command)) for record in kept]


def test_records_that_wait_are_written_in_one_transaction(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    for number in range(8):
        store.create(f"{number}", "x", b"", 1)
    statements: list[str] = []
    wrong: list[int] = []
    store._writer.set_trace_callback(statements.append)

    def write(session: int) -> None:
        try:
            store.append(f"{session}", Record(2 if session == 5 else 1, None, b"c", b"a"), 1)
        except OutOfOrder:
            wrong.append(session)

    threads = [threading.Thread(target=write, args=(session,)) for session in range(8)]
    with store._write_lock:  # as if the disk were slow
        for thread in threads:
            thread.start()
        until = time.monotonic() + 20
        while len(store._waiting) < len(threads) and time.monotonic() < until:
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert statements.count("COMMIT") == 1
    assert wrong == [5]  # who comes out of order spoils it for nobody else
    assert [len(store.records(f"{session}")) for session in range(8)] == [1, 1, 1, 1, 1, 0, 1, 1]
    store.close()


def test_a_twin_goes_its_own_way(store: Store) -> None:
    store.create("ada", "x", b"head", 1)
    store.append("ada", Record(1, 7, b"c", b"a"), 1)
    store.put_snapshot("ada", 1, b"state", 0)
    store.share("ada", "seen")
    store.copy("ada", "bob", "y", 2)
    store.append("bob", Record(2, 8, b"c2", b"a2"), 3)
    assert len(store.records("ada")) == 1
    assert store.with_sequence("bob", 7) == Record(1, 7, b"c", b"a")
    assert store.view("bob") is None
    assert store.delete("ada")
    assert store.snapshot("bob", 1) == b"state"
    assert (store.count("x"), store.count("y")) == (0, 1)


def test_a_deleted_session_leaves_nothing(store: Store) -> None:
    store.create("ada", "x", b"head", 1)
    store.append("ada", Record(1, 1, b"c", b"a"), 1)
    store.put_snapshot("ada", 1, b"state", 0)
    store.share("ada", "seen")
    assert store.delete("ada")
    assert not store.delete("ada")
    with pytest.raises(NoSession):
        store.viewed("seen")
    store.create("ada", "x", b"head", 1)
    assert store.records("ada") == store.snapshots("ada") == []
    assert store.with_sequence("ada", 1) is None


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_what_was_written_is_there_for_the_next_process(kind: str, tmp_path: Path, redis_url: str) -> None:
    place = f"sqlite:{tmp_path / 'sessions.db'}" if kind == "sqlite" else redis_url
    record = Record(1, 3, "é".encode(), bytes(range(256)))
    first = open_store(place)
    first.create("durable", "x", b"head", 1)
    first.append("durable", record, 2)
    second = open_store(place)
    assert second.records("durable") == [record]
    with pytest.raises(OutOfOrder):
        second.append("durable", record, 2)
    first.close()
    assert second.delete("durable")
    second.close()


@pytest.mark.parametrize("place", ["", "sqlite:", "postgres://x", "memory:x"])
def test_an_unknown_store_is_refused(place: str) -> None:
    with pytest.raises(IncorefError, match="sqlite:PATH"):
        open_store(place)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("not a database, and long enough to be looked at: " * 40, encoding="utf-8")
    with pytest.raises(IncorefError, match=r"text: SQLite"):
        open_store(f"sqlite:{path}")


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(IncorefError, match="upgrade"):
        open_store(f"sqlite:{path}")


FIRST_VERSION = """
CREATE TABLE sessions (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, head BLOB NOT NULL,
    used REAL NOT NULL, last INTEGER NOT NULL DEFAULT 0, view TEXT UNIQUE);
CREATE INDEX sessions_of_owner ON sessions (owner);
CREATE INDEX sessions_by_use ON sessions (used);
CREATE TABLE records (session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE, number INTEGER NOT NULL,
    sequence INTEGER, command BLOB NOT NULL, answer BLOB NOT NULL, PRIMARY KEY (session, number)) WITHOUT ROWID;
CREATE INDEX records_by_sequence ON records (session, sequence) WHERE sequence IS NOT NULL;
CREATE TABLE snapshots (session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE, number INTEGER NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY (session, number));
INSERT INTO sessions VALUES (1, 'ada', 'x', 'head', 5, 0, 'seen'), (2, 'bob', 'x', 'head', 6, 2, NULL);
INSERT INTO records VALUES (1, 1, NULL, 'Xanthippe', 'answer'), (2, 1, NULL, CAST('c1' AS BLOB), CAST('a1' AS BLOB)),
    (2, 2, 7, CAST('c2' AS BLOB), CAST('a2' AS BLOB));
INSERT INTO snapshots VALUES (2, 1, CAST('state' AS BLOB));
PRAGMA secure_delete=OFF;
DELETE FROM records WHERE session = 1;
PRAGMA user_version=1;
"""


@pytest.mark.parametrize("version", [1, 3])
def test_a_database_of_an_earlier_version_is_written_anew(tmp_path: Path, version: int) -> None:
    """It leaves behind what was deleted; also if that was interrupted halfway, in version 3."""
    path = tmp_path / "sessions.db"
    with sqlite3.connect(path) as db:
        db.executescript(FIRST_VERSION)
    db.close()
    assert b"Xanthippe" in path.read_bytes()
    if version == 3:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SqliteStore, "_rebuild", lambda _: None)
            SqliteStore(path).close()
    store = SqliteStore(path)
    assert [store.viewed("seen"), store.last("bob"), store.snapshots("bob")] == ["ada", 2, [1]]
    assert store.records("bob") == [Record(1, None, b"c1", b"a1"), Record(2, 7, b"c2", b"a2")]
    assert store.with_sequence("bob", 7) == Record(2, 7, b"c2", b"a2")
    assert store.snapshot("bob", 1) == b"state"
    store.append("bob", Record(3, 8, b"c3", b"a3"), 7)
    assert store.delete("bob")
    assert all(b"Xanthippe" not in file.read_bytes() for file in tmp_path.iterdir())
    store.close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT * FROM pragma_page_size, pragma_user_version").fetchone() == (1024, 4)
    db.close()


def test_redis_that_is_not_there_is_named() -> None:
    with pytest.raises(IncorefError, match="Redis"):
        open_store("redis://127.0.0.1:1/0")
