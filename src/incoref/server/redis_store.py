"""Sessions in Redis: the store of several server processes behind one address.

Every change is one script, which Redis runs whole or not at all. What survives Redis itself is its own business: set
``appendonly yes`` and ``appendfsync always`` for the promise that the SQLite store gives.

Keys, after a common prefix: ``session:ID`` (hash: owner, head, dropped, view), ``log:ID`` (list of records),
``sequence:ID`` (hash: sequence to number), ``snapshot:ID`` (hash: number to data), ``view:VIEW`` (the id),
``used`` and ``owner:OWNER`` (sorted sets: ids by time of last use).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from incoref.errors import IncorefError, MissingExtra
from incoref.server.store import OutOfOrder, Record, StoreFailed, missing

_RECORD = struct.Struct("<QqI")
_NO_SEQUENCE = -1

_MISSING = b"no such session: 5c1f0e9a"  # nothing that is stored looks like this
# Every script gets the prefix and an id first, and answers _MISSING when that session is not there.
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
local number, sequence, record, now = tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local following = tonumber(redis.call('HGET', session, 'dropped')) + redis.call('LLEN', key('log')) + 1
if number ~= following then return following end
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
    "with_sequence": """
local number = redis.call('HGET', key('sequence'), ARGV[3])
if not number then return false end
local place = tonumber(number) - tonumber(redis.call('HGET', session, 'dropped')) - 1
if place < 0 then return false end
return redis.call('LINDEX', key('log'), place)
""",
    "put_snapshot": """
redis.call('HSET', key('snapshot'), ARGV[3], ARGV[4])
for _, number in ipairs(redis.call('HKEYS', key('snapshot'))) do
  if tonumber(number) < tonumber(ARGV[5]) then redis.call('HDEL', key('snapshot'), number) end
end
return 0
""",
    "snapshots": "return redis.call('HKEYS', key('snapshot'))",
    "snapshot": "return redis.call('HGET', key('snapshot'), ARGV[3])",
    "drop": """
local until_ = tonumber(ARGV[3])
local dropped = tonumber(redis.call('HGET', session, 'dropped'))
local erased = math.min(math.max(0, until_ - dropped), redis.call('LLEN', key('log')))
if erased > 0 then
  redis.call('LTRIM', key('log'), erased, -1)
  redis.call('HSET', session, 'dropped', dropped + erased)
end
for _, number in ipairs(redis.call('HKEYS', key('snapshot'))) do
  if tonumber(number) < until_ then redis.call('HDEL', key('snapshot'), number) end
end
return 0
""",
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
        self._errors = redis.exceptions.RedisError
        try:
            self._redis: Any = redis.Redis.from_url(url)
        except ValueError as error:
            raise IncorefError(f"the address of the Redis store can't be read: {error}") from error
        self._prefix = prefix
        self._scripts: dict[str, Callable[..., Any]] = {
            name: self._redis.register_script(_BEGIN + body) for name, body in _SCRIPTS.items()
        }
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

    def append(self, id: str, record: Record, now: float) -> None:
        sequence = _NO_SEQUENCE if record.sequence is None else record.sequence
        following = self._call("append", id, record.number, sequence, _packed(record), now)
        if following:
            raise OutOfOrder(f"record {record.number} came where {following} is the next")

    def records(self, id: str, after: int = 0, most: int | None = None) -> list[Record]:
        return [_unpacked(data) for data in self._call("records", id, after, -1 if most is None else most)]

    def with_sequence(self, id: str, sequence: int) -> Record | None:
        data = self._call("with_sequence", id, sequence)
        return None if data is None else _unpacked(data)

    def put_snapshot(self, id: str, number: int, data: bytes, oldest: int) -> None:
        self._call("put_snapshot", id, number, data, oldest)

    def snapshots(self, id: str) -> list[int]:
        return sorted(int(number) for number in self._call("snapshots", id))

    def snapshot(self, id: str, number: int) -> bytes:
        return bytes(self._call("snapshot", id, number))

    def drop(self, id: str, until: int) -> None:
        self._call("drop", id, until)

    def copy(self, id: str, twin: str, owner: str, now: float) -> None:
        self._call("copy", id, twin, owner, now)

    def delete(self, id: str) -> bool:
        return bool(self._run("delete", id, "") != _MISSING)

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
        found = self._call("view", id)
        return None if found is None else found.decode()

    def viewed(self, view: str) -> str:
        with self._reaching():
            id = self._redis.get(f"{self._prefix}view:{view}")
        if id is None:
            raise missing(view)
        return str(id.decode())

    def check(self) -> None:
        with self._reaching():
            self._redis.ping()

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
        try:
            yield
        except self._errors as error:
            raise StoreFailed(f"the Redis store can't be used: {error}") from error


def _packed(record: Record) -> bytes:
    sequence = _NO_SEQUENCE if record.sequence is None else record.sequence
    return _RECORD.pack(record.number, sequence, len(record.command)) + record.command + record.answer


def _unpacked(data: bytes) -> Record:
    number, sequence, length = _RECORD.unpack_from(data)
    start = _RECORD.size
    command, answer = data[start : start + length], data[start + length :]
    return Record(number, None if sequence == _NO_SEQUENCE else sequence, command, answer)
