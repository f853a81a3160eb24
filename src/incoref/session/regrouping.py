"""Corrections of wrong links: mentions are detached, split off together, or reassigned to another entity.

Each function takes a session's state and returns the corrected one; later decisions use it. An entity's feature state
and vector are rebuilt from its mentions in the transcript, whose sentences are reread.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from incoref.errors import IncorefError
from incoref.model.clusterer import Floats
from incoref.model.features import (
    NO_QUOTATIONS,
    EntityState,
    EntityStates,
    MentionFacts,
    Quoted,
    facts_of,
    quotations,
)
from incoref.model.features.count import COUNT
from incoref.model.features.speaker import I_OF
from incoref.model.folder import Model
from incoref.model.subwords import Utterance
from incoref.session.advance import name_in, words_in
from incoref.session.corrections import merge, row_of, with_live, with_mentions, words_of
from incoref.session.names import Name
from incoref.session.state import SessionState, with_memory
from incoref.session.transcript import LiveEntity
from incoref.types import Mention, Span, place_of

BetweenSteps = Callable[[], None] | None


def detach(model: Model, state: SessionState, span: Span, between_steps: BetweenSteps) -> tuple[SessionState, str]:
    """Make a mention a new entity; returns its id."""
    mention = _at(_mentions(state), span)
    return _taken_out(model, state, mention.entity, [mention], between_steps)


def split(
    model: Model, state: SessionState, entity: str, spans: Iterable[Span], between_steps: BetweenSteps
) -> tuple[SessionState, str]:
    """Make some mentions of an entity a new entity; returns its id."""
    row_of(state, entity)
    known = _mentions(state)
    chosen = {(mention.start, mention.end): mention for mention in (_at(known, span) for span in spans)}
    if not chosen:
        raise IncorefError(f"name the mentions of entity '{entity}' to split off")
    for mention in chosen.values():
        if mention.entity != entity:
            raise IncorefError(f"{_called(mention)} is a mention of entity '{mention.entity}', not of '{entity}'")
    return _taken_out(model, state, entity, list(chosen.values()), between_steps)


def reassign(model: Model, state: SessionState, span: Span, entity: str, between_steps: BetweenSteps) -> SessionState:
    """Link a mention to another entity; its old one is removed if it has no other mention and wasn't introduced."""
    mention = _at(_mentions(state), span)
    row_of(state, entity)
    if mention.entity == entity:
        raise IncorefError(f"{_called(mention)} is already a mention of entity '{entity}'")
    if _is_all(state, mention.entity, [mention]):
        alone, id = state, mention.entity
    else:
        alone, id = _taken_out(model, state, mention.entity, [mention], between_steps)
    known = {(mention.start, mention.end)}
    return _decided(replace(merge(model, alone, entity, id), next_id=state.next_id), known, entity, new=False)


def _mentions(state: SessionState) -> dict[tuple[int, int], Mention]:
    """All mentions in the transcript, by token range."""
    return {(mention.start, mention.end): mention for line in state.lines for mention in line.mentions}


def _at(known: Mapping[tuple[int, int], Mention], span: Span) -> Mention:
    """The mention as it currently is in the transcript."""
    start, end = place_of(span)
    mention = known.get((start, end))
    if mention is None:
        raise IncorefError(
            f"the session has no mention from {start} to {end}; "
            "session.entities lists them, with offsets that count from the start of the text"
        )
    if isinstance(span, Mention) and span.text != mention.text:
        raise IncorefError(f"from {start} to {end} the session has {mention.text!r}, not {span.text!r}")
    return mention


def _called(mention: Mention) -> str:
    return f"'{mention.text}' ({mention.start} to {mention.end})"


def _mentions_of(state: SessionState, entity: str) -> list[Mention]:
    return [mention for line in state.lines for mention in line.mentions if mention.entity == entity]


def _is_all(state: SessionState, entity: str, mentions: Sequence[Mention]) -> bool:
    """Whether the entity has no information beyond these mentions."""
    row = row_of(state, entity)
    if len(mentions) < len(_mentions_of(state, entity)):
        return False
    return row is None or (not state.live[row].introduced and state.memory.counts[row] <= len(mentions))


