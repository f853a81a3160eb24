"""A session for asyncio: its methods are awaited, and the model runs in another thread.

Calls run one after the other in the order in which they were made.
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
    """Raised inside a call that has been cancelled."""


class AsyncSession:
    """A session whose methods are awaited; created by ``Resolver.async_session``.

    Properties of a session, such as ``entities``, are methods here. A cancelled call has either run completely or not
    at all.
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
        """Resolve a complete utterance; returns updates for all its sentences."""
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
        """Resolve a complete utterance: one tokenised sentence."""
        return await self._call(partial(self._session.say_words, words, speaker, id, time=time, text=text))

    async def read(self, document: Document) -> list[Update]:
        """Resolve a document with its own sentences, tokens and speakers."""
        return await self._call(partial(self._session.read, document))

    async def feed(self, piece: str, speaker: str | None = None) -> list[Update]:
        """Add a piece of running text, cut anywhere."""
        return await self._call(partial(self._session.feed, piece, speaker))

    async def flush(self) -> list[Update]:
        """Treat pending text as complete."""
        return await self._call(self._session.flush)

    async def hear(self, item: str | Message) -> list[Update]:
        """Feed a piece of running text, or say a message."""
        return await self._call(partial(self._session.hear, item))

    async def text(self) -> str:
        """The text so far, as far as it is kept."""
        return await self._call(lambda: self._session.text)

    async def sentences(self) -> int:
        """The number of sentences resolved so far."""
        return await self._call(lambda: self._session.sentences)

    async def entities(self) -> list[Entity]:
        """All entities with all their mentions."""
        return await self._call(lambda: self._session.entities)

    async def document(self, id: str | int = "session", *, singletons: bool = False) -> Document:
        """The kept transcript as a document; ``singletons`` includes entities with one mention."""
        return await self._call(partial(self._session.document, id, singletons=singletons))

    async def resolved_text(self) -> str:
        """The text with pronouns replaced by their entities' names."""
        return await self._call(self._session.resolved_text)

    async def undo(self) -> None:
        """Revert the last call that added text, and all corrections since."""
        await self._call(self._session.undo)

    async def fork(self) -> AsyncSession:
        """An independent copy of the session."""
        return AsyncSession(await self._call(self._session.fork))

    async def save(self) -> bytes:
        """The session as bytes, for ``Resolver.restore``."""
        return await self._call(self._session.save)

    async def introduce(self, name: str, *, type: str | None = None, speaker: str | None = None) -> Entity:
        """Add a participant who hasn't been mentioned yet."""
        return await self._call(partial(self._session.introduce, name, type=type, speaker=speaker))

    async def rename(self, entity: Entity | str, name: str) -> Entity:
        """Rename an entity."""
        return await self._call(partial(self._session.rename, entity, name))

    async def merge(self, one: Entity | str, other: Entity | str) -> Entity:
        """Merge two entities."""
        return await self._call(partial(self._session.merge, one, other))

    async def detach(self, mention: Span) -> Entity:
        """Make a mention a new entity."""
        return await self._call(partial(self._session.detach, mention))

    async def split(self, entity: Entity | str, mentions: Iterable[Span]) -> Entity:
        """Make some mentions of an entity a new entity."""
        return await self._call(partial(self._session.split, entity, mentions))

    async def reassign(self, mention: Span, entity: Entity | str) -> Entity:
        """Link a mention to another entity."""
        return await self._call(partial(self._session.reassign, mention, entity))

    async def forget(self, entity: Entity | str) -> None:
        """Remove an entity."""
        await self._call(partial(self._session.forget, entity))

    async def _call(self, function: Callable[[], T]) -> T:
        """Run the function in another thread after all earlier calls, and return its result."""
        stopped = Event()

        def check() -> None:
            if stopped.is_set():
                raise Cancelled

        def run() -> T:
            self._session.between_steps = check
            return function()

        async with self._turn:
            if self._running is not None:  # it was cancelled
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
