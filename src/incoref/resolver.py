"""The entry point: a loaded model that resolves whole texts, streams of text or messages, and batches of documents.

``load`` returns a ``Resolver``; its sessions do the work. Independent of file formats.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar, Unpack, overload

from incoref.corpora.unannotated import without_annotation
from incoref.errors import IncorefError
from incoref.model.folder import Model
from incoref.options import OptionKeywords, SessionOptions
from incoref.session import saving
from incoref.session.advance import Wanted
from incoref.session.asynchronous import AsyncSession
from incoref.session.session import Session
from incoref.session.together import read_together
from incoref.session.updates import Message, Update
from incoref.text import RuleSplitter, Splitter
from incoref.types import Document, Entity, Mention

Text = str | Document | Sequence[Message]
"""A whole text: a string, a document with its own sentences and words, or the messages of a conversation."""
Id = str | int
OnError = Callable[[Id, Any, Exception], None]
"""What is told of a text that could not be resolved: its id, the text, the error."""
_Numbered = tuple[Id, Any, IncorefError | None]
_Outcome = tuple[Id, Any, Document | Exception]


def load(model: Path | str | None = None, *, threads: int = 1) -> Resolver:
    """Load the model in a folder, or one that ships with the package: the default one, or by name (``"en"``)."""
    return Resolver(Model.load(model, threads))


class Resolver:
    """A loaded model. Stateless: any number of sessions, in any threads, can share it.

    Keyword ``options`` are always the fields of ``SessionOptions``.
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def __repr__(self) -> str:
        return f"<Resolver: {self.model.config.name}>"

    def session(self, *, splitter: Splitter | None = None, **options: Unpack[OptionKeywords]) -> Session:
        """A new session."""
        return Session(self.model, _options(options), splitter)

    def async_session(self, *, splitter: Splitter | None = None, **options: Unpack[OptionKeywords]) -> AsyncSession:
        """A new session for asyncio, whose methods are awaited."""
        return AsyncSession(self.session(splitter=splitter, **options))

    def restore(self, data: bytes, *, splitter: Splitter | None = None, **options: Unpack[OptionKeywords]) -> Session:
        """Restore a session from the bytes of ``Session.save``; ``options`` override the saved ones."""
        splitter = splitter or RuleSplitter()
        restored, state = saving.restore(self.model, data, splitter)
        return Session(self.model, _options({**asdict(restored), **options}), splitter, state)

    def resolve(
        self,
        text: Text,
        *,
        id: Id = "text",
        singletons: bool = False,
        splitter: Splitter | None = None,
        **options: Unpack[OptionKeywords],
    ) -> Document:
        """Resolve a whole text; entities with a single mention are left out unless ``singletons`` is set.

        A document keeps everything but its annotation of anaphora. Memory is bounded as in any session: see
        ``SessionOptions``.
        """
        _check_text(text)
        given: OptionKeywords = {"undo": 0, **options}
        session = self.session(splitter=splitter, **given)
        if isinstance(text, Document):
            session.read(text)
            return _with_entities(text, session.entities, singletons)
        for part in (text,) if isinstance(text, str) else text:
            session.hear(part)
        session.flush()
        return session.document(id, singletons=singletons)

    def stream(
        self,
        source: Iterable[str | Message],
        *,
        session: Session | None = None,
        **options: Unpack[OptionKeywords],
    ) -> Iterator[Update]:
        """Updates for pieces of running text or messages as they arrive; pending text is flushed at the end."""
        _check_source("stream", source)
        return _streamed(source, self._given_or_new(session, options))

    def astream(
        self,
        source: Iterable[str | Message] | AsyncIterable[str | Message],
        *,
        session: Session | None = None,
        **options: Unpack[OptionKeywords],
    ) -> AsyncIterator[Update]:
        """``stream`` for asyncio: the model, and a source that blocks, run in another thread."""
        if not isinstance(source, AsyncIterable):
            _check_source("astream", source)
        return _astreamed(source, self._given_or_new(session, options))

    @overload
    def pipe(
        self,
        texts: Iterable[Text],
        *,
        as_tuples: Literal[False] = False,
        workers: int = 1,
        singletons: bool = False,
        on_error: OnError | None = None,
        splitter: Splitter | None = None,
        **options: Unpack[OptionKeywords],
    ) -> Iterator[Document]: ...

    @overload
    def pipe(
        self,
        texts: Iterable[tuple[Id, Text]],
        *,
        as_tuples: Literal[True],
        workers: int = 1,
        singletons: bool = False,
        on_error: OnError | None = None,
        splitter: Splitter | None = None,
        **options: Unpack[OptionKeywords],
    ) -> Iterator[tuple[Id, Document]]: ...

    def pipe(
        self,
        texts: Iterable[Any],
        *,
        as_tuples: bool = False,
        workers: int = 1,
        singletons: bool = False,
        on_error: OnError | None = None,
        splitter: Splitter | None = None,
        **options: Unpack[OptionKeywords],
    ) -> Iterator[Any]:
        """``resolve`` many texts, in order; reads only some texts ahead.

        One worker reads sentences of several texts together, which is faster; more are threads, with a text each.
        Documents have the numbers of their texts as ids. With ``as_tuples``, texts come as ``(id, text)`` and answers
        as ``(id, document)``. A text that can't be resolved ends the pipe with an error that names it; with
        ``on_error``, that is told of it instead, and the text is left out.
        """
        if workers < 1:
            raise IncorefError(f"workers is {workers}; it must be at least 1")
        if isinstance(texts, str | bytes | Document) or not isinstance(texts, Iterable):
            raise IncorefError(
                f"pipe() takes many texts, such as a list of them, not {_shown(texts)}; resolve() takes one text"
            )
        self.session(splitter=splitter, **options)  # says what is wrong with them
        numbered = _with_ids(texts, as_tuples)
        if workers == 1:
            return _answers(self._together(numbered, singletons, splitter, options), as_tuples, on_error)

        def resolved(given: _Numbered) -> _Outcome:
            id, text, error = given
            try:
                if error is not None:
                    raise error
                return id, text, self.resolve(text, id=id, singletons=singletons, splitter=splitter, **options)
            except Exception as error:
                return id, text, error

        return _answers(_in_order(resolved, numbered, workers), as_tuples, on_error)

    def outcomes(
        self,
        texts: Iterable[Text],
        *,
        singletons: bool = False,
        splitter: Splitter | None = None,
        **options: Unpack[OptionKeywords],
    ) -> Iterator[Document | IncorefError]:
        """``pipe`` with one worker, which goes on after a text that can't be read: its error stands in its place."""
        for _, _, outcome in self._together(_with_ids(texts, False), singletons, splitter, options):
            if isinstance(outcome, Exception) and not isinstance(outcome, IncorefError):
                raise outcome
            yield outcome

    def _together(
        self, numbered: Iterable[_Numbered], singletons: bool, splitter: Splitter | None, options: OptionKeywords
    ) -> Iterator[_Outcome]:
        """Each text and what becomes of it; sentences of several texts are read together."""
        chosen = _options({"undo": 0, **options})
        classes = self.model.classes(chosen.scheme, chosen.genre)

        def readings() -> Iterator[tuple[tuple[Id, Any, Session], Wanted[None]]]:
            for id, text, error in numbered:
                session = Session(self.model, chosen, splitter)
                yield (id, text, session), _reading(session, text, error)

        for (id, text, session), error in read_together(self.model, classes, readings()):
            if error is not None:
                yield id, text, error
            elif isinstance(text, Document):
                yield id, text, _with_entities(text, session.entities, singletons)
            else:
                yield id, text, session.document(id, singletons=singletons)

    def _given_or_new(self, session: Session | None, options: OptionKeywords) -> Session:
        if session is None:
            return self.session(**options)
        if options:
            raise IncorefError(f"an existing session keeps its options: {', '.join(options)} can't be set")
        return session


