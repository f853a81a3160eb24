"""A session's log as server-sent events: one event per record, whose number is the event id to resume after.

Records written by other processes are found by polling the store. Clients with the session's id receive the whole
log. Viewers receive only what the session still shows: nothing undone or trimmed, and nothing after the share is
revoked.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from incoref.server.commands import Command, encoded
from incoref.server.livesession import options_in
from incoref.server.service import SessionService
from incoref.server.store import NoSession, Record, StoreFailed

_AT_ONCE = 100
_POLL_SECONDS = 1.0
_POLLS_UNTIL_COMMENT = 15
_RETRY = b"retry: 1000\n\n"
_END = b"event: end\ndata: {}\n\n"


def answer_of(record: Record) -> dict[str, Any]:
    """Return the response to a request, which is the same if the request is repeated."""
    return {**json.loads(record.answer), "event": record.number, "sequence": record.sequence}


async def events(service: SessionService, id: str, after: int, view: str | None = None) -> AsyncIterator[bytes]:
    """Yield all records after ``after``, then new ones as they arrive, until the session, share or server ends.

    With ``view``, yield what a viewer may see.
    """
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def callback() -> None:
        loop.call_soon_threadsafe(changed.set)

    stop_listening = service.listen(id, callback)
    try:
        with service.streaming():
            following = _all_events(service, id, after) if view is None else _viewer_events(service, id, view, after)
            async for event in _polled(service, following, changed):
                yield event
    finally:
        stop_listening()


async def _polled(
    service: SessionService, batches: AsyncIterator[list[bytes]], changed: asyncio.Event
) -> AsyncIterator[bytes]:
    """Yield the events of each batch; wait for a change after an empty one.

    The first bytes confirm the stream's position in the log: it contains every later change.
    """
    quiet, begun = 0, False
    changed.clear()
    with contextlib.suppress(StoreFailed):  # the client reconnects and resumes
        try:
            async for batch in batches:
                if not begun:
                    begun = True
                    yield _RETRY
                for event in batch:
                    quiet = 0
                    yield event
                if service.stopping:
                    return
                if not batch:
                    quiet += 1
                    if quiet % _POLLS_UNTIL_COMMENT == 0:
                        yield b": still here\n\n"
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(changed.wait(), _POLL_SECONDS)
                changed.clear()
        except NoSession:
            yield _END


async def _all_events(service: SessionService, id: str, after: int) -> AsyncIterator[list[bytes]]:
    last = await asyncio.to_thread(service.store.last, id)
    if after > last:  # too high a number, for instance after the store was restored from a backup
        after = last
        yield [_reset(last)]
    while True:
        records = await asyncio.to_thread(service.store.records, id, after, _AT_ONCE)
        batch = []
        if records and records[0].number > after + 1:  # earlier records were erased: the client must fetch the state
            batch.append(_reset(records[0].number - 1))
        batch += [_event(record, answer_of(record)) for record in records]
        after = records[-1].number if records else after
        yield batch


async def _viewer_events(service: SessionService, id: str, view: str, after: int) -> AsyncIterator[list[bytes]]:
    """Yield only new events; the client must fetch the state for earlier ones and those undone before being sent."""
    history = options_in(await asyncio.to_thread(service.store.head, id)).history
    last = await asyncio.to_thread(service.store.last, id)
    batch = [] if after == last else [_reset(last)]
    while True:
        if await asyncio.to_thread(service.store.viewed, view) != id:
            raise NoSession("the share was revoked")
        yield batch
        records = await asyncio.to_thread(service.store.records, id, last, _AT_ONCE)
        names = [Command.decode(record.command).name for record in records]
        if any(name in ("undo", "forget") for name in names) or len(records) == _AT_ONCE:
            batch = [_reset(records[-1].number)]
        else:
            batch = [_event(record, _shown(record, records[-1], history)) for record in records]
        last = records[-1].number if records else last


def _shown(record: Record, latest: Record, history: int | None) -> dict[str, Any]:
    """Return the part of a record for viewers: updates still in the transcript, or just that something changed."""
    answer = {"event": record.number, "sequence": None}
    updates = json.loads(record.answer).get("updates")
    if updates is None:
        return answer
    first = 0 if history is None else json.loads(latest.effect)["sentences"] - history
    return {"updates": [update for update in updates if update["sentence"] >= first], **answer}


def _event(record: Record, data: dict[str, Any]) -> bytes:
    name = "updates" if "updates" in data else Command.decode(record.command).name
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (record.number, name.encode(), encoded(data))


def _reset(number: int) -> bytes:
    return b'id: %d\nevent: reset\ndata: {"event": %d}\n\n' % (number, number)
