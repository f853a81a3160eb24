"""Changes to a session, as values that are written to a log and can be replayed.

A command gives equal answers on equal sessions, so the log alone can restore a session. Answers are JSON, exactly as
stored and sent. Independent of the store and of HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from incoref.errors import IncorefError
from incoref.outputs.jsonable import json_line, update_json
from incoref.session.session import Session
from incoref.session.updates import Update
from incoref.types import Document, Entity, Given

Answer = dict[str, Any]


def encoded(value: Any) -> bytes:
    """Encode a value as JSON, as stored and sent."""
    return json_line(value).encode()


def updates_json(updates: Sequence[Update]) -> list[dict[str, Any]]:
    """Return updates as ``incoref stream`` prints them, plus the tokens of mentions, so that they can be parsed."""
    written = []
    for update in updates:
        data = update_json(update)
        for mention, fields_of_it in zip(update.mentions, data["mentions"], strict=True):
            fields_of_it["tokens"] = list(mention.tokens)
        written.append(data)
    return written


@dataclass(frozen=True, slots=True)
class Command:
    """A change to a session."""

    name: ClassVar[str]
    introduces: ClassVar[int] = 0
    """Number of participants that it introduces, which are never evicted."""

    def apply(self, session: Session) -> Answer:
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Number of characters that it adds to the session."""
        return 0

    @property
    def undoable(self) -> bool:
        """Whether it always adds an undo step."""
        return False

    def encode(self) -> bytes:
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return encoded({"do": self.name, **{name: value for name, value in given.items() if value is not None}})

    @staticmethod
    def decode(data: bytes) -> Command:
        given: dict[str, Any] = json.loads(data)
        return _COMMANDS[given.pop("do")](**given)


@dataclass(frozen=True, slots=True)
class Say(Command):
    """A complete utterance."""

    name = "say"
    text: str
    speaker: str | None = None
    id: Given = None
    time: Given = None

    @property
    def size(self) -> int:
        return len(self.text) + 1

    @property
    def undoable(self) -> bool:
        return self.size > 0

    def apply(self, session: Session) -> Answer:
        return {"updates": updates_json(session.say(self.text, self.speaker, self.id, time=self.time))}


@dataclass(frozen=True, slots=True)
class SayWords(Command):
    """A complete utterance of one sentence that is already split into words."""

    name = "words"
    words: Sequence[str]
    text: str | None = None
    speaker: str | None = None
    id: Given = None
    time: Given = None

    @property
    def size(self) -> int:
        return sum(map(len, self.words)) + len(self.words) if self.text is None else len(self.text) + 1

    @property
    def undoable(self) -> bool:
        return self.size > 0

    def apply(self, session: Session) -> Answer:
        updates = session.say_words(self.words, self.speaker, self.id, time=self.time, text=self.text)
        return {"updates": updates_json(updates)}


@dataclass(frozen=True, slots=True)
class Feed(Command):
    """Running text."""

    name = "feed"
    text: str
    speaker: str | None = None

    @property
    def size(self) -> int:
        return len(self.text)

    @property
    def undoable(self) -> bool:
        return self.size > 0

    def apply(self, session: Session) -> Answer:
        return {"updates": updates_json(session.feed(self.text, self.speaker))}


@dataclass(frozen=True, slots=True)
class Read(Command):
    """A document that brings its own sentences and words, as JSON."""

    name = "read"
    document: Mapping[str, Any]

    @property
    def size(self) -> int:
        return len(self.document["text"])

    @property
    def undoable(self) -> bool:
        return self.size > 0

    def apply(self, session: Session) -> Answer:
        try:
            document = Document.from_json(self.document)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise IncorefError(f"this is not a document: {type(error).__name__}") from error
        for sentence in document.sentences:
            place = sentence.start
            for token in sentence.tokens:
                if not place <= token.start < token.end <= sentence.end:
                    raise IncorefError(f"the token at {token.start} is out of order or outside its sentence")
                if document.text[token.start : token.end] != token.text:
                    raise IncorefError(f"the text from {token.start} to {token.end} differs from the token")
                place = token.end
        return {"updates": updates_json(session.read(document))}


@dataclass(frozen=True, slots=True)
class Flush(Command):
    """Treat pending text as complete."""

    name = "flush"

    def apply(self, session: Session) -> Answer:
        return {"updates": updates_json(session.flush())}


@dataclass(frozen=True, slots=True)
class Undo(Command):
    """Undo the last utterance, piece or document."""

    name = "undo"

    def apply(self, session: Session) -> Answer:
        session.undo()
        return {"sentences": session.sentences}


@dataclass(frozen=True, slots=True)
class Introduce(Command):
    """Introduce a participant."""

    name = "introduce"
    introduces = 1
    called: str
    type: str | None = None
    speaker: str | None = None

    @property
    def size(self) -> int:
        return len(self.called) + len(self.type or "") + len(self.speaker or "")

    def apply(self, session: Session) -> Answer:
        return _entity(session.introduce(self.called, type=self.type, speaker=self.speaker))


@dataclass(frozen=True, slots=True)
class Rename(Command):
    """Rename an entity."""

    name = "rename"
    entity: str
    called: str

    @property
    def size(self) -> int:
        return len(self.called)

    def apply(self, session: Session) -> Answer:
        return _entity(session.rename(self.entity, self.called))


@dataclass(frozen=True, slots=True)
class Merge(Command):
    """Merge two entities; the other one disappears."""

    name = "merge"
    entity: str
    other: str

    def apply(self, session: Session) -> Answer:
        return {**_entity(session.merge(self.entity, self.other)), "gone": self.other}


@dataclass(frozen=True, slots=True)
class Detach(Command):
    """Move a mention to a new entity."""

    name = "detach"
    start: int
    end: int

    def apply(self, session: Session) -> Answer:
        return _entity(session.detach((self.start, self.end)))


@dataclass(frozen=True, slots=True)
class Split(Command):
    """Move some mentions, given by start and end, from an entity to a new one."""

    name = "split"
    entity: str
    mentions: Sequence[Sequence[int]]

    def apply(self, session: Session) -> Answer:
        return _entity(session.split(self.entity, [(start, end) for start, end in self.mentions]))


@dataclass(frozen=True, slots=True)
class Reassign(Command):
    """Move a mention to another entity; the previous one may disappear."""

    name = "reassign"
    start: int
    end: int
    entity: str

    def apply(self, session: Session) -> Answer:
        before = {entity.id for entity in session.entities}
        answer = _entity(session.reassign((self.start, self.end), self.entity))
        gone = before - {entity.id for entity in session.entities}
        return {**answer, "gone": gone.pop()} if gone else answer


@dataclass(frozen=True, slots=True)
class Forget(Command):
    """Remove an entity, and all undo steps."""

    name = "forget"
    entity: str

    def apply(self, session: Session) -> Answer:
        session.forget(self.entity)
        return {"gone": self.entity}


_COMMANDS: dict[str, type[Command]] = {
    kind.name: kind
    for kind in (
        Say,
        SayWords,
        Feed,
        Read,
        Flush,
        Undo,
        Introduce,
        Rename,
        Merge,
        Detach,
        Split,
        Reassign,
        Forget,
    )
}


def _entity(entity: Entity) -> Answer:
    return {"entity": entity.to_json()}