def _streamed(source: Iterable[str | Message], session: Session) -> Iterator[Update]:
    for item in source:
        yield from session.hear(item)
    yield from session.flush()


async def _astreamed(
    source: Iterable[str | Message] | AsyncIterable[str | Message], session: Session
) -> AsyncIterator[Update]:
    async for item in _items(source):
        for update in await asyncio.to_thread(session.hear, item):
            yield update
    for update in await asyncio.to_thread(session.flush):
        yield update


def _with_ids(texts: Iterable[Any], as_tuples: bool) -> Iterator[_Numbered]:
    """Texts with their ids, or with what is wrong with an item."""
    for number, item in enumerate(texts):
        try:
            yield (*(_id_and_text(item) if as_tuples else (number, item)), None)
        except IncorefError as error:
            yield number, item, error


def _reading(session: Session, text: Any, error: IncorefError | None) -> Wanted[None]:
    if error is not None:
        raise error
    _check_text(text)
    yield from session.reading(text)


def _answers(outcomes: Iterable[_Outcome], as_tuples: bool, on_error: OnError | None) -> Iterator[Any]:
    for id, text, outcome in outcomes:
        if isinstance(outcome, Document):
            yield (id, outcome) if as_tuples else outcome
        elif on_error is not None:
            on_error(id, text, outcome)
        elif isinstance(outcome, IncorefError):
            raise IncorefError(f"text {id!r}: {outcome}") from outcome
        else:
            outcome.add_note(f"incoref was resolving text {id!r}: {text!r:.80}")
            raise outcome


