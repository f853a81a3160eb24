"""The one mutable object: a text that is still arriving, said or fed, with its entities.

A session holds a frozen state and goes from one to the next; undo goes back, a fork starts from the same. Many
sessions share a model, in many threads; calls to one session come one after the other. Knows no files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import RLock

from incoref.errors import IncorefError
from incoref.model.folder import Model
from incoref.options import SessionOptions
from incoref.session import corrections, intake, regrouping, rereading, saving
from incoref.session.archive import Changes, changes
from incoref.session.resolved_text import resolved_text
from incoref.session.state import (
    AT_ONCE,
    Part,
    SessionState,
    Wanted,
    advance,
    advancing,
    entities_of,
    packed,
    part_of,
    unpacked,
)
from incoref.session.transcript import Line
from incoref.session.updates import Message, Update
from incoref.text import RuleSplitter, Splitter
from incoref.types import PLUGGED, Document, Entity, Given, Span


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
        self._hypothesis: SessionState | None = None
        """The state after provisional text; the session itself has not read it."""
        self._lock = RLock()
        self.between_steps: Callable[[], None] | None = None
        """Called now and then while text is read; if it raises, the call leaves the session unchanged."""

    def __repr__(self) -> str:
        return f"<Session: {self.sentences} sentences, {len(self._state.live)} entities>"

    def _repr_html_(self) -> str:
        return PLUGGED["html"](self)

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
        if not isinstance(document, Document):
            raise IncorefError(f"read() takes a Document, not {type(document).__name__}; say() and feed() take text")
        return self._utter(lambda state: intake.read(state, document))

    def feed(self, piece: str, speaker: str | None = None, *, provisional: bool = False) -> list[Update]:
        """Running text in any pieces: sentences are answered as soon as what follows proves that they ended.

        When another speaker goes on, what is pending ends. A ``provisional`` piece, such as a speech
        recogniser's hypothesis, is answered at once and whole; the next piece or utterance replaces it, and nothing
        of it remains.
        """
        if piece == "" and not provisional:
            return []
        with self._lock:
            state, updates = self._state, list[Update]()
            if speaker != state.speaker and state.pending.text:
                state, updates = self._flushed(state)
            state, lines = intake.feed(self._splitter, state, piece, speaker)
            if provisional:
                state, rest = intake.flush(self._splitter, state)
                state, more = self._advanced(state, [*lines, *rest], close=True)
                self._hypothesis = state
                return updates + more
            return self._go_on(state, lines, updates, close=False)

    def flush(self) -> list[Update]:
        """End what is pending: its sentences are answered as if nothing followed. Provisional text is final then."""
        with self._lock:
            if self._hypothesis is not None:
                self._take(self._hypothesis)
            if not self._state.pending.text and not self._state.waiting:
                return []
            state, updates = self._flushed(self._state)
            return self._go_on(state, (), updates, close=True)

    def hear(self, item: str | Message) -> list[Update]:
        """A piece of running text, or a message that is a complete utterance."""
        if isinstance(item, Message):
            return self.say(item.text, item.speaker, item.id, time=item.time)
        if not isinstance(item, str):
            raise IncorefError(f"a session hears text or a Message, not {type(item).__name__}: {item!r:.40}")
        return self.feed(item)

    def reading(self, text: str | Document | Iterable[str | Message]) -> Wanted[None]:
        """A whole text, up to its end, as a coroutine that asks what is to be foreseen: see ``reading_together``."""
        if isinstance(text, Document):
            state, lines = intake.read(self._state, text)
            state, _ = yield from advancing(self._model, self.options, state, lines, close=True)
            self._take(state)
            return
        parts = (text,) if isinstance(text, str) else text
        if self._model.block_size(self.options.setting) != 1:
            for part in parts:  # where blocks end depends on where utterances do
                self.hear(part)
            self.flush()
            return
        state, lines = self._state, list[Line]()
        for part in parts:
            if isinstance(part, Message):
                state, flushed = intake.flush(self._splitter, state)
                state, said = intake.say(self._splitter, state, part.text, part.speaker, part.id, part.time)
                lines += flushed + said
            elif part:
                state, fed = intake.feed(self._splitter, state, part, None)
                lines += fed
            if len(lines) >= AT_ONCE:
                state, _ = yield from advancing(self._model, self.options, state, lines, close=False)
                lines = []
        state, flushed = intake.flush(self._splitter, state)
        state, _ = yield from advancing(self._model, self.options, state, lines + flushed, close=True)
        self._take(state)

    @property
    def text(self) -> str:
        """What was said and fed, as far as it is kept. Its first character has the offset ``text_start``."""
        return self._shown.text

    @property
    def text_start(self) -> int:
        """Where the text that is kept starts: 0 unless ``history`` made the session forget its beginning."""
        return self._shown.text_start

    @property
    def sentences(self) -> int:
        """How many sentences have been answered."""
        state = self._shown
        return state.sentences - len(state.waiting)

    @property
    def tokens(self) -> int:
        """How many words have been answered."""
        return self._shown.model.reading.tokens

    @property
    def nbytes(self) -> int:
        """About how much memory the session takes, with its transcript and undo steps; forks share it."""
        states = (self._state, *self._undo)
        model = self._state.model.encoder.nbytes + sum(state.memory.nbytes for state in states)
        return model + self._state.lines.nbytes + self._state.evicted.nbytes + self._state.open_text.nbytes

    @property
    def entities(self) -> list[Entity]:
        """All entities with all their mentions; an evicted one is there as long as a mention of it is kept."""
        return entities_of(self._model, self._shown)

    def document(self, id: str | int = "session", *, singletons: bool = False, since: int = 0) -> Document:
        """What is kept, as a document of its own: offsets, tokens and sentences count from its start.

        As in any document, entities with one mention are left out unless ``singletons`` is set; ``entities`` has all.
        With ``since``, it starts with the sentence of that number; each entity keeps its id and name.
        """
        return self.part(since).document(str(id), singletons=singletons)

    def part(self, since: int = 0) -> Part:
        """The transcript from the sentence of this number on, with offsets that count from the start of the text."""
        return part_of(self._model, self._shown, since)

    def resolved_text(self) -> str:
        """The text with pronouns replaced by the names of those whom they mean."""
        return resolved_text(self.document(singletons=True))

    def undo(self) -> None:
        """Take back the last call of ``say``, ``feed`` or the like, and what was corrected since."""
        with self._lock:
            if self._hypothesis is not None:
                self._hypothesis = None
                return
            if not self._undo:
                raise IncorefError(f"nothing to undo: a session keeps {self.options.undo} steps, and none is left")
            self._state = unpacked(self._model, self._undo.pop(), self._state)

    def fork(self) -> Session:
        """A session that starts from here; neither affects the other."""
        with self._lock:
            twin = Session(self._model, self.options, self._splitter, self._state)
            twin._undo.extend(self._undo)
            twin._hypothesis = self._hypothesis
            return twin

    copy = fork
    """As values that can be copied call it; ``copy.copy`` and ``copy.deepcopy`` do the same."""

    def __copy__(self) -> Session:
        return self.fork()

    def __deepcopy__(self, memo: object) -> Session:
        return self.fork()

    def __reduce__(self) -> str:
        raise IncorefError("a session can't be pickled; save() gives bytes, and Resolver.restore() takes them")

    def blank(self) -> Session:
        """A session in which nothing was said yet, with the same model and options."""
        return Session(self._model, self.options, self._splitter)

    def changes_since(self, before: Session) -> Changes:
        """What happened to the transcript since another state of this session; readable without the model."""
        return changes(self._model, before._state, self._state)

    def save(self) -> bytes:
        """The session as bytes, for ``Resolver.restore``, without provisional text and what could be undone."""
        return saving.save(self._model, self.options, self._splitter, self._state)

    def introduce(self, name: str, *, type: str | None = None, speaker: str | None = None) -> Entity:
        """Make a participant known; what ``speaker`` says of themselves as "I" is that entity."""
        with self._lock:
            return self._corrected(*corrections.introduce(self._model, self._state, name, type, speaker))

    def rename(self, entity: Entity | str, name: str) -> Entity:
        """Give an entity a name, by which it is also known from now on."""
        with self._lock:
            return self._corrected(corrections.rename(self._state, _id(entity), name), _id(entity))

    def merge(self, one: Entity | str, other: Entity | str) -> Entity:
        """Two entities are the same: ``one`` gets the mentions of ``other``, which is gone."""
        with self._lock:
            return self._corrected(corrections.merge(self._model, self._state, _id(one), _id(other)), _id(one))

    def detach(self, mention: Span) -> Entity:
        """A mention means nobody else: it becomes an entity of its own, which is returned.

        A mention is one of ``entities`` or of an update, or its start and end in the session's text.
        """
        with self._lock:
            return self._corrected(*regrouping.detach(self._model, self._state, mention, self.between_steps))

    def split(self, entity: Entity | str, mentions: Iterable[Span]) -> Entity:
        """These mentions of an entity are another one, which is returned."""
        with self._lock:
            given = (self._model, self._state, _id(entity), mentions)
            return self._corrected(*regrouping.split(*given, self.between_steps))

    def reassign(self, mention: Span, entity: Entity | str) -> Entity:
        """A mention means another entity. Its own is gone if it had no other mention and nobody introduced it."""
        with self._lock:
            given = (self._model, self._state, mention, _id(entity))
            return self._corrected(regrouping.reassign(*given, self.between_steps), _id(entity))

    def reassign_speaker(self, speaker: str | None, *, sentence: int | None = None, id: Given = None) -> list[Update]:
        """Someone else said a sentence, or all sentences of a message with this ``id``.

        They are read again, and so are those after them, whose updates are returned: the session is as if the speaker
        had been known from the start, and ids of entities may change. It can go back as far as ``undo`` can, and like
        it takes back what was corrected since.
        """
        if (sentence is None) == (id is None):
            raise IncorefError("say either which sentence or the id of which message has another speaker")
        with self._lock:
            states = [self._state]
            for step in reversed(self._undo):
                states.append(unpacked(self._model, step, states[-1]))
            states, updates = rereading.with_speaker(
                self._model,
                self.options,
                states[::-1],
                lambda line: line.number == sentence if id is None else line.id == id,
                speaker,
            )
            self._undo = deque((packed(self._model, state) for state in states[:-1]), maxlen=self.options.undo)
            self._state, self._hypothesis = states[-1], None
            return updates

    def forget(self, entity: Entity | str) -> None:
        """Remove an entity: its vector, words, name, mentions, and the label of the speaker that it is.

        Can't be undone, nor can what came before. The text that was said stays; ``history`` bounds it.
        """
        with self._lock:
            self._state, self._hypothesis = corrections.forget(self._state, _id(entity)), None
            self._undo.clear()

    def _corrected(self, state: SessionState, id: str) -> Entity:
        """Take over the state after a correction, and return the entity that was corrected."""
        for entity in entities_of(self._model, state):
            if entity.id == id:
                self._state, self._hypothesis = state, None
                return entity
        raise IncorefError(f"entity '{id}' was evicted, and none of its mentions is kept any more")

    def _utter(self, said: Callable[[SessionState], intake.Heard]) -> list[Update]:
        """End what is pending, then say something complete."""
        with self._lock:
            state, updates = self._flushed(self._state)
            state, lines = said(state)
            return self._go_on(state, lines, updates, close=True)

    @property
    def _shown(self) -> SessionState:
        """The state with provisional text, if there is any."""
        return self._state if self._hypothesis is None else self._hypothesis

    def _flushed(self, state: SessionState) -> tuple[SessionState, list[Update]]:
        state, lines = intake.flush(self._splitter, state)
        return self._advanced(state, lines, close=True)

    def _advanced(
        self, state: SessionState, lines: Sequence[Line], *, close: bool
    ) -> tuple[SessionState, list[Update]]:
        return advance(self._model, self.options, state, lines, close=close, between_steps=self.between_steps)

    def _go_on(
        self, state: SessionState, lines: Sequence[Line], updates: list[Update], *, close: bool
    ) -> list[Update]:
        """Read sentences and make the state after them this session's; before that, nothing has changed."""
        state, of_rest = self._advanced(state, lines, close=close)
        self._take(state)
        return updates + of_rest

    def _take(self, state: SessionState) -> None:
        """Make a state this session's; provisional text is gone, and the state before can be gone back to."""
        if self.options.undo:
            self._undo.append(packed(self._model, self._state))
        self._state, self._hypothesis = state, None


def _id(entity: Entity | str) -> str:
    return entity.id if isinstance(entity, Entity) else str(entity)
