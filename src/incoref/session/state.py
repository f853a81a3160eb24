"""A session's state as a frozen value. Undo and fork only need to keep one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import chain

from incoref.model.clusterer import EntityMemory
from incoref.model.folder import Model, ModelState
from incoref.session.transcript import EvictedEntity, Line, LiveEntity, Log
from incoref.text import Pending
from incoref.text.language import NO_EVIDENCE, Evidence


@dataclass(frozen=True, slots=True)
class SessionState:
    """Everything that a session knows."""

    model: ModelState
    live: tuple[LiveEntity, ...] = ()
    """In the order of the model's memory."""
    next_id: int = 1
    lines: Log[Line] = field(default_factory=Log)
    """The resolved sentences, as far as they are kept."""
    evicted: Log[EvictedEntity] = field(default_factory=Log)
    waiting: tuple[Line, ...] = ()
    """Sentences whose block isn't complete."""
    sentences: int = 0
    """Number of sentences so far, including waiting ones."""
    tokens: int = 0
    open_start: int = 0
    """End of the last sentence."""
    open_text: Log[str] = field(default_factory=Log)
    """The text after it, in pieces."""
    pending: Pending = field(default_factory=Pending)
    """The splitter's pending text."""
    speaker: str | None = None
    """Speaker of the pending text."""
    flushed: bool = False
    """Whether the pending text was flushed."""
    language: Evidence | None = NO_EVIDENCE
    """Evidence of the text's language; None after the warning that it hardly looks like English."""

    @property
    def memory(self) -> EntityMemory:
        return self.model.reading.memory

    @property
    def text_start(self) -> int:
        """Offset at which the kept text starts."""
        return text_start_of(chain(self.lines, self.waiting), self.open_start)

    @property
    def text(self) -> str:
        """The kept text."""
        return text_of(chain(self.lines, self.waiting), self.open_text)


def text_start_of(lines: Iterable[Line], open_start: int) -> int:
    """Offset at which these sentences' text starts; without sentences, the text after them."""
    first = next(iter(lines), None)
    if first is None:
        return open_start
    return first.start if first.number else 0


def text_of(lines: Iterable[Line], open_text: Iterable[str]) -> str:
    """These sentences' text, and the text after them."""
    parts: list[str] = []
    for line in lines:
        if parts or not line.number or not line.start:  # the text before the first sentence belongs to a trimmed one
            parts.append(line.before)
        parts.append(line.text)
    return "".join((*parts, *open_text))


def with_memory(state: SessionState, memory: EntityMemory, live: tuple[LiveEntity, ...]) -> SessionState:
    return replace(
        state,
        model=ModelState(replace(state.model.reading, memory=memory), state.model.encoder),
        live=live,
    )


def packed(model: Model, state: SessionState) -> SessionState:
    """A state reduced to what can't be recomputed."""
    reading = replace(state.model.reading, memory=state.memory.without_hidden())
    return replace(state, model=ModelState(reading, model.encoder.packed(state.model.encoder)))


def unpacked(model: Model, state: SessionState, later: SessionState) -> SessionState:
    """The packed state, bit for bit; ``later`` is a state that may share its window."""
    left = state.memory
    memory = model.heads.clusters.restored(left.means, left.counts, left.type_scores, left.states, left.participants)
    encoder = model.encoder.unpacked(state.model.encoder, later.model.encoder)
    return replace(state, model=ModelState(replace(state.model.reading, memory=memory), encoder))