_Given = TypeVar("_Given")
_Found = TypeVar("_Found")


def _in_order(function: Callable[[_Given], _Found], items: Iterator[_Given], workers: int) -> Iterator[_Found]:
    """The function of each item, in their order, some at a time; takes only a few items ahead."""
    if workers == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(workers, "incoref") as pool:
        waiting: deque[Future[_Found]] = deque(pool.submit(function, item) for item in islice(items, 2 * workers))
        try:
            while waiting:
                done = waiting.popleft().result()
                waiting.extend(pool.submit(function, item) for item in islice(items, 1))
                yield done
        finally:
            for future in waiting:
                future.cancel()


def _check_text(text: Any) -> None:
    """Refuse anything but a whole text, and say what is meant for it."""
    if isinstance(text, str | Document):
        return
    if isinstance(text, Sequence) and not isinstance(text, bytes):
        odd = next((part for part in text if not isinstance(part, Message)), None)
        if odd is None:
            return
        raise IncorefError(
            f"resolve() takes one text: a string, a Document, or a list of Message; this list has {_shown(odd)}. "
            "pipe() takes many texts"
        )
    way_out = "decode it first" if isinstance(text, bytes) else "stream() takes text that is still arriving"
    raise IncorefError(f"resolve() takes a string, a Document, or a list of Message, not {_shown(text)}; {way_out}")


def _check_source(name: str, source: Any) -> None:
    if isinstance(source, str | bytes | Message | Document) or not isinstance(source, Iterable):
        raise IncorefError(
            f"{name}() takes pieces of text or messages one after the other, such as a list or a generator, not "
            f"{_shown(source)}; resolve() takes a whole text"
        )


def _id_and_text(item: Any) -> tuple[Id, Any]:
    if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str | int)):
        raise IncorefError(f"with as_tuples, pipe() takes tuples of an id and a text, not {_shown(item)}")
    return item


def _shown(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {value!r:.40}"


def _with_entities(document: Document, entities: Iterable[Entity], singletons: bool) -> Document:
    """The document with these entities of a session that has read it alone, and that skips empty sentences."""
    number_of = [number for number, sentence in enumerate(document.sentences) if sentence.tokens]

    def placed(mention: Mention, type: str | None) -> Mention:
        return replace(mention, sentence=number_of[mention.sentence], type=type)

    kept = (
        replace(entity, mentions=tuple(placed(mention, entity.type) for mention in entity.mentions))
        for entity in entities
        if len(entity) > (0 if singletons else 1)
    )
    return replace(without_annotation(document), entities=tuple(kept))


def _options(options: Mapping[str, Any]) -> SessionOptions:
    try:
        return SessionOptions(**options)
    except TypeError as error:
        known = list(SessionOptions.__dataclass_fields__)
        unknown = [name for name in options if name not in known]
        raise IncorefError(f"unknown option: {', '.join(unknown)}; the options are {', '.join(known)}") from error


async def _items(source: Iterable[str | Message] | AsyncIterable[str | Message]) -> AsyncIterator[str | Message]:
    if isinstance(source, AsyncIterable):
        async for item in source:
            yield item
        return
    items = iter(source)
    while ahead := await asyncio.to_thread(lambda: list(islice(items, 1))):
        yield ahead[0]
