"""A store in Redis, for several server processes behind one address.

Every change is one script, which Redis runs atomically. Durability is configured in Redis: set ``appendonly yes`` and
``appendfsync always`` for the same guarantees as the SQLite store. Redis's files (the append-only file, dumps) still
contain deleted data until ``scrub`` makes Redis rewrite them.

Keys, after a common prefix: ``session:ID`` (hash: owner, head, dropped (erased records), view), ``log:ID`` (list of
records), ``sequence:ID`` (hash: sequence to number), ``snapshot:ID`` (hash: number to data), ``view:VIEW`` (the id),
``used`` and ``owner:OWNER`` (sorted sets: ids by time of last use), ``scrub`` (how often something was erased that
files may still hold), ``scrubbing`` (the erasures that files being written are without), ``scrubbed`` (files were
asked for a moment ago), ``probe`` (written by ``check``).
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from incoref.errors import IncorefError, MissingExtra
from incoref.server.store import OutOfOrder, Record, StoreFailed, missing

_RECORD = struct.Struct("<QqI")
_LENGTH = struct.Struct("<I")
_NO_SEQUENCE = -1
_HAS_EFFECT = 1 << 31
"""Flag in the length of a record's command: the length of the answer follows. Older records lack an effect."""
_SCRUB_SECONDS = 10
"""Minimum seconds between requests to Redis to rewrite its files."""

_WRITING = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
_WRITTEN = ("aof_last_bgrewrite_status", "rdb_last_bgsave_status")
_FINISHED = "if redis.call('GET', ARGV[1]) == ARGV[2] then redis.call('DEL', ARGV[1]) end return 0"

_MISSING = b"no such session: 5c1f0e9a"  # no stored value looks like this
_log = logging.getLogger("incoref.server")
# Every script takes the prefix and an id first, and returns _MISSING if that session doesn't exist.
_BEGIN = f"""
local prefix, id = ARGV[1], ARGV[2]
local function key(kind) return prefix .. kind .. ':' .. id end
local session = key('session')
if redis.call('EXISTS', session) == 0 then return '{_MISSING.decode()}' end
local function used(now)
  local before = tonumber(redis.call('ZSCORE', prefix .. 'used', id) or '0')
  if tonumber(now) > before then
    redis.call('ZADD', prefix .. 'used', now, id)
    redis.call('ZADD', prefix .. 'owner:' .. redis.call('HGET', session, 'owner'), now, id)
  end
end
"""
_SCRIPTS = {
    "append": """
local number, sequence, record, now, state = tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local following = tonumber(redis.call('HGET', session, 'dropped')) + redis.call('LLEN', key('log')) + 1
if number ~= following then return following end
if state ~= '' then
  redis.call('DEL', key('log'), key('sequence'), key('snapshot'))
  redis.call('HSET', session, 'dropped', number - 1)
  redis.call('HSET', key('snapshot'), number, state)
  redis.call('INCR', prefix .. 'scrub')
end
redis.call('RPUSH', key('log'), record)
if sequence ~= '-1' then redis.call('HSET', key('sequence'), sequence, number) end
used(now)
return 0
""",
    "records": """
local after, most = tonumber(ARGV[3]), tonumber(ARGV[4])
if most == 0 then return {} end
local start = math.max(0, after - tonumber(redis.call('HGET', session, 'dropped')))
return redis.call('LRANGE', key('log'), start, most < 0 and -1 or start + most - 1)
""",
    "last": "return tonumber(redis.call('HGET', session, 'dropped')) + redis.call('LLEN', key('log'))",
    "with_sequence": """
local number = redis.call('HGET', key('sequence'), ARGV[3])
if not number then return false end
local place = tonumber(number) - tonumber(redis.call('HGET', session, 'dropped')) - 1
if place < 0 then return false end
return redis.call('LINDEX', key('log'), place)
""",
    "put_snapshot": """
local mine = tonumber(ARGV[3])
if mine <= tonumber(redis.call('HGET', session, 'dropped')) then return 0 end
for _, number in ipairs(redis.call('HKEYS', key('snapshot'))) do
  if tonumber(number) >= mine then return 0 end
end
redis.call('HSET', key('snapshot'), ARGV[3], ARGV[4])
for _, number in ipairs(redis.call('HKEYS', key('snapshot'))) do
  if tonumber(number) < tonumber(ARGV[5]) then redis.call('HDEL', key('snapshot'), number) end
end
return 1
""",
    "snapshots": "return redis.call('HKEYS', key('snapshot'))",
    "snapshot": "return redis.call('HGET', key('snapshot'), ARGV[3])",
    "copy": """
local twin, owner, now = ARGV[3], ARGV[4], ARGV[5]
for _, kind in ipairs({'session', 'log', 'sequence', 'snapshot'}) do
  redis.call('COPY', key(kind), prefix .. kind .. ':' .. twin)
end
redis.call('HSET', prefix .. 'session:' .. twin, 'owner', owner)
redis.call('HDEL', prefix .. 'session:' .. twin, 'view')
redis.call('ZADD', prefix .. 'used', now, twin)
redis.call('ZADD', prefix .. 'owner:' .. owner, now, twin)
return 0
""",
    "delete": """
if ARGV[3] ~= '' and tonumber(redis.call('ZSCORE', prefix .. 'used', id)) >= tonumber(ARGV[3]) then return 1 end
local view = redis.call('HGET', session, 'view')
if view then redis.call('DEL', prefix .. 'view:' .. view) end
redis.call('ZREM', prefix .. 'owner:' .. redis.call('HGET', session, 'owner'), id)
redis.call('ZREM', prefix .. 'used', id)
redis.call('DEL', session, key('log'), key('sequence'), key('snapshot'))
redis.call('INCR', prefix .. 'scrub')
return 0
""",
    "touch": "used(ARGV[3]) return 0",
    "share": """
local view = redis.call('HGET', session, 'view')
if view then redis.call('DEL', prefix .. 'view:' .. view) end
redis.call('HDEL', session, 'view')
if ARGV[3] ~= '' then
  redis.call('HSET', session, 'view', ARGV[3])
  redis.call('SET', prefix .. 'view:' .. ARGV[3], id)
end
return 0
""",
    "head": "return redis.call('HGET', session, 'head')",
    "view": "return redis.call('HGET', session, 'view')",
}


