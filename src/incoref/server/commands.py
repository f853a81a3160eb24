"""What can be asked of a session so that it changes: values that are written to a log and can be carried out again.

Carried out on equal sessions, a command gives equal answers: that makes the log enough to bring a session back. The
answers are JSON, since they are kept and sent. Knows no store and no HTTP.
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
    """JSON as it is kept and sent."""
    return json_line(value).encode()


def updates_json(updates: Sequence[Update]) -> list[dict[str, Any]]:
    """Updates as ``incoref stream`` prints them, with the tokens of mentions, so that they can be read back."""
    written = []
    for update in updates:
        data = update_json(update)
        for mention, fields_of_it in zip(update.mentions, data["mentions"], strict=True):
            fields_of_it["tokens"] = list(mention.tokens)
        written.append(data)
    return written


@dataclass(frozen=True, slots=True)
class Command:
    """A change of a session."""

    name: ClassVar[str]

    def apply(self, session: Session) -> Answer:
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Characters that it adds to the text."""
        return 0

    @property
    def undoable(self) -> bool:
        """Whether a session certainly keeps a step that takes it back; one that adds nothing may change nothing."""
        return self.size > 0

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

    def apply(self, session: Session) -> Answer:
        return {"updates": updates_json(session.say(self.text, self.speaker, self.id, time=self.time))}


@dataclass(frozen=True, slots=True)
class SayWords(Command):
    """A complete utterance of one sentence whose words are known."""

    name = "words"
    words: Sequence[str]
    text: str | None = None
    speaker: str | None = None
    id: Given = None
    time: Given = None

    @property
    def size(self) -> int:
        return sum(map(len, self.words)) + len(self.words) if self.text is None else len(self.text) + 1

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

    def apply(self, session: Session) -> Answer:
        return {"updates": updates_json(session.feed(self.text, self.speaker))}


@dataclass(frozen=True, slots=True)
class Read(Command):
    """A document with its own sentences and words, as its JSON."""

    name = "read"
    document: Mapping[str, Any]

    @property
    def size(self) -> int:
        return len(self.document["text"])

    def apply(self, session: Session) -> Answer:
        try:
            document = Document.from_json(self.document)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise IncorefError(f"this is no document: {type(error).__name__}") from error
        for sentence in document.sentences:
            place = sentence.start
            for token in sentence.tokens:
                if not place <= token.start < token.end <= sentence.end:
                    raise IncorefError(f"the token at {token.start} is not in its place in a sentence")
                if document.text[token.start : token.end] != token.text:
                    raise IncorefError(f"the text from {token.start} to {token.end} is not that of the token there")
                place = token.end
        return {"updates": updates_json(session.read(document))}


@dataclass(frozen=True, slots=True)
class Flush(Command):
    """The end of what is pending."""

    name = "flush"

    def apply(self, session: Session) -> Answer:
        return {"updates": updates_json(session.flush())}


@dataclass(frozen=True, slots=True)
class Undo(Command):
    """The last utterance, piece or the like is taken back."""

    name = "undo"

    def apply(self, session: Session) -> Answer:
        session.undo()
        return {"sentences": session.sentences}


@dataclass(frozen=True, slots=True)
class Introduce(Command):
    """A participant."""

    name = "introduce"
    called: str
    type: str | None = None
    speaker: str | None = None

    def apply(self, session: Session) -> Answer:
        return _entity(session.introduce(self.called, type=self.type, speaker=self.speaker))


@dataclass(frozen=True, slots=True)
class Rename(Command):
    """Another name for an entity."""

    name = "rename"
    entity: str
    called: str

    def apply(self, session: Session) -> Answer:
        return _entity(session.rename(self.entity, self.called))


@dataclass(frozen=True, slots=True)
class Merge(Command):
    """Two entities are the same; the other one is gone."""

    name = "merge"
    entity: str
    other: str

    def apply(self, session: Session) -> Answer:
        return {**_entity(session.merge(self.entity, self.other)), "gone": self.other}


@dataclass(frozen=True, slots=True)
class Forget(Command):
    """An entity is removed, and with it what could be undone."""

    name = "forget"
    entity: str

    def apply(self, session: Session) -> Answer:
        session.forget(self.entity)
        return {"gone": self.entity}


_COMMANDS: dict[str, type[Command]] = {
    kind.name: kind for kind in (Say, SayWords, Feed, Read, Flush, Undo, Introduce, Rename, Merge, Forget)
}


def _entity(entity: Entity) -> Answer:
    return {"entity": entity.to_json()}
