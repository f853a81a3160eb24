"""A session's log as server-sent events: one a record, with its number as the id to resume after.

Records of other processes are seen too, by looking into the store now and then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from incoref.server.commands import Command
from incoref.server.service import SessionService
from incoref.server.store import NoSession, Record, StoreFailed

_AT_ONCE = 100
_LOOK_SECONDS = 1.0
_ALIVE_LOOKS = 15


def answer_bytes(record: Record) -> bytes:
    """The answer to a request that is in the log; to the same one again it is the same."""
    sequence = b"null" if record.sequence is None else b"%d" % record.sequence
    return record.answer[:-1] + b', "event": %d, "sequence": %s}' % (record.number, sequence)


def event_bytes(record: Record) -> bytes:
    command = Command.decode(record.command).name
    name = command if b'"updates"' not in record.answer[:12] else "updates"
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (record.number, name.encode(), answer_bytes(record))


async def events(service: SessionService, id: str, after: int) -> AsyncIterator[bytes]:
    """All records after one, and then those that come; ends with the session, or when the server stops."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def heard() -> None:
        loop.call_soon_threadsafe(changed.set)

    stop_listening = service.listen(id, heard)
    try:
        with service.streaming():
            async for event in _followed(service, id, after, changed):
                yield event
    finally:
        stop_listening()


async def _followed(service: SessionService, id: str, after: int, changed: asyncio.Event) -> AsyncIterator[bytes]:
    quiet = 0
    yield b"retry: 1000\n\n"
    while not service.stopping:
        changed.clear()
        try:
            records = await asyncio.to_thread(service.store.records, id, after, _AT_ONCE)
        except NoSession:
            yield b"event: end\ndata: {}\n\n"
            return
        except StoreFailed:
            return  # the client connects again, and resumes
        if records and records[0].number > after + 1:
            # What came between was erased: the client must ask for the session's state.
            yield b'event: reset\ndata: {"event": %d}\n\n' % (records[0].number - 1)
        for record in records:
            yield event_bytes(record)
            after, quiet = record.number, 0
        if not records:
            quiet += 1
            if quiet % _ALIVE_LOOKS == 0:
                yield b": still here\n\n"
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), _LOOK_SECONDS)
