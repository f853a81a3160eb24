"""The one mutable object: a text that is still arriving, said or fed, with its entities.

A session holds a frozen state and goes from one to the next; undo goes back, a fork starts from the same. Many
sessions share a model, in many threads; calls to one session come one after the other. Knows no files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import RLock

from incoref.errors import IncorefError
from incoref.model.folder import Model
from incoref.options import SessionOptions
from incoref.session import corrections, intake, saving
from incoref.session.resolved_text import resolved_text
from incoref.session.state import SessionState, advance, document_of, entities_of, packed, unpacked
from incoref.session.transcript import Line
from incoref.session.updates import Message, Update
from incoref.text import RuleSplitter, Splitter
from incoref.types import Document, Entity, Given


class Session:
    """A text that is still arriving. Made by ``Resolver.session``."""

    def __init__(
        self,
        model: Model,
        options: SessionOptions | None = None,
        splitter: Splitter | None = None,
        state: SessionState | None = None,
    ) -> None:
        self.options = options or SessionOptions()
        model.classes(self.options.scheme, self.options.genre)
        self._model = model
        self._splitter = splitter or RuleSplitter()
        self._state = state or SessionState(model.start())
        self._undo: deque[SessionState] = deque(maxlen=self.options.undo)
        self._lock = RLock()

    def __repr__(self) -> str:
        return f"<Session: {self.sentences} sentences, {len(self._state.live)} entities>"

    def say(self, text: str, speaker: str | None = None, id: Given = None, *, time: Given = None) -> list[Update]:
        """A complete utterance: all its sentences are answered at once, and a line break follows it in the text.

        What was pending ends before it. ``id`` and ``time`` come back with the updates.
        """
        return self._utter(lambda state: intake.say(self._splitter, state, text, speaker, id, time))

    def say_words(
        self,
        words: Sequence[str],
        speaker: str | None = None,
        id: Given = None,
        *,
        time: Given = None,
        text: str | None = None,
    ) -> list[Update]:
        """A complete utterance of one sentence whose words are known.

        ``text`` has the words in this order; without it, it is the words with a space between them.
        """
        return self._utter(lambda state: intake.say_words(state, words, text, speaker, id, time))

    def read(self, document: Document) -> list[Update]:
        """A document with its own sentences, words, speakers and times; its entities are not looked at."""
        return self._utter(lambda state: intake.read(state, document))

    def feed(self, piece: str, speaker: str | None = None) -> list[Update]:
        """Running text in any pieces: sentences are answered as soon as what follows proves that they ended.

        When another speaker goes on, what is pending ends.
        """
        if not piece:
            return []
        with self._lock:
            state, updates = self._state, list[Update]()
            if speaker != state.speaker and state.pending.text:
                state, updates = self._flushed(state)
            state, lines = intake.feed(self._splitter, state, piece, speaker)
            return self._go_on(state, lines, updates, close=False)

    def flush(self) -> list[Update]:
        """End what is pending: its sentences are answered as if nothing followed."""
        with self._lock:
            if not self._state.pending.text and not self._state.waiting:
                return []
            state, updates = self._flushed(self._state)
            return self._go_on(state, (), updates, close=True)

    def hear(self, item: str | Message) -> list[Update]:
        """A piece of running text, or a message that is a complete utterance."""
        if isinstance(item, Message):
            return self.say(item.text, item.speaker, item.id, time=item.time)
        return self.feed(item)

    @property
    def text(self) -> str:
        """What was said and fed, as far as it is kept. Its first character has the offset ``text_start``."""
        return self._state.text

    @property
    def text_start(self) -> int:
        """Where the text that is kept starts: 0 unless ``history`` made the session forget its beginning."""
        return self._state.text_start

    @property
    def sentences(self) -> int:
        """How many sentences have been answered."""
        state = self._state
        return state.sentences - len(state.waiting)

    @property
    def tokens(self) -> int:
        """How many words have been answered."""
        return self._state.model.reading.tokens

    @property
    def nbytes(self) -> int:
        """About how much memory the session takes beside its text, its undo steps included; forks share it."""
        states = (self._state, *self._undo)
        return self._state.model.encoder.nbytes + sum(state.memory.nbytes for state in states)

    @property
    def entities(self) -> list[Entity]:
        """All entities with all their mentions; an evicted one is there as long as a mention of it is kept."""
        return entities_of(self._model, self._state)

    def document(self, id: str = "session", *, singletons: bool = True) -> Document:
        """What is kept, as a document of its own: offsets, tokens and sentences count from its start."""
        return document_of(self._model, self._state, id, singletons=singletons)

    def resolved_text(self) -> str:
        """The text with pronouns replaced by the names of those whom they mean."""
        return resolved_text(self.document())

    def undo(self) -> None:
        """Take back the last call of ``say``, ``feed`` or the like, and what was corrected since."""
        with self._lock:
            if not self._undo:
                raise IncorefError(f"nothing to undo: a session keeps {self.options.undo} steps, and none is left")
            self._state = unpacked(self._model, self._undo.pop(), self._state)

    def fork(self) -> Session:
        """A session that starts from here; neither affects the other."""
        with self._lock:
            twin = Session(self._model, self.options, self._splitter, self._state)
            twin._undo.extend(self._undo)
            return twin

    def save(self) -> bytes:
        """The session as bytes, for ``Resolver.restore``. What could be undone is not part of it."""
        return saving.save(self._model, self.options, self._splitter, self._state)

    def introduce(self, name: str, *, type: str | None = None, speaker: str | None = None) -> Entity:
        """Make a participant known; what ``speaker`` says of themselves as "I" is that entity."""
        with self._lock:
            self._state, entity = corrections.introduce(self._model, self._state, name, type, speaker)
            return self._entity(entity)

    def rename(self, entity: Entity | str, name: str) -> Entity:
        """Give an entity a name, by which it is also known from now on."""
        with self._lock:
            self._state = corrections.rename(self._state, _id(entity), name)
            return self._entity(_id(entity))

    def merge(self, one: Entity | str, other: Entity | str) -> Entity:
        """Two entities are the same: ``one`` gets the mentions of ``other``, which is gone."""
        with self._lock:
            self._state = corrections.merge(self._model, self._state, _id(one), _id(other))
            return self._entity(_id(one))

    def forget(self, entity: Entity | str) -> None:
        """Remove an entity: its vector, words, name, mentions, and the label of the speaker that it is.

        Can't be undone, nor can what came before. The text that was said stays; ``history`` bounds it.
        """
        with self._lock:
            self._state = corrections.forget(self._state, _id(entity))
            self._undo.clear()

    def _entity(self, id: str) -> Entity:
        return next(entity for entity in self.entities if entity.id == id)

    def _utter(self, said: Callable[[SessionState], intake.Heard]) -> list[Update]:
        """End what is pending, then say something complete."""
        with self._lock:
            state, updates = self._flushed(self._state)
            state, lines = said(state)
            return self._go_on(state, lines, updates, close=True)

    def _flushed(self, state: SessionState) -> tuple[SessionState, list[Update]]:
        state, lines = intake.flush(self._splitter, state)
        return advance(self._model, self.options, state, lines, close=True)

    def _go_on(
        self, state: SessionState, lines: Sequence[Line], updates: list[Update], *, close: bool
    ) -> list[Update]:
        """Read sentences and make the state after them this session's; before that, nothing has changed."""
        state, found = advance(self._model, self.options, state, lines, close=close)
        if self.options.undo:
            self._undo.append(packed(self._model, self._state))
        self._state = state
        return updates + found


def _id(entity: Entity | str) -> str:
    return entity.id if isinstance(entity, Entity) else entity
