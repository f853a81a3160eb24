"""Open the store named on the command line."""

from __future__ import annotations

from incoref.errors import IncorefError
from incoref.server.store import Store


def open_store(place: str) -> Store:
    """Open ``memory``, ``sqlite:PATH`` or ``redis://HOST:PORT/DB``."""
    if place == "memory":
        from incoref.server.memory_store import MemoryStore

        return MemoryStore()
    kind, _, path = place.partition(":")
    if kind == "sqlite" and path == ":memory:":
        raise IncorefError("'sqlite::memory:' would give every connection its own database: use 'memory'")
    if kind == "sqlite" and path:
        from incoref.server.sqlite_store import SqliteStore

        return SqliteStore(path)
    if kind in ("redis", "rediss", "unix") and path:
        from incoref.server.redis_store import RedisStore

        return RedisStore(place)
    raise IncorefError(f"'{place}' is not a store; use memory, sqlite:PATH or redis://HOST:PORT/NUMBER")
