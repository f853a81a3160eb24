"""Corrections by the caller: introducing, renaming, merging and forgetting entities.

Each function takes a session's state and returns the corrected one; later decisions use it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import starmap

from incoref.errors import IncorefError
from incoref.model.features import facts_of
from incoref.model.features.speaker import I_OF
from incoref.model.folder import Model, ModelState
from incoref.session.names import Kind
from incoref.session.state import SessionState, with_memory
from incoref.session.transcript import Line, LiveEntity, Log
from incoref.text import split
from incoref.types import Mention, RunnerUp


def introduce(
    model: Model, state: SessionState, name: str, type: str | None, speaker: str | None
) -> tuple[SessionState, str]:
    """Add an entity with a name, and optionally the speaker whose "I" refers to it; returns its id.

    If an entity is already known to be the speaker's "I", it is used instead.
    """
    said_by = [state.memory.states.speaker_name(I_OF, row) for row in range(len(state.live))]
    known = [row for row, name in enumerate(said_by) if name is not None and name == speaker]
    if known:
        row = known[-1]
        state = with_live(state, row, replace(state.live[row], given_type=type or state.live[row].given_type))
        state = rename(state, state.live[row].id, name)
    else:
        row, words = len(state.live), words_of(name)
        reading = state.model.reading
        memory = state.memory.copy()
        facts = facts_of(words, -1, reading.sentences - 1, reading.turn, None)  # as if mentioned in the last sentence
        model.heads.clusters.add(memory, model.vector_of(words), facts, row)
        entity = LiveEntity(str(state.next_id), None, 0, reading.tokens, _plain(name), type)
        state = with_memory(replace(state, next_id=state.next_id + 1), memory, (*state.live, entity))
    state = with_live(state, row, replace(state.live[row], introduced=True))
    if speaker:
        memory = state.memory.with_states(state.memory.states.with_value(row, I_OF, speaker))
        memory.participants[speaker] = row
        state = with_memory(state, memory, state.live)
    return state, state.live[row].id


def rename(state: SessionState, entity: str, name: str) -> SessionState:
    """Rename an entity; later mentions can match the new name."""
    words = words_of(name)
    row = row_of(state, entity)
    if row is None:
        views = (replace(view, name=_plain(name)) if view.id == entity else view for view in state.evicted)
        return replace(state, evicted=Log.of(views))
    states = state.memory.states.named(row, facts_of(words, 0, 0, 0, None))
    memory = state.memory.with_states(states)
    return with_live(with_memory(state, memory, state.live), row, replace(state.live[row], given_name=_plain(name)))


def merge(model: Model, state: SessionState, one: str, other: str) -> SessionState:
    """Merge two entities; the result has the id of the first."""
    if one == other:
        raise IncorefError(f"entity '{one}' can't be merged with itself")
    first, second = row_of(state, one), row_of(state, other)
    if first is not None and second is not None:
        a, b = state.live[first], state.live[second]
        names = [name for name in (a.name, b.name) if name is not None]
        both = LiveEntity(
            id=one,
            name=names[0].or_better(names[-1]) if names else None,
            count=a.count + b.count,
            latest=max(a.latest, b.latest),
            given_name=a.given_name or b.given_name,
            given_type=a.given_type or b.given_type,
            introduced=a.introduced or b.introduced,
        )
        live = tuple(both if entity is a else entity for entity in state.live if entity is not b)
        state = with_memory(state, model.heads.clusters.merged(state.memory, first, second), live)
    elif second is not None:
        b, name = state.live[second], next(view.name for view in state.evicted if view.id == one)
        named = b.given_name is not None or (b.name is not None and b.name.kind is not Kind.PRONOUN)
        state = with_live(state, second, replace(b, id=one, given_name=b.given_name if named else name))
        state = without_evicted(state, one)
    else:
        state = without_evicted(state, other)
    return with_mentions(state, lambda mention: _merged_mention(mention, one, other))


def _merged_mention(mention: Mention, one: str, other: str) -> Mention:
    """The mention after ``other`` is merged into ``one``; if both are runners-up, their probabilities are added."""
    entity = one if mention.entity == other else mention.entity
    runners_up = mention.runners_up
    if any(runner_up.entity in (one, other) for runner_up in runners_up):
        confidences: dict[str | None, float] = {}
        for runner_up in runners_up:
            candidate = one if runner_up.entity == other else runner_up.entity
            if candidate != entity:
                confidences[candidate] = confidences.get(candidate, 0.0) + runner_up.confidence
        runners_up = tuple(sorted(starmap(RunnerUp, confidences.items()), key=lambda each: -each.confidence))
    elif entity == mention.entity:
        return mention
    return replace(mention, entity=entity, runners_up=runners_up)


def forget(state: SessionState, entity: str) -> SessionState:
    """Remove an entity: its vector, words, name and mentions, and its speaker label.

    The text itself stays.
    """
    row = row_of(state, entity)
    if row is not None:
        speaker = state.memory.states.speaker_name(I_OF, row)
        kept = [other for other in range(len(state.live)) if other != row]
        state = with_memory(state, state.memory.kept(kept), tuple(state.live[other] for other in kept))
    else:
        speaker = next(view.speaker for view in state.evicted if view.id == entity)
    state = without_evicted(state, entity)

    def without(mention: Mention) -> Mention | None:
        others = tuple(other for other in mention.runners_up if other.entity != entity)
        return None if mention.entity == entity else replace(mention, runners_up=others)

    state = with_mentions(state, without)
    return state if speaker is None or _is_someone(state, speaker) else _without_speaker(state, speaker)


def _is_someone(state: SessionState, speaker: str) -> bool:
    """Whether an entity is known to be this speaker."""
    live = (state.memory.states.speaker_name(I_OF, row) for row in range(len(state.live)))
    return speaker in live or any(view.speaker == speaker for view in state.evicted)


def _without_speaker(state: SessionState, speaker: str) -> SessionState:
    """The state with this speaker's sentences attributed to nobody."""

    def unless(name: str | None) -> str | None:
        return None if name == speaker else name

    def unsigned(line: Line) -> Line:
        return replace(line, speaker=None) if line.speaker == speaker else line

    memory = state.memory.with_states(state.memory.states.without_speaker(speaker))
    memory.participants.pop(speaker, None)
    state = with_memory(state, memory, state.live)
    reading = replace(state.model.reading, speaker=unless(state.model.reading.speaker))
    return replace(
        state,
        model=ModelState(reading, state.model.encoder),
        lines=Log.of(map(unsigned, state.lines)),
        waiting=tuple(map(unsigned, state.waiting)),
        speaker=unless(state.speaker),
    )


