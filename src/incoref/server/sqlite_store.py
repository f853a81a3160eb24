"""A store in one SQLite file with a write-ahead log, for a single server.

Every append is on disk when it returns (``synchronous=FULL``). Writers take turns on one connection, and all waiting
appends are written in one transaction; readers use another connection and never wait for writers.

Deleted content is overwritten in the database (``secure_delete``); ``scrub`` then truncates the write-ahead log,
which would otherwise keep it until a clean stop. Opening the file does the same, in case the last process was killed.
SQLite doesn't overwrite the copies left behind when rows move between pages, so user text is kept in overflow pages,
which never move: each row starts with enough padding that only the padding is stored next to other rows.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from incoref.errors import IncorefError
from incoref.server.store import OutOfOrder, Record, StoreFailed, missing

_VERSION = 4
_PAGE_BYTES = 1024
_PADDING = (_PAGE_BYTES - 12) * 64 // 255 - 23
"""The most bytes of a row that SQLite stores in pages shared by rows; the rest goes to its overflow pages."""
_LOG_BYTES = 4_000_000
"""Size of the write-ahead log above which it is moved into the database."""
_SCRUB_MILLISECONDS = 2_000
"""How long ``scrub`` waits for readers in other processes."""
_BUSY_SECONDS = 30
_PROBE_BYTES = 65_536
"""Number of bytes that ``check`` writes: more than fits into the log's allocated pages on a full disk."""
_NOT_COMMITTED = frozenset({"SQLITE_FULL", "SQLITE_BUSY", "SQLITE_READONLY", "SQLITE_IOERR_WRITE"})
"""Errors of a commit that guarantee that nothing was stored."""
_TEXTS = f"""
CREATE TABLE records (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    sequence INTEGER,
    padding BLOB NOT NULL DEFAULT (zeroblob({_PADDING})),
    command BLOB NOT NULL,
    answer BLOB NOT NULL,
    effect BLOB NOT NULL DEFAULT x'',
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
CREATE INDEX records_by_sequence ON records (session, sequence) WHERE sequence IS NOT NULL;
CREATE TABLE snapshots (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    padding BLOB NOT NULL DEFAULT (zeroblob({_PADDING})),
    data BLOB NOT NULL,
    PRIMARY KEY (session, number)
) WITHOUT ROWID;
"""
_SCHEMA = f"""
CREATE TABLE sessions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    head BLOB NOT NULL,
    used REAL NOT NULL,
    last INTEGER NOT NULL DEFAULT 0,
    view TEXT UNIQUE
);
CREATE INDEX sessions_of_owner ON sessions (owner);
CREATE INDEX sessions_by_use ON sessions (used);
CREATE TABLE probe (data BLOB NOT NULL);
{_TEXTS}
"""
_UPGRADES = {
    1: """
ALTER TABLE records ADD COLUMN effect BLOB NOT NULL DEFAULT x'';
CREATE TABLE probe (data BLOB NOT NULL);
""",
    2: f"""
DROP INDEX records_by_sequence;
ALTER TABLE records RENAME TO old_records;
ALTER TABLE snapshots RENAME TO old_snapshots;
{_TEXTS}
INSERT INTO records (session, number, sequence, command, answer, effect)
    SELECT session, number, sequence, command, answer, effect FROM old_records;
INSERT INTO snapshots (session, number, data) SELECT session, number, data FROM old_snapshots;
DROP TABLE old_records;
DROP TABLE old_snapshots
""",
}
"""Migration from each version to the next."""
_TO_REBUILD = 3
"""The file version whose pages may still contain deleted data."""


