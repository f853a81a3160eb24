"""A session on a server, with the methods of a local one.

Every change has a sequence number and is sent again if no answer comes, so that it is carried out once, whatever
happens to the connection or the server in between. Knows the API of ``incoref serve`` and nothing of its inside.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from incoref.errors import IncorefError, MissingExtra
from incoref.options import SessionOptions
from incoref.outputs.jsonable import json_line
from incoref.session.updates import Message, TraceStep, Update
from incoref.types import Document, Entity, Given, Mention, RunnerUp

if TYPE_CHECKING:
    import httpx

_AGAIN = frozenset({429, 502, 503, 504})
"""502 and 504 come from a proxy whose server is away; what became of the request, its sequence number will tell."""


class ServerError(IncorefError):
    """The server refused; ``problem`` has the details as it told them (RFC 9457)."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(f"{problem.get('title', 'the server refused')}: {problem.get('detail', '')} (HTTP {status})")
        self.status, self.problem = status, problem


class Session:
    """A text that is still arriving, kept by a server: a new one, or, with ``id``, one that is there.

    One at a time may write to a session under its sequence numbers. ``patience`` is how many seconds a request is
    tried again while the server can't be reached, is stopping or has too much to do.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        id: str | None = None,
        patience: float = 30,
        timeout: float = 60,
        **options: Any,
    ) -> None:
        if id is not None and options:
            raise IncorefError(f"a session that is there has its options already: {', '.join(options)} can't be set")
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
        """Close the connection. The session stays."""
        self._http.close()

    def delete(self) -> None:
        """End the session, with all that was said."""
        self._call("DELETE", self._path())

    @property
    def options(self) -> SessionOptions:
        return SessionOptions(**self._state()["options"])

    def say(self, text: str, speaker: str | None = None, id: Given = None, *, time: Given = None) -> list[Update]:
        """A complete utterance: all its sentences are answered at once."""
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
        """A complete utterance of one sentence whose words are known."""
        given = {"words": list(words), "text": text, "speaker": speaker, "id": id, "time": time}
        return self._updates("feed", given)

    def read(self, document: Document) -> list[Update]:
        """A document with its own sentences, words and speakers."""
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
        """Running text in any pieces: sentences are answered as soon as what follows proves that they ended."""
        return self._updates("feed", {"text": piece, "speaker": speaker, "final": False})

    def flush(self) -> list[Update]:
        """End what is pending."""
        return self._updates("flush", {})

    def hear(self, item: str | Message) -> list[Update]:
        """A piece of running text, or a message that is a complete utterance."""
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

    def document(self, id: str = "session", *, singletons: bool = True) -> Document:
        """What is kept, as a document of its own."""
        found = self._call("GET", self._path(f"document?singletons={str(singletons).lower()}"))
        return Document.from_json({**found, "id": id})

    def resolved_text(self) -> str:
        return str(self._state()["resolved_text"])

    def undo(self) -> None:
        """Take back the last call of ``say``, ``feed`` or the like, and what was corrected since."""
        self._change("POST", "undo", {})

    def fork(self) -> Session:
        """A session on the same server that starts from here."""
        twin = self._call("POST", self._path("fork"))["id"]
        return Session(self._url, token=self._token, id=twin, patience=self._patience, timeout=self._timeout)

    def save(self) -> bytes:
        """The session as bytes, for ``Resolver.restore`` with the model that the server has."""
        return self._send("GET", self._path("save"), None).content

    def introduce(self, name: str, *, type: str | None = None, speaker: str | None = None) -> Entity:
        """Make a participant known."""
        return self._entity("POST", "entities", {"name": name, "type": type, "speaker": speaker})

    def rename(self, entity: Entity | str, name: str) -> Entity:
        """Give an entity a name."""
        return self._entity("PATCH", f"entities/{_id(entity)}", {"name": name})

    def merge(self, one: Entity | str, other: Entity | str) -> Entity:
        """Two entities are the same: ``one`` gets the mentions of ``other``, which is gone."""
        given = {"other": other.id if isinstance(other, Entity) else other}
        return self._entity("POST", f"entities/{_id(one)}/merge", given)

    def forget(self, entity: Entity | str) -> None:
        """Remove an entity: its vector, words, name and mentions."""
        sequence = self._next()
        self._call("DELETE", self._path(f"entities/{_id(entity)}?sequence={sequence}"))

    def share(self) -> str:
        """An address at which others can look at the session, and do nothing else."""
        return self._url.rstrip("/") + str(self._call("POST", self._path("share"))["path"])

    def unshare(self) -> None:
        """Let nobody look any more."""
        self._call("DELETE", self._path("share"))

    def events(self, after: int = 0) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """What happens to the session, whoever does it, as it happens: number, kind and details.

        Connects again when the connection breaks; ends when the session is deleted.
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
        """The answer; asks again while there is a point in it."""
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
                wait = max(pause, float(told) if told.isdecimal() else 0.0)  # a proxy may give a date
            except httpx.TransportError as error:
                if time.monotonic() > until:
                    raise IncorefError(f"{self._url} can't be reached: {error}") from error
            time.sleep(min(wait, max(0.1, until - time.monotonic())))
            pause = min(1.0, 2 * pause)


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
    return quote(entity.id if isinstance(entity, Entity) else entity, safe="")


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
