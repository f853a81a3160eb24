"""The session, the only mutable object: a text that is still arriving, with its entities.

A session holds a frozen state and replaces it with the next; undo goes back, and a fork shares it. Many sessions in
many threads can share a model; calls to one session run one after the other. Knows no files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from threading import RLock

from incoref.errors import IncorefError
from incoref.model.folder import Model
from incoref.options import SessionOptions
from incoref.session import corrections, intake, regrouping, rereading, saving
from incoref.session.advance import AT_ONCE, Wanted, advance, advancing
from incoref.session.archive import Changes, changes
from incoref.session.resolved_text import resolved_text
from incoref.session.state import SessionState, packed, unpacked
from incoref.session.transcript import Line
from incoref.session.transcript_parts import Part, entities_of, part_of
from incoref.session.updates import Message, Update
from incoref.text import RuleSplitter, Splitter
from incoref.types import PLUGGED, Document, Entity, Given, Span


class Session:
    """A text that is still arriving, with its entities. Created by ``Resolver.session``."""

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
        """The state after provisional text, which isn't part of the session."""
        self._lock = RLock()
        self.between_steps: Callable[[], None] | None = None
        """Called regularly while text is read; if it raises, the session stays unchanged."""

    def __repr__(self) -> str:
        return f"<Session: {self.sentences} sentences, {len(self._state.live)} entities>"

    def _repr_html_(self) -> str:
        return PLUGGED["html"](self)

    def say(self, text: str, speaker: str | None = None, id: Given = None, *, time: Given = None) -> list[Update]:
        """Resolve a complete utterance; returns updates for all its sentences.

        Pending text is flushed first. A line break follows the utterance in the text. ``id`` and ``time`` are
        returned with the updates.
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
        """Resolve a complete utterance: one tokenised sentence.

        ``text`` must contain the words in this order; by default, it is the words joined with spaces.
        """
        return self._utter(lambda state: intake.say_words(state, words, text, speaker, id, time))

    def read(self, document: Document) -> list[Update]:
        """Resolve a document with its own sentences, tokens, speakers and times; its entities are ignored."""
        if not isinstance(document, Document):
            raise IncorefError(f"read() takes a Document, not {type(document).__name__}; say() and feed() take text")
        return self._utter(lambda state: intake.read_document(state, document))

    def feed(self, piece: str, speaker: str | None = None, *, provisional: bool = False) -> list[Update]:
        """Add a piece of running text, cut anywhere; returns updates for sentences that have certainly ended.

        A change of speaker flushes pending text. A ``provisional`` piece, such as a speech recogniser's hypothesis,
        is resolved completely and immediately; the next piece or utterance replaces it without a trace.
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
        """Treat pending text as complete; returns updates for it. Provisional text becomes final."""
        with self._lock:
            if self._hypothesis is not None:
                self._take(self._hypothesis)
            if not self._state.pending.text and not self._state.waiting:
                return []
            state, updates = self._flushed(self._state)
            return self._go_on(state, (), updates, close=True)

    def hear(self, item: str | Message) -> list[Update]:
        """Feed a piece of running text, or say a message, which is a complete utterance."""
        if isinstance(item, Message):
            return self.say(item.text, item.speaker, item.id, time=item.time)
        if not isinstance(item, str):
            raise IncorefError(f"a session takes text or a Message, not {type(item).__name__}: {item!r:.40}")
        return self.feed(item)

    def reading(self, text: str | Document | Iterable[str | Message]) -> Wanted[None]:
        """Read a whole text as a coroutine that requests batched computations: see ``reading_together``."""
        if isinstance(text, Document):
            state, lines = intake.read_document(self._state, text)
            state, _ = yield from advancing(self._model, self.options, state, lines, close=True)
            self._take(state)
            return
        parts = (text,) if isinstance(text, str) else text
        if self._model.block_size(self.options.setting) != 1:
            for part in parts:  # blocks end where utterances do
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
        """The text so far, as far as it is kept. Its first character has the offset ``text_start``."""
        return self._shown.text

    @property
    def text_start(self) -> int:
        """Offset at which the kept text starts: 0 unless ``history`` removed its beginning."""
        return self._shown.text_start

    @property
    def sentences(self) -> int:
        """The number of sentences resolved so far."""
        state = self._shown
        return state.sentences - len(state.waiting)

    @property
    def tokens(self) -> int:
        """The number of tokens resolved so far."""
        return self._shown.model.reading.tokens

    @property
    def nbytes(self) -> int:
        """Approximate memory of the session, including transcript and undo steps; forks share it."""
        states = (self._state, *self._undo)
        model = self._state.model.encoder.nbytes + sum(state.memory.nbytes for state in states)
        return model + self._state.lines.nbytes + self._state.evicted.nbytes + self._state.open_text.nbytes

    @property
    def entities(self) -> list[Entity]:
        """All entities with their mentions, including evicted ones as long as a mention of them is kept."""
        return entities_of(self._model, self._shown)

    def document(self, id: str | int = "session", *, singletons: bool = False, since: int = 0) -> Document:
        """The kept transcript as a document; offsets, tokens and sentences count from its start.

        Entities with one mention are left out unless ``singletons`` is set; ``entities`` lists all. With ``since``,
        the document starts with that sentence number; entities keep their ids and names.
        """
        return self.part(since).document(str(id), singletons=singletons)

    def part(self, since: int = 0, before: int | None = None) -> Part:
        """The transcript from this sentence number on; offsets count from the start of the text.

        With ``before``, it ends with the last sentence that starts before that offset.
        """
        return part_of(self._model, self._shown, since, before)

    def resolved_text(self) -> str:
        """The text with pronouns replaced by their entities' names."""
        return resolved_text(self.document(singletons=True))

    def undo(self) -> None:
        """Revert the last call that added text (``say``, ``feed`` …), and all corrections since."""
        with self._lock:
            if self._hypothesis is not None:
                self._hypothesis = None
                return
            if not self._undo:
                raise IncorefError(
                    f"nothing to undo: no step is left of the {self.options.undo} that the session keeps"
                )
            self._state = unpacked(self._model, self._undo.pop(), self._state)

    def fork(self) -> Session:
        """An independent copy of the session."""
        with self._lock:
            twin = Session(self._model, self.options, self._splitter, self._state)
            twin._undo.extend(self._undo)
            twin._hypothesis = self._hypothesis
            return twin

    copy = fork
    """The same as ``fork``, like ``copy.copy`` and ``copy.deepcopy``."""

    def __copy__(self) -> Session:
        return self.fork()

    def __deepcopy__(self, memo: object) -> Session:
        return self.fork()

    def __reduce__(self) -> str:
        raise IncorefError("a session can't be pickled; save() gives bytes, and Resolver.restore() takes them")

    def blank(self) -> Session:
        """An empty session with the same model and options."""
        return Session(self._model, self.options, self._splitter)

    def changes_since(self, before: Session) -> Changes:
        """The changes to the transcript since another state of this session, readable without the model."""
        return changes(self._model, before._state, self._state)

    def save(self) -> bytes:
        """The session as bytes for ``Resolver.restore``, without provisional text and undo steps."""
        return saving.save(self._model, self.options, self._splitter, self._state)

    def introduce(self, name: str, *, type: str | None = None, speaker: str | None = None) -> Entity:
        """Add a participant who hasn't been mentioned yet; the "I" of ``speaker`` refers to them."""
        with self._lock:
            return self._corrected(*corrections.introduce(self._model, self._state, name, type, speaker))

    def rename(self, entity: Entity | str, name: str) -> Entity:
        """Rename an entity; later mentions can match the new name."""
        with self._lock:
            return self._corrected(corrections.rename(self._state, _id(entity), name), _id(entity))

    def merge(self, one: Entity | str, other: Entity | str) -> Entity:
        """Merge two entities: ``one`` gets the mentions of ``other``, which is removed."""
        with self._lock:
            return self._corrected(corrections.merge(self._model, self._state, _id(one), _id(other)), _id(one))

    def detach(self, mention: Span) -> Entity:
        """Make a mention a new entity, which is returned.

        Pass a mention from ``entities`` or an update, or its start and end in the session's text.
        """
        with self._lock:
            return self._corrected(*regrouping.detach(self._model, self._state, mention, self.between_steps))

    def split(self, entity: Entity | str, mentions: Iterable[Span]) -> Entity:
        """Make some mentions of an entity a new entity, which is returned."""
        with self._lock:
            given = (self._model, self._state, _id(entity), mentions)
            return self._corrected(*regrouping.split(*given, self.between_steps))

    def reassign(self, mention: Span, entity: Entity | str) -> Entity:
        """Link a mention to another entity. The old one is removed if nothing is left of it."""
        with self._lock:
            given = (self._model, self._state, mention, _id(entity))
            return self._corrected(regrouping.reassign(*given, self.between_steps), _id(entity))

    def reassign_speaker(self, speaker: str | None, *, sentence: int | None = None, id: Given = None) -> list[Update]:
        """Correct the speaker of a sentence, or of all sentences of the message with this ``id``.

        Rereads these sentences and all later ones, and returns their updates. The session is then as if the speaker
        had been known from the start; entity ids may change. It reaches back as far as ``undo`` and, like it, reverts
        corrections made since.
        """
        if (sentence is None) == (id is None):
            raise IncorefError("give either the number of a sentence or the id of a message")
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
        """Remove an entity: its vector, words, name and mentions, and its speaker label.

        Clears the undo history. The text itself stays; ``history`` bounds it.
        """
        with self._lock:
            self._state, self._hypothesis = corrections.forget(self._state, _id(entity)), None
            self._undo.clear()

    def _corrected(self, state: SessionState, id: str) -> Entity:
        """Adopt the state after a correction, and return the corrected entity."""
        for entity in entities_of(self._model, state):
            if entity.id == id:
                self._state, self._hypothesis = state, None
                return entity
        raise IncorefError(f"entity '{id}' was evicted, and none of its mentions is kept")

    def _utter(self, said: Callable[[SessionState], intake.Heard]) -> list[Update]:
        """Flush pending text, then add a complete utterance."""
        with self._lock:
            state, updates = self._flushed(self._state)
            state, lines = said(state)
            return self._go_on(state, lines, updates, close=True)

    @property
    def _shown(self) -> SessionState:
        """The state including provisional text."""
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
        """Read sentences and adopt the resulting state; until then, nothing changes."""
        state, of_rest = self._advanced(state, lines, close=close)
        self._take(state)
        return updates + of_rest

    def _take(self, state: SessionState) -> None:
        """Adopt a state: drops provisional text and adds an undo step."""
        if self.options.undo:
            self._undo.append(packed(self._model, self._state))
        self._state, self._hypothesis = state, None


def _id(entity: Entity | str) -> str:
    return entity.id if isinstance(entity, Entity) else str(entity)