class SqliteStore:
    def __init__(self, path: str | Path) -> None:
        self._path = str(path)
        self._write_lock, self._read_lock, self._waiting_lock = Lock(), Lock(), Lock()
        self._waiting: list[_Append] = []
        self._must_scrub = True
        try:
            # Only the owner may read user text; SQLite gives its auxiliary files the same mode.
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            self._writer = self._connected()
            self._prepare()
            self._reader = self._connected()
            # On a full disk the log may not fit into the database; it stays readable, and is scrubbed later.
            with suppress(sqlite3.OperationalError):
                self._truncate_log()
        except (sqlite3.Error, OSError) as error:
            raise StoreFailed(f"{self._path}: SQLite can't use this file: {error}") from error

    def create(self, id: str, owner: str, head: bytes, now: float) -> None:
        with self._writing() as db:
            db.execute("INSERT INTO sessions (id, owner, head, used) VALUES (?, ?, ?, ?)", (id, owner, head, now))

    def head(self, id: str) -> bytes:
        return bytes(self._session("head", id))

    def append(self, id: str, record: Record, now: float, state: bytes | None = None) -> None:
        mine = _Append(id, record, now, state)
        with self._waiting_lock:
            self._waiting.append(mine)
        # The first thread to get the lock writes all waiting appends, with a single flush to disk.
        with self._write_lock:
            if not mine.done:
                with self._waiting_lock:
                    batch, self._waiting = self._waiting, []
                self._append_all(batch)
            self._must_scrub |= state is not None
        if mine.error is not None:
            raise mine.error

    def _append_all(self, batch: list[_Append]) -> None:
        try:
            with self._transaction() as db:
                for one in batch:
                    one.write(db)
        except StoreFailed as error:
            for one in batch:
                one.error = error
        for one in batch:
            one.done = True

    def records(self, id: str, after: int = 0, most: int | None = None) -> list[Record]:
        key = self._session("key", id)
        rows = self._read(
            "SELECT number, sequence, command, answer, effect FROM records WHERE session = ? AND number > ? "
            "ORDER BY number LIMIT ?",
            (key, after, -1 if most is None else most),
        )
        return [Record(*row) for row in rows]

    def last(self, id: str) -> int:
        return int(self._session("last", id))

    def with_sequence(self, id: str, sequence: int) -> Record | None:
        key = self._session("key", id)
        rows = self._read(
            "SELECT number, sequence, command, answer, effect FROM records WHERE session = ? AND sequence = ?",
            (key, sequence),
        )
        return Record(*rows[0]) if rows else None

    def put_snapshot(self, id: str, number: int, data: bytes, oldest: int) -> bool:
        with self._writing() as db:
            key = _key(db, id)
            newer = db.execute("SELECT 1 FROM snapshots WHERE session = ? AND number >= ?", (key, number)).fetchone()
            first = db.execute("SELECT min(number) FROM records WHERE session = ?", (key,)).fetchone()[0] or 1
            if newer is not None or number < first:
                return False
            db.execute("INSERT INTO snapshots (session, number, data) VALUES (?, ?, ?)", (key, number, data))
            db.execute("DELETE FROM snapshots WHERE session = ? AND number < ?", (key, oldest))
            return True

    def snapshots(self, id: str) -> list[int]:
        key = self._session("key", id)
        return [row[0] for row in self._read("SELECT number FROM snapshots WHERE session = ? ORDER BY 1", (key,))]

    def snapshot(self, id: str, number: int) -> bytes:
        key = self._session("key", id)
        return bytes(self._read("SELECT data FROM snapshots WHERE session = ? AND number = ?", (key, number))[0][0])

    def copy(self, id: str, twin: str, owner: str, now: float) -> None:
        with self._writing() as db:
            key = _key(db, id)
            made = db.execute(
                "INSERT INTO sessions (id, owner, head, used, last) "
                "SELECT ?, ?, head, ?, last FROM sessions WHERE key = ? RETURNING key",
                (twin, owner, now, key),
            ).fetchone()[0]
            for table, columns in (
                ("records", "number, sequence, command, answer, effect"),
                ("snapshots", "number, data"),
            ):
                db.execute(
                    f"INSERT INTO {table} (session, {columns}) SELECT ?, {columns} FROM {table} WHERE session = ?",
                    (made, key),
                )

    def delete(self, id: str) -> bool:
        with self._writing(erases=True) as db:
            return db.execute("DELETE FROM sessions WHERE id = ?", (id,)).rowcount > 0

    def scrub(self) -> None:
        if not self._must_scrub:
            return
        with self._write_lock:
            try:
                self._truncate_log()
            except sqlite3.Error as error:
                raise StoreFailed(f"{self._path}: SQLite can't clear its log: {error}") from error
        if self._must_scrub:
            raise StoreFailed(f"{self._path}-wal: SQLite can't clear its log while another process is reading it")

    def _truncate_log(self) -> None:
        """Move the log into the database and truncate it, unless readers in other processes prevent that."""
        self._writer.execute(f"PRAGMA busy_timeout={_SCRUB_MILLISECONDS}")
        try:
            busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            self._must_scrub = bool(busy)
        finally:
            self._writer.execute(f"PRAGMA busy_timeout={1000 * _BUSY_SECONDS}")

    def touch(self, id: str, now: float) -> None:
        with self._writing() as db:
            if not db.execute("UPDATE sessions SET used = max(used, ?) WHERE id = ?", (now, id)).rowcount:
                raise missing(id)

    def expire(self, before: float) -> int:
        if not self._read("SELECT 1 FROM sessions WHERE used < ? LIMIT 1", (before,)):
            return 0
        with self._writing(erases=True) as db:
            return int(db.execute("DELETE FROM sessions WHERE used < ?", (before,)).rowcount)

    def count(self, owner: str | None = None) -> int:
        rows = self._read("SELECT count(*) FROM sessions WHERE ? IS NULL OR owner = ?", (owner, owner))
        return int(rows[0][0])

    def share(self, id: str, view: str | None) -> None:
        with self._writing() as db:
            if not db.execute("UPDATE sessions SET view = ? WHERE id = ?", (view, id)).rowcount:
                raise missing(id)

    def view(self, id: str) -> str | None:
        view = self._session("view", id)
        return None if view is None else str(view)

    def viewed(self, view: str) -> str:
        rows = self._read("SELECT id FROM sessions WHERE view = ?", (view,))
        if not rows:
            raise missing(view)
        return str(rows[0][0])

    def check(self) -> None:
        with self._writing() as db:
            db.execute("DELETE FROM probe")
            db.execute("INSERT INTO probe VALUES (zeroblob(?))", (_PROBE_BYTES,))

    def close(self) -> None:
        with self._write_lock, self._read_lock:
            self._reader.close()
            self._writer.close()

    def _connected(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        for pragma in (
            f"page_size={_PAGE_BYTES}",
            "journal_mode=WAL",
            f"wal_autocheckpoint={_LOG_BYTES // _PAGE_BYTES}",
            "synchronous=FULL",
            "foreign_keys=ON",
            "secure_delete=ON",
        ):
            db.execute(f"PRAGMA {pragma}").fetchone()
        return db

    def _prepare(self) -> None:
        with self._writing() as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > _VERSION:
                raise IncorefError(
                    f"{self._path}: written in format {version}, this incoref reads up to {_VERSION}: upgrade it"
                )
            if version == _VERSION:
                return
            for script in [_SCHEMA] if version == 0 else [_UPGRADES[old] for old in range(version, _TO_REBUILD)]:
                for statement in filter(str.strip, script.split(";")):
                    db.execute(statement)
            db.execute(f"PRAGMA user_version={_TO_REBUILD if version else _VERSION}")
        if version:
            self._rebuild()

    def _rebuild(self) -> None:
        """Rewrite the file with nothing in it but its rows."""
        for statement in (
            "PRAGMA journal_mode=DELETE",
            f"PRAGMA page_size={_PAGE_BYTES}",
            "VACUUM",
            f"PRAGMA user_version={_VERSION}",
        ):
            self._writer.execute(statement).fetchall()
        self._writer.close()
        self._writer = self._connected()

    def _session(self, column: str, id: str) -> Any:
        rows = self._read(f"SELECT {column} FROM sessions WHERE id = ?", (id,))
        if not rows:
            raise missing(id)
        return rows[0][0]

    def _read(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            with self._read_lock:
                return self._reader.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreFailed(f"{self._path}: SQLite can't read: {error}") from error

    @contextmanager
    def _writing(self, *, erases: bool = False) -> Iterator[sqlite3.Connection]:
        with self._write_lock:
            with self._transaction() as db:
                yield db
            self._must_scrub |= erases

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction, on disk when it ends; the caller holds the lock."""
        committing = False
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            committing = True
            self._writer.execute("COMMIT")
        except sqlite3.Error as error:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            unsure = committing and getattr(error, "sqlite_errorname", "") not in _NOT_COMMITTED
            raise StoreFailed(f"{self._path}: SQLite can't write: {error}", may_have_changed=unsure) from error


@dataclass(slots=True)
class _Append:
    """A record waiting to be written, and the outcome."""

    id: str
    record: Record
    now: float
    state: bytes | None = None
    done: bool = False
    error: Exception | None = None

    def write(self, db: sqlite3.Connection) -> None:
        """Write the record in the current transaction; on failure, the transaction is unchanged."""
        record = self.record
        moved = db.execute(
            "UPDATE sessions SET last = ?, used = max(used, ?) WHERE id = ? AND last = ? RETURNING key",
            (record.number, self.now, self.id, record.number - 1),
        ).fetchone()
        if moved is not None:
            key = moved[0]
            if self.state is not None:
                db.execute("DELETE FROM records WHERE session = ?", (key,))
                db.execute("DELETE FROM snapshots WHERE session = ?", (key,))
                db.execute(
                    "INSERT INTO snapshots (session, number, data) VALUES (?, ?, ?)", (key, record.number, self.state)
                )
            db.execute(
                "INSERT INTO records (session, number, sequence, command, answer, effect) VALUES (?, ?, ?, ?, ?, ?)",
                (key, record.number, record.sequence, record.command, record.answer, record.effect),
            )
            return
        last = db.execute("SELECT last FROM sessions WHERE id = ?", (self.id,)).fetchone()
        if last is None:
            self.error = missing(self.id)
        else:
            self.error = OutOfOrder(f"record {record.number} came where {last[0] + 1} is the next")


def _key(db: sqlite3.Connection, id: str) -> int:
    row = db.execute("SELECT key FROM sessions WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise missing(id)
    return int(row[0])
