"""The way in: a model that resolves whole texts, streams of pieces or messages, and many documents.

``load`` gives a ``Resolver``; its sessions do the work. Knows no formats.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from incoref.errors import IncorefError
from incoref.model.folder import Model
from incoref.options import SessionOptions
from incoref.session import saving
from incoref.session.session import Session
from incoref.session.updates import Message, Update
from incoref.text import RuleSplitter, Splitter
from incoref.types import Document

Text = str | Document | Sequence[Message]
"""A whole text: raw, or a document with its own sentences and words, or the messages of a conversation."""


def load(model: Path | str | None = None, *, threads: int = 1) -> Resolver:
    """A resolver with the model in a folder, or with the one that comes with the package."""
    return Resolver(Model.load(model, threads))


class Resolver:
    """A loaded model. Has no state of its own: sessions do, and any number of them share it, from any threads.

    Options, wherever they are taken, are the fields of ``SessionOptions``, by name.
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def session(self, *, splitter: Splitter | None = None, **options: Any) -> Session:
        """A new session."""
        return Session(self.model, _options(options), splitter)

    def restore(self, data: bytes, *, splitter: Splitter | None = None, **options: Any) -> Session:
        """A session from what ``Session.save`` gave; ``options`` replace the saved ones."""
        splitter = splitter or RuleSplitter()
        restored, state = saving.restore(self.model, data, splitter)
        return Session(self.model, _options({**asdict(restored), **options}), splitter, state)

    def resolve(
        self,
        text: Text,
        *,
        id: str = "text",
        singletons: bool = False,
        splitter: Splitter | None = None,
        **options: Any,
    ) -> Document:
        """A whole text with its entities; those of one mention are left out unless asked for."""
        session = self.session(splitter=splitter, **{"undo": 0, **options})
        if isinstance(text, Document):
            session.read(text)
            id = text.id
        else:
            for part in (text,) if isinstance(text, str) else text:
                session.hear(part)
            session.flush()
        return session.document(id, singletons=singletons)

    def stream(
        self, source: Iterable[str | Message], *, session: Session | None = None, **options: Any
    ) -> Iterator[Update]:
        """Updates for pieces of running text or messages as they come; at the end, for what is pending too."""
        session = self._given_or_new(session, options)
        for item in source:
            yield from session.hear(item)
        yield from session.flush()

    async def astream(
        self,
        source: Iterable[str | Message] | AsyncIterable[str | Message],
        *,
        session: Session | None = None,
        **options: Any,
    ) -> AsyncIterator[Update]:
        """``stream`` for asyncio: another thread reads, and waits for a source that is not asynchronous."""
        session = self._given_or_new(session, options)
        async for item in _items(source):
            for update in await asyncio.to_thread(session.hear, item):
                yield update
        for update in await asyncio.to_thread(session.flush):
            yield update

    def pipe(
        self, texts: Iterable[Text], *, workers: int = 1, singletons: bool = False, **options: Any
    ) -> Iterator[Document]:
        """``resolve`` for many texts, in their order, so many at a time; reads only a few texts ahead."""
        if workers < 1:
            raise IncorefError(f"{workers} workers can't do anything; give at least 1")

        def resolved(numbered: tuple[int, Text]) -> Document:
            number, text = numbered
            return self.resolve(text, id=str(number), singletons=singletons, **options)

        numbered = enumerate(texts)
        if workers == 1:
            yield from map(resolved, numbered)
            return
        with ThreadPoolExecutor(workers, "incoref") as pool:
            waiting: deque[Future[Document]] = deque(
                pool.submit(resolved, item) for item in islice(numbered, 2 * workers)
            )
            try:
                while waiting:
                    done = waiting.popleft().result()
                    waiting.extend(pool.submit(resolved, item) for item in islice(numbered, 1))
                    yield done
            finally:
                for future in waiting:
                    future.cancel()

    def _given_or_new(self, session: Session | None, options: dict[str, Any]) -> Session:
        if session is None:
            return self.session(**options)
        if options:
            raise IncorefError(f"a session that is given has its options already: {', '.join(options)} can't be set")
        return session


def _options(options: dict[str, Any]) -> SessionOptions:
    try:
        return SessionOptions(**options)
    except TypeError as error:
        known = list(SessionOptions.__dataclass_fields__)
        unknown = [name for name in options if name not in known]
        raise IncorefError(f"no such option: {', '.join(unknown)}; there are {', '.join(known)}") from error


async def _items(source: Iterable[str | Message] | AsyncIterable[str | Message]) -> AsyncIterator[str | Message]:
    if isinstance(source, AsyncIterable):
        async for item in source:
            yield item
        return
    items = iter(source)
    while ahead := await asyncio.to_thread(lambda: list(islice(items, 1))):
        yield ahead[0]