class RedisStore:
    def __init__(self, url: str, prefix: str = "incoref:") -> None:
        try:
            import redis
        except ImportError as error:
            raise MissingExtra("redis", "redis", "a store in Redis") from error
        self._errors = redis.exceptions
        self._may_scrub = True
        try:
            # No automatic retries: a script whose reply is lost would run twice.
            once = redis.retry.Retry(redis.backoff.NoBackoff(), 0)
            self._redis: Any = redis.Redis.from_url(url, retry=once)
        except ValueError as error:
            raise IncorefError(f"the address of the Redis store can't be read: {error}") from error
        self._prefix = prefix
        self._scripts: dict[str, Callable[..., Any]] = {
            name: self._redis.register_script(_BEGIN + body) for name, body in _SCRIPTS.items()
        }
        self._finished = self._redis.register_script(_FINISHED)
        self.check()

    def create(self, id: str, owner: str, head: bytes, now: float) -> None:
        with self._reaching():
            pipe = self._redis.pipeline(transaction=True)
            pipe.hset(f"{self._prefix}session:{id}", mapping={"owner": owner, "head": head, "dropped": 0})
            pipe.zadd(f"{self._prefix}used", {id: now})
            pipe.zadd(f"{self._prefix}owner:{owner}", {id: now})
            pipe.execute()

    def head(self, id: str) -> bytes:
        return bytes(self._call("head", id))

    def append(self, id: str, record: Record, now: float, state: bytes | None = None) -> None:
        sequence = _NO_SEQUENCE if record.sequence is None else record.sequence
        following = self._call("append", id, record.number, sequence, _packed(record), now, state or b"")
        if following:
            raise OutOfOrder(f"record {record.number} came where {following} is the next")

    def records(self, id: str, after: int = 0, most: int | None = None) -> list[Record]:
        return [_unpacked(data) for data in self._call("records", id, after, -1 if most is None else most)]

    def last(self, id: str) -> int:
        return int(self._call("last", id))

    def with_sequence(self, id: str, sequence: int) -> Record | None:
        data = self._call("with_sequence", id, sequence)
        return None if data is None else _unpacked(data)

    def put_snapshot(self, id: str, number: int, data: bytes, oldest: int) -> bool:
        return bool(self._call("put_snapshot", id, number, data, oldest))

    def snapshots(self, id: str) -> list[int]:
        return sorted(int(number) for number in self._call("snapshots", id))

    def snapshot(self, id: str, number: int) -> bytes:
        return bytes(self._call("snapshot", id, number))

    def copy(self, id: str, twin: str, owner: str, now: float) -> None:
        self._call("copy", id, twin, owner, now)

    def delete(self, id: str) -> bool:
        return bool(self._run("delete", id, "") != _MISSING)

    def scrub(self) -> None:
        """Make Redis rewrite its files, not too often; a later call finishes what is left to do."""
        if not self._may_scrub:
            return
        with self._reaching():
            count = self._redis.get(f"{self._prefix}scrub")
            if count is None:
                return
            try:
                self._renew_files(count)
            except self._errors.ResponseError as error:
                if "in progress" in str(error):  # started by another client; later calls see when it is done
                    return
                if not isinstance(error, self._errors.NoPermissionError) and "unknown command" not in str(error):
                    raise
                self._may_scrub = False
                _log.warning(
                    "Redis keeps deleted text in its files until somebody runs BGREWRITEAOF and BGSAVE: %s", error
                )

    def _renew_files(self, count: bytes) -> None:
        erased, writing, asked = (self._prefix + name for name in ("scrub", "scrubbing", "scrubbed"))
        now = self._redis.info("persistence")
        if any(now.get(name) for name in _WRITING):
            return
        # Rewrites requested before the latest erasure, or from a Redis process that has since ended, don't count.
        mark = count + self._redis.info("server")["run_id"].encode()
        if self._redis.get(writing) == mark and all(now.get(name) == "ok" for name in _WRITTEN):
            self._finished(args=(erased, count))
        elif self._redis.set(asked, "1", nx=True, ex=_SCRUB_SECONDS):
            self._redis.set(writing, mark)
            if now.get("aof_enabled"):
                self._redis.bgrewriteaof()
            if self._redis.config_get("save").get("save"):
                self._redis.bgsave()

    def touch(self, id: str, now: float) -> None:
        self._call("touch", id, now)

    def expire(self, before: float) -> int:
        with self._reaching():
            old = self._redis.zrangebyscore(f"{self._prefix}used", "-inf", f"({before}")
        return sum(self._run("delete", id.decode(), before) == 0 for id in old)

    def count(self, owner: str | None = None) -> int:
        with self._reaching():
            return int(self._redis.zcard(f"{self._prefix}{'used' if owner is None else f'owner:{owner}'}"))

    def share(self, id: str, view: str | None) -> None:
        self._call("share", id, view or "")

    def view(self, id: str) -> str | None:
        view = self._call("view", id)
        return None if view is None else view.decode()

    def viewed(self, view: str) -> str:
        with self._reaching():
            id = self._redis.get(f"{self._prefix}view:{view}")
        if id is None:
            raise missing(view)
        return str(id.decode())

    def check(self) -> None:
        with self._reaching():
            self._redis.set(f"{self._prefix}probe", "1")

    def close(self) -> None:
        self._redis.close()

    def _call(self, name: str, id: str, *values: Any) -> Any:
        answer = self._run(name, id, *values)
        if answer == _MISSING:
            raise missing(id)
        return answer

    def _run(self, name: str, id: str, *values: Any) -> Any:
        with self._reaching():
            return self._scripts[name](args=(self._prefix, id, *values))

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        connected = False
        try:
            # Connect first, so that a failure to connect is known to have changed nothing.
            pool = self._redis.connection_pool
            pool.release(pool.get_connection())
            connected = True
            yield
        except self._errors.RedisError as error:
            lost = isinstance(error, self._errors.ConnectionError | self._errors.TimeoutError)
            message = f"the Redis store can't be used: {error}"
            raise StoreFailed(message, may_have_changed=connected and lost) from error


def _packed(record: Record) -> bytes:
    sequence = _NO_SEQUENCE if record.sequence is None else record.sequence
    head = _RECORD.pack(record.number, sequence, len(record.command) | _HAS_EFFECT)
    return head + _LENGTH.pack(len(record.answer)) + record.command + record.answer + record.effect


def _unpacked(data: bytes) -> Record:
    number, sequence, length = _RECORD.unpack_from(data)
    start, answer_length = _RECORD.size, len(data)
    if length & _HAS_EFFECT:
        length ^= _HAS_EFFECT
        answer_length = _LENGTH.unpack_from(data, start)[0]
        start += _LENGTH.size
    middle = start + length
    end = middle + answer_length
    sequence = None if sequence == _NO_SEQUENCE else sequence
    return Record(number, sequence, data[start:middle], data[middle:end], data[end:])