def row_of(state: SessionState, entity: str) -> int | None:
    """The index of a live entity; None if it has been evicted."""
    for row, live in enumerate(state.live):
        if live.id == entity:
            return row
    if not any(view.id == entity for view in state.evicted):
        raise IncorefError(f"the session has no entity '{entity}'; session.entities lists them")
    return None


def words_of(name: str) -> tuple[str, ...]:
    words = tuple(token.text for sentence in split(name) for token in sentence.tokens)
    if not words:
        raise IncorefError(f"{name!r} can't be a name: it contains no word")
    return words


def _plain(name: str) -> str:
    return " ".join(name.split())


def with_live(state: SessionState, row: int, entity: LiveEntity) -> SessionState:
    return replace(state, live=(*state.live[:row], entity, *state.live[row + 1 :]))


def without_evicted(state: SessionState, entity: str) -> SessionState:
    return replace(state, evicted=Log.of(view for view in state.evicted if view.id != entity))


def with_mentions(state: SessionState, change: Callable[[Mention], Mention | None]) -> SessionState:
    """The state with ``change`` applied to every mention in the transcript; None removes a mention."""

    def changed(line: Line) -> Line:
        mentions = tuple(kept for mention in line.mentions if (kept := change(mention)) is not None)
        return line if mentions == line.mentions else replace(line, mentions=mentions)

    return replace(state, lines=Log.of(changed(line) for line in state.lines))