def _taken_out(
    model: Model, state: SessionState, entity: str, moved: Sequence[Mention], between_steps: BetweenSteps
) -> tuple[SessionState, str]:
    """The state in which these mentions of an entity form a new one, and its id."""
    if _is_all(state, entity, moved):
        raise IncorefError(f"entity '{entity}' would have no mentions left")
    transcript, row, id = _Transcript(model, state, between_steps), row_of(state, entity), str(state.next_id)
    spans = {(mention.start, mention.end) for mention in moved}
    left = [mention for mention in _mentions_of(state, entity) if (mention.start, mention.end) not in spans]
    known = transcript.features(moved)
    names = [transcript.name(mention) for mention in moved]
    if row is None:
        part = transcript.content(moved)
    else:
        rest, part = _divided(transcript, row, left, moved)
        remaining = _remaining(transcript, row, left, rest.count)
        if remaining[I_OF] is not None and remaining[I_OF] == known[I_OF]:  # two entities can't be the same speaker
            known = known.with_values({I_OF: None})
        state = _with_content(model, state, row, rest, remaining)
        given = state.live[row].given_name
        if given is not None:
            states = state.memory.states.named(row, facts_of(words_of(given), 0, 0, 0, None))
            state = with_memory(state, state.memory.with_states(states), state.live)
        state = with_live(state, row, _live(transcript, state.live[row], left, names))
    new = LiveEntity(id, reduce(Name.or_better, names), len(moved), max(mention.tokens[1] for mention in moved))
    state = replace(state, live=(*state.live, new), next_id=state.next_id + 1)
    state = _with_content(model, state, len(state.live) - 1, part, known)
    return _decided(state, spans, id, new=True), id


def _decided(state: SessionState, spans: Collection[tuple[int, int]], entity: str, *, new: bool) -> SessionState:
    """The state in which these mentions certainly belong to the entity, the first of them being its first."""
    first = min(spans) if new else None

    def changed(mention: Mention) -> Mention:
        place = (mention.start, mention.end)
        if place not in spans:
            return mention
        return replace(mention, entity=entity, new=place == first, confidence=1.0, runners_up=())

    return with_mentions(state, changed)


@dataclass(frozen=True, slots=True)
class _Content:
    """An entity's part of the memory, without its feature state."""

    mean: Floats
    types: Floats
    count: int

    def without(self, other: _Content) -> _Content:
        count = self.count - other.count
        mean = (self.count * self.mean.astype(np.float64) - other.count * other.mean.astype(np.float64)) / count
        return _Content(mean.astype(np.float32), self.types - other.types, count)


class _Transcript:
    """The kept sentences, and what can be derived about their mentions."""

    def __init__(self, model: Model, state: SessionState, between_steps: BetweenSteps) -> None:
        self.model, self.state, self._between_steps = model, state, between_steps
        self.lines = tuple(state.lines)
        self._firsts = [line.first for line in self.lines]
        reading = state.model.reading
        speakers = [line.speaker for line in self.lines]
        self._turns = [reading.turn] * len(self.lines)
        for place in reversed(range(len(self.lines) - 1)):
            self._turns[place] = self._turns[place + 1] - (speakers[place] != speakers[place + 1])
        self._quoted, quotation = quotations(
            ((line.words(), line.speaker) for line in self.lines), NO_QUOTATIONS, None
        )
        self._more_quotations = reading.quotations.latest.number - quotation.latest.number
        """Number of mentions in the part that is no longer kept."""
        every = (mention for line in self.lines for mention in line.mentions)
        order = sorted(every, key=lambda mention: (mention.tokens[1], -mention.tokens[0]))
        self._order = [*enumerate(order, state.memory.states.mentions - len(order))]
        """All mentions in the order of decisions, numbered through the text."""

    @property
    def whole(self) -> bool:
        """Whether it starts at the beginning of the text."""
        return not self.lines or self.lines[0].number == 0

    def features(self, mentions: Sequence[Mention]) -> EntityState:
        """The feature state of an entity with these mentions."""
        wanted = {(mention.start, mention.end) for mention in mentions}
        sentences = {mention.sentence for mention in mentions}
        return EntityStates.of_one(
            (number, self._facts(mention), (mention.start, mention.end) in wanted)
            for number, mention in self._order
            if mention.sentence in sentences
        )

    def name(self, mention: Mention) -> Name:
        return name_in(self.lines[slice(*self._lines_of(mention))], mention)

    def content(self, mentions: Sequence[Mention]) -> _Content:
        """The memory of an entity with these mentions; their sentences are reread."""
        vectors, types = [], []
        by_lines: dict[tuple[int, int], list[Mention]] = defaultdict(list)
        for mention in mentions:
            by_lines[self._lines_of(mention)].append(mention)
        for (first, end), inside in sorted(by_lines.items(), key=lambda item: item[0]):
            if self._between_steps is not None:
                self._between_steps()
            lines = self.lines[first:end]
            start = lines[0].first
            spans = [(mention.tokens[0] - start, mention.tokens[1] - 1 - start) for mention in inside]
            utterances = [Utterance(line.words(), line.speaker) for line in lines]
            before = self.lines[first - 1].speaker if first else None
            for span in self.model.vectors_of(utterances, spans, before):
                vectors.append(span.vector)
                types.append(span.types)
        return _Content(np.mean(vectors, axis=0, dtype=np.float32), np.sum(types, axis=0), len(vectors))

    def _lines_of(self, mention: Mention) -> tuple[int, int]:
        """The half-open range of sentences that a mention is in."""
        first, end = mention.tokens
        return bisect_right(self._firsts, first) - 1, bisect_right(self._firsts, end - 1)

    def _facts(self, mention: Mention) -> MentionFacts:
        place, end = self._lines_of(mention)
        line, reading = self.lines[place], self.state.model.reading
        number, inside, answers = self._quoted[place][mention.tokens[0] - line.first]
        return facts_of(
            words_in(self.lines[place:end], mention),
            mention.tokens[0],
            reading.sentences - len(self.lines) + place,
            self._turns[place],
            line.speaker,
            Quoted(number + self._more_quotations, inside, answers),
        )


