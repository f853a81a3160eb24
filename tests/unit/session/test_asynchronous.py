"""Sessions for asyncio give what sessions give, in the order of the calls, and a cancelled call leaves no half."""

from __future__ import annotations

import asyncio
import inspect
import threading

import pytest

from incoref.errors import IncorefError
from incoref.resolver import Resolver
from incoref.session.asynchronous import AsyncSession
from incoref.session.session import Session
from incoref.session.updates import Message


def test_it_has_the_methods_of_a_session() -> None:
    def named(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    only_local = {
        "blank",
        "copy",
        "nbytes",
        "part",
        "changes_since",
        "reading",
        "reassign_speaker",
        "text_start",
        "tokens",
    }
    assert named(Session) - only_local == named(AsyncSession)
    for name in named(AsyncSession):
        assert inspect.iscoroutinefunction(getattr(AsyncSession, name)), name


def test_answers_are_those_of_a_session(rule_resolver: Resolver) -> None:
    async def run() -> AsyncSession:
        chat = rule_resolver.async_session(runners_up=1)
        local = rule_resolver.session(runners_up=1)
        assert await chat.say("Anna met Carl.", "Ben", 5) == local.say("Anna met Carl.", "Ben", 5)
        assert await chat.feed("She left. He ") == local.feed("She left. He ")
        assert await chat.flush() == local.flush()
        assert await chat.hear(Message("The dog.")) == local.hear(Message("The dog."))
        (she,) = (m for e in await chat.entities() for m in e.mentions if m.text == "She")
        assert await chat.detach(she) == local.detach(she)
        assert await chat.reassign(she, "1") == local.reassign(she, "1")
        assert await chat.introduce("Zoe") == local.introduce("Zoe")
        assert await chat.merge("1", "2") == local.merge("1", "2")
        assert await chat.document(singletons=True) == local.document(singletons=True)
        assert await chat.save() == local.save()
        fork = await chat.fork()
        await chat.undo()
        assert await fork.resolved_text() == local.resolved_text()
        assert await fork.sentences() == await chat.sentences() + 1
        with pytest.raises(IncorefError, match="no entity '99'"):
            await chat.rename("99", "x")
        return chat

    assert repr(asyncio.run(run())).startswith("<AsyncSession")


def test_calls_are_carried_out_in_their_order(rule_resolver: Resolver) -> None:
    async def run() -> str:
        chat = rule_resolver.async_session()
        await asyncio.gather(*(chat.say(f"Anna {number}.") for number in range(20)))
        return await chat.text()

    assert asyncio.run(run()) == "".join(f"Anna {number}.\n" for number in range(20))


def test_a_cancelled_call_leaves_the_session_as_it_was_and_the_next_one_waits(rule_resolver: Resolver) -> None:
    session = rule_resolver.session()
    reading, go_on = threading.Event(), threading.Event()
    step = session._model.step

    def slow_step(*given: object) -> object:
        reading.set()
        assert go_on.wait(30)
        return step(*given)

    async def run() -> str:
        chat = AsyncSession(session)
        session._model.step = slow_step
        call = asyncio.create_task(chat.say("Anna left. Carl left. Ben left."))
        await asyncio.to_thread(reading.wait)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        following = asyncio.create_task(chat.say("She stayed."))
        await asyncio.sleep(0.05)
        assert not following.done()
        del session._model.step
        go_on.set()
        await following
        return await chat.text()

    assert asyncio.run(run()) == "She stayed.\n"


def test_the_loop_goes_on_while_a_session_reads(rule_resolver: Resolver) -> None:
    session = rule_resolver.session()
    waiting = threading.Event()
    feed = session.feed

    async def run() -> None:
        def slow(piece: str, speaker: str | None = None) -> object:
            assert waiting.wait(30)  # set by the loop while this thread waits
            return feed(piece, speaker)

        session.feed = slow
        call = asyncio.create_task(AsyncSession(session).feed("Anna left."))
        await asyncio.sleep(0)
        waiting.set()
        assert await call == []

    asyncio.run(run())
