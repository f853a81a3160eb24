"""What a session's state says to its caller: a transcript from one sentence on, with its entities, as a document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Protocol

from incoref.model.features.agreement import PRONOUN_BITS
from incoref.model.features.speaker import I_OF
from incoref.model.folder import Model
from incoref.session.names import Kind
from incoref.session.state import SessionState, text_of, text_start_of
from incoref.session.transcript import EvictedEntity, Line, LiveEntity, Log
from incoref.text.english import PLURAL
from incoref.types import Document, Entity, Mention


def view_of(model: Model, state: SessionState, row: int) -> EvictedEntity:
    """A live entity as it is remembered after eviction."""
    entity, types, scores = state.live[row], model.config.names.types, state.memory.type_scores
    states = state.memory.states
    speaker, called_they = states.speaker_name(I_OF, row), bool(states[PRONOUN_BITS][row] >> PLURAL & 1)
    type = entity.given_type or (types[int(scores[row].argmax())] if types else None)
    return EvictedEntity(
        id=entity.id,
        name=entity.given_name or _spoken_name(entity, speaker, type, plural=called_they),
        type=type,
        speaker=speaker,
        sentence=state.sentences,
    )


def _spoken_name(entity: LiveEntity, speaker: str | None, type: str | None, *, plural: bool) -> str | None:
    """The best name mentioned; for someone who is only ever "I", the speaker label."""
    if entity.name is None or (entity.name.kind is Kind.PRONOUN and speaker):
        return speaker
    return entity.name.within_a_sentence(type, plural=plural)


@dataclass(frozen=True, slots=True)
class Part:
    """A transcript from one sentence on."""

    text: str
    text_start: int
    lines: Sequence[Line]
    entities: Sequence[Entity]
    """With their mentions in these sentences."""
    gap: str = ""
    """The text between a sentence and the previous one, if that is kept."""
    given_names: frozenset[str] = frozenset()
    """Names of introduced or renamed entities."""

    def document(self, id: str, *, singletons: bool) -> Document:
        return document_with(self.lines, self.text, self.text_start, self.entities, id, singletons=singletons)


def part_of(model: Model, state: SessionState, since: int = 0, before: int | None = None) -> Part:
    """The transcript from this sentence number on, up to the last sentence that starts before an offset.

    Takes no time for the sentences that are left out.
    """
    first = next(iter(state.lines), None)
    skipped = 0 if first is None else max(0, since - first.number)
    kept = state.lines.without_first(skipped)
    if before is None:
        lines = list(kept)
    else:
        lines = list(takewhile(lambda line: line.start < before, kept))
        state = replace(state, waiting=(), open_text=Log())
    views = live_views(model, state, range(len(state.live)))
    given = frozenset(entity.given_name for entity in state.live if entity.given_name is not None)
    return replace(part_with(lines, state, views, state.evicted, preceded=skipped > 0), given_names=given)


class OpenText(Protocol):
    """The text after the resolved sentences."""

    @property
    def waiting(self) -> tuple[Line, ...]: ...
    @property
    def open_start(self) -> int: ...
    @property
    def open_text(self) -> Iterable[str]: ...


def part_with(
    lines: Sequence[Line],
    rest: OpenText,
    live: Iterable[EvictedEntity],
    evicted: Iterable[EvictedEntity],
    *,
    preceded: bool,
) -> Part:
    """Sentences, the text after them, and their entities."""
    whole = (*lines, *rest.waiting)
    start = text_start_of(whole, rest.open_start)
    gap = whole[0].before if preceded and whole else ""
    return Part(text_of(whole, rest.open_text), start, lines, entities_in(lines, live, evicted), gap)


def entities_of(model: Model, state: SessionState) -> list[Entity]:
    """All live entities, and evicted ones with kept mentions, ordered by id."""
    return entities_in(state.lines, live_views(model, state, range(len(state.live))), state.evicted)


def entities_in(
    lines: Iterable[Line], live: Iterable[EvictedEntity], evicted: Iterable[EvictedEntity]
) -> list[Entity]:
    """Entities with their mentions in these sentences; evicted ones only if they have any."""
    mentions: dict[str, list[Mention]] = defaultdict(list)
    for line in lines:
        for mention in line.mentions:
            mentions[mention.entity].append(mention)
    views = [*live, *(entity for entity in evicted if entity.id in mentions)] if mentions else list(live)
    views.sort(key=lambda view: int(view.id))
    return [Entity(view.id, tuple(mentions[view.id]), view.name, view.type, view.speaker) for view in views]


def document_with(
    lines: Sequence[Line], text: str, text_start: int, entities: Iterable[Entity], id: str, *, singletons: bool
) -> Document:
    """A document made of sentences, their text, which starts at this offset, and their entities.

    Offsets count from its start, and mentions have the types of their entities.
    """
    tokens_before, sentences_before = (lines[0].first, lines[0].number) if lines else (0, 0)

    def placed(mention: Mention, type: str | None) -> Mention:
        start, end = mention.tokens
        return replace(
            mention,
            start=mention.start - text_start,
            end=mention.end - text_start,
            tokens=(start - tokens_before, end - tokens_before),
            sentence=mention.sentence - sentences_before,
            type=type,
        )

    kept = (
        replace(entity, mentions=tuple(placed(mention, entity.type) for mention in entity.mentions))
        for entity in entities
        if len(entity) > (0 if singletons else 1)
    )
    sentences = (line.sentence(text_start) for line in lines)
    return Document(id, text, tuple(sentences), tuple(kept))


def live_views(model: Model, state: SessionState, rows: Iterable[int]) -> list[EvictedEntity]:
    """The live entities in these rows."""
    return [view_of(model, state, row) for row in rows]
