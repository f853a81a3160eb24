"""A session on a server, with the methods of a local one.

Every change carries a sequence number and is retried until it is answered, so it takes effect exactly once, even if
the connection or the server fails in between. Depends on the API of ``incoref serve``, not on the server's code.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast
from urllib.parse import quote

from incoref.errors import IncorefError, MissingExtra
from incoref.options import OptionKeywords, SessionOptions
from incoref.outputs.jsonable import json_line
from incoref.session import asynchronous
from incoref.session.updates import Message, TraceStep, Update
from incoref.types import Document, Entity, Given, Mention, RunnerUp, Span, place_of

if TYPE_CHECKING:
    import httpx

    from incoref.session import session as local

_AGAIN = frozenset({429, 502, 503, 504})
"""Statuses to retry. 502 and 504 come from a proxy that lost its server; sequence numbers make retries safe."""


class ServerError(IncorefError):
    """The server refused a request; ``problem`` contains the problem details (RFC 9457)."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{problem.get('title', 'the server refused')}: {problem.get('detail', '')} (HTTP {status})")
        self.status, self.problem = status, problem


class Session:
    """A session on a server: a new one, or an existing one if ``id`` is given.

    Only one client at a time may write to a session with sequence numbers. ``patience`` is how many seconds to keep
    retrying a request while the server is unreachable, stopping or overloaded.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        id: str | None = None,
        patience: float = 30,
        timeout: float = 60,
        **options: Unpack[OptionKeywords],
    ) -> None:
        if id is not None and options:
            raise IncorefError(f"an existing session keeps its options: {', '.join(options)} can't be set")
        self._url, self._token, self._patience, self._timeout = url, token, patience, timeout
        self._http = _http_client(url, token, timeout)
        if id is None:
            self.id: str = self._call("POST", "/v1/sessions", {"options": options})["id"]
            self._sequence = 0
        else:
            self.id = id
            self._sequence = self._state()["sequence"] or 0

    def __repr__(self) -> str:
        return f"<Session on {self._url}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. The session stays on the server."""
        self._http.close()

    def delete(self) -> None:
        """Delete the session and everything said in it."""
        self._call("DELETE", self._path())

    @property
    def options(self) -> SessionOptions:
        return SessionOptions(**self._state()["options"])

    def say(self, text: str, speaker: str | None = None, id: Given = None, *, time: Given = None) -> list[Update]:
        """Add a complete utterance; returns updates for all its sentences."""
        return self._updates("feed", {"text": text, "speaker": speaker, "id": id, "time": time})

    def say_words(
        self,
        words: Sequence[str],
        speaker: str | None = None,
        id: Given = None,
        *,
        time: Given = None,
        text: str | None = None,
    ) -> list[Update]:
        """Add a complete utterance of one sentence that is already split into words."""
        given = {"words": list(words), "text": text, "speaker": speaker, "id": id, "time": time}
        return self._updates("feed", given)

    def read(self, document: Document) -> list[Update]:
        """Add a document that brings its own sentences, words and speakers."""
        sentences = [
            {
                "start": sentence.start,
                "end": sentence.end,
                "speaker": sentence.speaker,
                "tokens": [[*token[:3]] for token in sentence.tokens],
            }
            for sentence in document.sentences
        ]
        given = {"id": document.id, "text": document.text, "sentences": sentences}
        return self._updates("read", {"document": given})

    def feed(self, piece: str, speaker: str | None = None) -> list[Update]:
        """Add running text in arbitrary pieces; a sentence is resolved once the text after it shows it has ended."""
        return self._updates("feed", {"text": piece, "speaker": speaker, "final": False})

    def flush(self) -> list[Update]:
        """Treat pending text as complete."""
        return self._updates("flush", {})

    def hear(self, item: str | Message) -> list[Update]:
        """Add a piece of running text, or a message as a complete utterance."""
        if isinstance(item, Message):
            return self.say(item.text, item.speaker, item.id, time=item.time)
        return self.feed(item)

    @property
    def text(self) -> str:
        return str(self._state()["text"])

    @property
    def text_start(self) -> int:
        return int(self._state()["text_start"])

    @property
    def sentences(self) -> int:
        return int(self._state()["sentences"])

    @property
    def tokens(self) -> int:
        return int(self._state()["tokens"])

    @property
    def entities(self) -> list[Entity]:
        return [Entity.from_json(entity) for entity in self._state()["entities"]]

    def document(self, id: str | int = "session", *, singletons: bool = False) -> Document:
        """Return the text that the session still keeps, as a document; ``singletons`` includes singleton entities."""
        data = self._call("GET", self._path(f"document?singletons={str(singletons).lower()}"))
        return Document.from_json({**data, "id": str(id)})

    def resolved_text(self) -> str:
        return str(self._state()["resolved_text"])

    def undo(self) -> None:
        """Take back the last ``say``, ``feed`` or similar call, and any corrections made since."""
        self._change("POST", "undo", {})

    def fork(self) -> Session:
        """A new session on the same server that starts from this one's state."""
        twin = self._call("POST", self._path("fork"))["id"]
        return Session(self._url, token=self._token, id=twin, patience=self._patience, timeout=self._timeout)

    copy = fork

    def __copy__(self) -> Session:
        return self.fork()

    def __deepcopy__(self, memo: object) -> Session:
        return self.fork()

    def save(self) -> bytes:
        """Return the session as bytes, for ``Resolver.restore`` with the server's model."""
        return self._send("GET", self._path("save"), None).content

    def introduce(self, name: str, *, type: str | None = None, speaker: str | None = None) -> Entity:
        """Introduce a participant before they are mentioned."""
        return self._entity("POST", "entities", {"name": name, "type": type, "speaker": speaker})

    def rename(self, entity: Entity | str, name: str) -> Entity:
        """Rename an entity."""
        return self._entity("PATCH", f"entities/{_id(entity)}", {"name": name})

    def merge(self, one: Entity | str, other: Entity | str) -> Entity:
        """Merge two entities: ``one`` takes over the mentions of ``other``, which disappears."""
        given = {"other": other.id if isinstance(other, Entity) else str(other)}
        return self._entity("POST", f"entities/{_id(one)}/merge", given)

    def detach(self, mention: Span) -> Entity:
        """Move a mention to a new entity, which is returned."""
        return self._entity("POST", "mentions/detach", _place(mention))

    def split(self, entity: Entity | str, mentions: Iterable[Span]) -> Entity:
        """Move some mentions of an entity to a new entity, which is returned."""
        given = {"mentions": [_place(mention) for mention in mentions]}
        return self._entity("POST", f"entities/{_id(entity)}/split", given)

    def reassign(self, mention: Span, entity: Entity | str) -> Entity:
        """Move a mention to another entity; its previous entity disappears if nothing is left of it."""
        given = {**_place(mention), "entity": entity.id if isinstance(entity, Entity) else str(entity)}
        return self._entity("POST", "mentions/reassign", given)

    def forget(self, entity: Entity | str) -> None:
        """Remove an entity: its vector, words, name and mentions."""
        sequence = self._next()
        self._call("DELETE", self._path(f"entities/{_id(entity)}?sequence={sequence}"))

    def share(self) -> str:
        """A read-only link to the session."""
        return self._url.rstrip("/") + str(self._call("POST", self._path("share"))["path"])

    def unshare(self) -> None:
        """Revoke the read-only link."""
        self._call("DELETE", self._path("share"))

    def events(self, after: int = 0) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """Yield the number, kind and data of every change to the session, whichever client makes it.

        Reconnects if the connection is lost; ends when the session is deleted.
        """
        while True:
            for number, kind, data in self._events(after):
                if kind == "end":
                    return
                after = max(after, number)
                yield number, kind, data
            time.sleep(0.2)

    def _events(self, after: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
        import httpx

        number, kind = after, ""
        try:
            with self._http.stream("GET", self._path(f"events?after={after}")) as response:
                if response.status_code in _AGAIN:
                    return
                if response.status_code != 200:
                    raise _error(response.status_code, response.read())
                for line in response.iter_lines():
                    name, _, value = line.partition(": ")
                    if name == "id":
                        number = int(value)
                    elif name == "event":
                        kind = value
                    elif name == "data":
                        yield number, kind, json.loads(value)
        except httpx.TransportError:
            return

    def _path(self, rest: str = "") -> str:
        return f"/v1/sessions/{self.id}" + (f"/{rest}" if rest else "")

    def _state(self) -> dict[str, Any]:
        return self._call("GET", self._path())

    def _updates(self, route: str, given: dict[str, Any]) -> list[Update]:
        return [_update(data) for data in self._change("POST", route, given)["updates"]]

    def _entity(self, method: str, route: str, given: dict[str, Any]) -> Entity:
        return Entity.from_json(self._change(method, route, given)["entity"])

    def _change(self, method: str, route: str, given: dict[str, Any]) -> dict[str, Any]:
        return self._call(method, self._path(route), {**given, "sequence": self._next()})

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    def _call(self, method: str, path: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        content = self._send(method, path, given).content
        answer: dict[str, Any] = json.loads(content) if content else {}
        return answer

    def _send(self, method: str, path: str, given: Mapping[str, Any] | None) -> httpx.Response:
        """Send a request and return the response, retrying if necessary."""
        import httpx

        content = None if given is None else json_line(given).encode()
        until, pause = time.monotonic() + self._patience, 0.1
        while True:
            wait = pause
            try:
                response = self._http.request(method, path, content=content)
                if response.status_code < 400:
                    return response
                if response.status_code not in _AGAIN or time.monotonic() > until:
                    raise _error(response.status_code, response.content)
                told = response.headers.get("retry-after", "")
                wait = max(pause, float(told) if told.isdecimal() else 0.0)  # a proxy may send a date
            except httpx.TransportError as error:
                if time.monotonic() > until:
                    raise IncorefError(f"{self._url} can't be reached: {error}") from error
            time.sleep(min(wait, max(0.1, until - time.monotonic())))
            pause = min(1.0, 2 * pause)


class AsyncSession(asynchronous.AsyncSession):
    """An asyncio session on a server, with the methods of a local one; created by ``await AsyncSession.open(url)``.

    A cancelled call may still be executed; the next one waits for it.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(cast("local.Session", session))
        self._remote = session

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        token: str | None = None,
        id: str | None = None,
        patience: float = 30,
        timeout: float = 60,
        **options: Unpack[OptionKeywords],
    ) -> AsyncSession:
        """Open a new session, or an existing one if ``id`` is given."""

        def opened() -> Session:
            return Session(url, token=token, id=id, patience=patience, timeout=timeout, **options)

        return cls(await asyncio.to_thread(opened))

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def id(self) -> str:
        return self._remote.id

    async def fork(self) -> AsyncSession:
        """A new session on the same server that starts from this one's state."""
        return AsyncSession(await self._call(self._remote.fork))

    async def close(self) -> None:
        """Close the connection. The session stays on the server."""
        await self._call(self._remote.close)

    async def delete(self) -> None:
        """Delete the session and everything said in it."""
        await self._call(self._remote.delete)

    async def share(self) -> str:
        """A read-only link to the session."""
        return await self._call(self._remote.share)

    async def unshare(self) -> None:
        """Revoke the read-only link."""
        await self._call(self._remote.unshare)


def _http_client(url: str, token: str | None, timeout: float) -> httpx.Client:
    try:
        import httpx
    except ImportError as error:
        raise MissingExtra("httpx", "client", "a session on a server") from error
    headers = {"content-type": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    return httpx.Client(base_url=url, headers=headers, timeout=timeout)


def _error(status: int, content: bytes) -> ServerError:
    try:
        problem = json.loads(content)
    except ValueError:
        problem = {}
    return ServerError(status, problem if isinstance(problem, dict) else {})


def _id(entity: Entity | str) -> str:
    return quote(entity.id if isinstance(entity, Entity) else str(entity), safe="")


def _place(mention: Span) -> dict[str, Any]:
    start, end = place_of(mention)
    return {"start": start, "end": end}


def _update(data: Mapping[str, Any]) -> Update:
    return Update(
        sentence=data["sentence"],
        text=data["text"],
        start=data["start"],
        end=data["end"],
        speaker=data["speaker"],
        id=data["id"],
        mentions=tuple(_mention(mention, data["sentence"]) for mention in data["mentions"]),
        elapsed_ms=data["elapsed_ms"],
        time=data.get("time"),
        evicted=tuple(data.get("evicted", ())),
        warnings=tuple(data.get("warnings", ())),
        trace=tuple(_step(step) for step in data.get("trace", ())),
    )


def _mention(data: Mapping[str, Any], sentence: int) -> Mention:
    first, end = data["tokens"]
    return Mention(
        start=data["start"],
        end=data["end"],
        text=data["text"],
        tokens=(first, end),
        sentence=sentence,
        entity=data["entity"],
        confidence=data["confidence"],
        mention_confidence=data["mention_confidence"],
        new=data["new"],
        runners_up=tuple(RunnerUp.from_json(other) for other in data.get("runners_up", ())),
    )


def _step(data: Mapping[str, Any]) -> TraceStep:
    mention = data.get("mention")
    return TraceStep(
        data["action"],
        data["token"],
        tuple(data["probabilities"].items()),
        None if mention is None else (mention[0], mention[1]),
    )