def _divided(
    transcript: _Transcript, row: int, left: Sequence[Mention], moved: Sequence[Mention]
) -> tuple[_Content, _Content]:
    """The memory of an entity's two parts.

    The part with fewer mentions is reread and subtracted to get the other. This accounts for what the transcript
    doesn't contain: the name of an introduced entity, and mentions in sentences that aren't kept.
    """
    memory, live = transcript.state.memory, transcript.state.live[row]
    whole = _Content(memory.means[row], memory.type_scores[row], int(memory.counts[row]))
    others = whole.count - len(left) - len(moved)
    if not left and others <= 0:  # a participant without mentions is as if just introduced
        vector, _, types = transcript.model.vector_of(words_of(live.given_name or live.id))
        return _Content(vector, types, 1), transcript.content(moved)
    if others < 0:  # some belonged to an evicted entity, which isn't in the memory
        return transcript.content(left), transcript.content(moved)
    if others == 0 and len(left) < len(moved):
        rest = transcript.content(left)
        return rest, whole.without(rest)
    part = transcript.content(moved)
    return whole.without(part), part


def _remaining(transcript: _Transcript, row: int, left: Sequence[Mention], count: int) -> EntityState:
    """The feature state of an entity with these mentions left, and possibly more that aren't kept."""
    states = transcript.state.memory.states
    speaker = next((name for name, known in transcript.state.memory.participants.items() if known == row), None)
    if not transcript.whole and count > len(left):
        return states.rows()[row].with_values({COUNT: count})
    known = transcript.features(left) if left else EntityState({field: field.default for field in states.fields})
    return known.with_values({COUNT: count, **({} if speaker is None else {I_OF: speaker})})


def _live(transcript: _Transcript, entity: LiveEntity, left: Sequence[Mention], moved: Sequence[Name]) -> LiveEntity:
    """An entity with these mentions left; ``moved`` are the names that the others gave it."""
    names = [transcript.name(mention) for mention in left]
    count = max(len(left), entity.count - len(moved))
    if count > len(left) and entity.name is not None and entity.name not in moved:
        names.insert(0, entity.name)
    latest = max((mention.tokens[1] for mention in left), default=entity.latest)
    return replace(entity, name=reduce(Name.or_better, names) if names else None, count=count, latest=latest)


def _with_content(
    model: Model, state: SessionState, row: int, content: _Content, features: EntityState
) -> SessionState:
    """The state with an entity's data replaced; the row after the last one adds an entity."""
    memory = state.memory
    rows = memory.states.rows()
    rows[row : row + 1] = [features]
    states = EntityStates.of(rows, memory.states.mentions)
    scorer = model.heads.clusters
    memory = scorer.with_row(memory, row, content.mean, content.types, content.count, states)
    return with_memory(state, memory, state.live)
