"""A session for asyncio: the methods of a session, awaited; the model runs in another thread.

Calls are carried out one after the other, in the order in which they were made, whoever makes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from incoref.session.updates import Message, Update
from incoref.types import Document, Entity, Given, Span

if TYPE_CHECKING:
    from incoref.session.session import Session

T = TypeVar("T")


class Cancelled(Exception):
    """Raised where a session is read whose caller has stopped waiting."""


class AsyncSession:
    """A session whose methods are awaited. Made by ``Resolver.async_session``.

    What a session has as a property, such as ``entities``, is a method here. If a call is cancelled, the session has
    either done all of it or nothing.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._turn = asyncio.Lock()
        self._running: asyncio.Future[object] | None = None

    def __repr__(self) -> str:
        return f"<Async{self._session!r}".replace("<Async<", "<Async")

    async def say(
        self, text: str, speaker: str | None = None, id: Given = None, *, time: Given = None
    ) -> list[Update]:
        """A complete utterance: all its sentences are answered at once."""
        return await self._call(partial(self._session.say, text, speaker, id, time=time))

    async def say_words(
        self,
        words: Sequence[str],
        speaker: str | None = None,
        id: Given = None,
        *,
        time: Given = None,
        text: str | None = None,
    ) -> list[Update]:
        """A complete utterance of one sentence whose words are known."""
        return await self._call(partial(self._session.say_words, words, speaker, id, time=time, text=text))

    async def read(self, document: Document) -> list[Update]:
        """A document with its own sentences, words and speakers."""
        return await self._call(partial(self._session.read, document))

    async def feed(self, piece: str, speaker: str | None = None) -> list[Update]:
        """Running text in any pieces."""
        return await self._call(partial(self._session.feed, piece, speaker))

    async def flush(self) -> list[Update]:
        """End what is pending."""
        return await self._call(self._session.flush)

    async def hear(self, item: str | Message) -> list[Update]:
        """A piece of running text, or a message that is a complete utterance."""
        return await self._call(partial(self._session.hear, item))

    async def text(self) -> str:
        """What was said and fed, as far as it is kept."""
        return await self._call(lambda: self._session.text)

    async def sentences(self) -> int:
        """How many sentences have been answered."""
        return await self._call(lambda: self._session.sentences)

    async def entities(self) -> list[Entity]:
        """All entities with all their mentions."""
        return await self._call(lambda: self._session.entities)

    async def document(self, id: str | int = "session", *, singletons: bool = False) -> Document:
        """What is kept, as a document; entities with one mention only with ``singletons``."""
        return await self._call(partial(self._session.document, id, singletons=singletons))

    async def resolved_text(self) -> str:
        """The text with pronouns replaced by the names of those whom they mean."""
        return await self._call(self._session.resolved_text)

    async def undo(self) -> None:
        """Take back the last call of ``say``, ``feed`` or the like, and what was corrected since."""
        await self._call(self._session.undo)

    async def fork(self) -> AsyncSession:
        """A session that starts from here; neither affects the other."""
        return AsyncSession(await self._call(self._session.fork))

    async def save(self) -> bytes:
        """The session as bytes, for ``Resolver.restore``."""
        return await self._call(self._session.save)

    async def introduce(self, name: str, *, type: str | None = None, speaker: str | None = None) -> Entity:
        """Make a participant known."""
        return await self._call(partial(self._session.introduce, name, type=type, speaker=speaker))

    async def rename(self, entity: Entity | str, name: str) -> Entity:
        """Give an entity a name."""
        return await self._call(partial(self._session.rename, entity, name))

    async def merge(self, one: Entity | str, other: Entity | str) -> Entity:
        """Two entities are the same."""
        return await self._call(partial(self._session.merge, one, other))

    async def detach(self, mention: Span) -> Entity:
        """A mention becomes an entity of its own."""
        return await self._call(partial(self._session.detach, mention))

    async def split(self, entity: Entity | str, mentions: Iterable[Span]) -> Entity:
        """These mentions of an entity are another one."""
        return await self._call(partial(self._session.split, entity, mentions))

    async def reassign(self, mention: Span, entity: Entity | str) -> Entity:
        """A mention means another entity."""
        return await self._call(partial(self._session.reassign, mention, entity))

    async def forget(self, entity: Entity | str) -> None:
        """Remove an entity."""
        await self._call(partial(self._session.forget, entity))

    async def _call(self, function: Callable[[], T]) -> T:
        """The function's result, once those called before are done; it runs in another thread."""
        stopped = Event()

        def check() -> None:
            if stopped.is_set():
                raise Cancelled

        def run() -> T:
            self._session.between_steps = check
            return function()

        async with self._turn:
            if self._running is not None:  # its caller has stopped waiting for it
                await asyncio.wait([self._running])
            running = asyncio.get_running_loop().run_in_executor(None, run)
            self._running = running  # type: ignore[assignment]
            try:
                result = await asyncio.shield(running)
            except asyncio.CancelledError:
                stopped.set()
                running.add_done_callback(lambda done: done.exception())
                raise
            self._running = None
            return result
