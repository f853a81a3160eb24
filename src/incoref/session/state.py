"""A session's state as a frozen value, and reading as a function: state and sentences in, state and updates out.

Keeping a state is all that undo and fork need. Nothing here changes what it is given.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from incoref.model.clusterer import EntityMemory
from incoref.model.detector import Step
from incoref.model.folder import Model, ModelState
from incoref.model.step import FoundMention
from incoref.model.subwords import Subwords, Utterance
from incoref.options import SessionOptions, block_size
from incoref.session.eviction import Eviction
from incoref.session.names import Kind, Name, name_of
from incoref.session.transcript import EvictedEntity, Line, LiveEntity, Log
from incoref.session.updates import TraceStep, Update
from incoref.text import Pending
from incoref.types import Document, Entity, Mention, RunnerUp

Block = Sequence[tuple[Utterance, Subwords]]

_AT_ONCE = 256
"""Sentences that are cut into sub-words before any of them is read."""

_LOOK_BACK = 40
"""Characters before a mention among which a word shows that it does not open its sentence."""
_OPENERS = tuple('.!?:“"‘(—')
"""After these a word may have a capital that is not its own."""


@dataclass(frozen=True, slots=True)
class SessionState:
    """All that a session knows."""

    model: ModelState
    live: tuple[LiveEntity, ...] = ()
    """In the order of the model's memory."""
    next_id: int = 1
    lines: Log[Line] = field(default_factory=Log)
    """The sentences that were answered, as far as they are kept."""
    evicted: Log[EvictedEntity] = field(default_factory=Log)
    waiting: tuple[Line, ...] = ()
    """Sentences whose block is not complete."""
    sentences: int = 0
    """How many there have been, waiting ones included."""
    tokens: int = 0
    open_start: int = 0
    """Where the last sentence ended."""
    open_text: Log[str] = field(default_factory=Log)
    """The text since, in pieces."""
    pending: Pending = field(default_factory=Pending)
    """What the splitter has of it."""
    speaker: str | None = None
    """Who says what is pending."""
    flushed: bool = False
    """Whether what was pending was ended by force."""

    @property
    def memory(self) -> EntityMemory:
        return self.model.reading.memory

    @property
    def text_start(self) -> int:
        """Where the text that is kept starts."""
        first = next(chain(self.lines, self.waiting), None)
        if first is None:
            return self.open_start
        return first.start if first.number else 0

    @property
    def text(self) -> str:
        """The text that is kept."""
        parts = [part for line in chain(self.lines, self.waiting) for part in (line.before, line.text)]
        if parts and self.text_start:
            parts = parts[1:]  # what stood before the first sentence belongs to those that are forgotten
        return "".join((*parts, *self.open_text))


def with_memory(state: SessionState, memory: EntityMemory, live: tuple[LiveEntity, ...]) -> SessionState:
    return replace(
        state,
        model=ModelState(replace(state.model.reading, memory=memory), state.model.encoder),
        live=live,
    )


def packed(model: Model, state: SessionState) -> SessionState:
    """What must be kept to go back to a state: without what can be computed again."""
    reading = replace(state.model.reading, memory=state.memory.without_shares())
    return replace(state, model=ModelState(reading, model.encoder.packed(state.model.encoder)))


def unpacked(model: Model, state: SessionState, later: SessionState) -> SessionState:
    """The state that was packed, to the last bit; ``later`` is one that may share its window."""
    left = state.memory
    memory = model.heads.clusters.restored(left.means, left.counts, left.type_scores, left.facts, left.participants)
    encoder = model.encoder.unpacked(state.model.encoder, later.model.encoder)
    return replace(state, model=ModelState(replace(state.model.reading, memory=memory), encoder))


def advance(
    model: Model, options: SessionOptions, state: SessionState, lines: Sequence[Line], *, close: bool
) -> tuple[SessionState, list[Update]]:
    """Read sentences, in blocks; ``close`` when the last block shall not wait for more."""
    updates: list[Update] = []
    if not lines and not close:
        return state, updates
    for start in range(0, max(1, len(lines)), _AT_ONCE):
        end = start + _AT_ONCE
        state, found = _read_some(model, options, state, lines[start:end], close=close and end >= len(lines))
        updates += found
    return state, updates


def _read_some(
    model: Model, options: SessionOptions, state: SessionState, lines: Sequence[Line], *, close: bool
) -> tuple[SessionState, list[Update]]:
    state = replace(state, waiting=(*state.waiting, *lines))
    if not state.waiting:
        return state, []
    classes = model.classes(options.scheme, options.genre)
    k = block_size(options.setting)
    utterances = [Utterance(line.words(), line.speaker) for line in state.waiting]
    blocks = model.blocks(utterances, k, state.model.reading.speaker)
    if not close and len(blocks[-1]) != k:
        blocks = blocks[:-1]
    updates: list[Update] = []
    for group, inside in _groups(blocks, state.waiting):
        state, found = _read_group(model, options, classes, state, group, inside)
        updates += found
    return state, updates


def _groups(blocks: Sequence[Block], lines: Sequence[Line]) -> Iterator[tuple[list[Block], list[Line]]]:
    """Blocks with the sentences in them: one block each, but all those of a sentence that had to be cut."""
    rest = iter(lines)
    group: list[Block] = []
    inside: list[Line] = []
    missing = 0  # words of sentences in the group that are in none of its blocks
    for block in blocks:
        group.append(block)
        missing -= sum(len(utterance.words) for utterance, _ in block)
        while missing < 0:
            inside.append(next(rest))
            missing += len(inside[-1])
        if not missing:
            yield group, inside
            group, inside = [], []


def _read_group(
    model: Model,
    options: SessionOptions,
    classes: Mapping[str, int],
    state: SessionState,
    group: Sequence[Block],
    lines: Sequence[Line],
) -> tuple[SessionState, list[Update]]:
    """Read blocks that end with the last one of these sentences, which are the first that wait."""
    started = time.perf_counter()
    starts = [line.first for line in lines]
    mentions: list[list[Mention]] = [[] for _ in lines]
    steps: list[list[TraceStep]] = [[] for _ in lines]
    parts = [1 for _ in lines]
    evicted: list[str] = []
    next_id = state.next_id
    for block in group:
        first = state.model.reading.tokens
        after, result = model.step(block, state.model, classes)
        live = list(state.live)
        for found in result.mentions:
            place, end = (bisect_right(starts, token) - 1 for token in (found.first, found.last))
            inside = lines[place : end + 1]
            mention = _mention(inside, found, live, next_id, options.runners_up)
            mentions[place].append(mention)
            _link(live, found.entity, mention, _name(inside, found, mention))
            next_id += found.new
        for step in result.steps if options.trace else ():
            steps[bisect_right(starts, first + step.position) - 1].append(_trace_step(first, step))
        end = bisect_right(starts, after.reading.tokens) - 1
        parts[end] += lines[end].first < after.reading.tokens < lines[end].first + len(lines[end])
        state = replace(state, model=after, live=tuple(live), next_id=next_id)
        state, gone = _evict(model, Eviction.of(options), state, lines[-1].number)
        evicted += gone
    answered = [
        replace(
            line,
            mentions=tuple(sorted(found, key=lambda mention: (mention.start, -mention.end))),
            warnings=(*line.warnings, f"a sentence of {len(line)} words was read in {count} parts")
            if count > 1
            else line.warnings,
        )
        for line, found, count in zip(lines, mentions, parts, strict=True)
    ]
    elapsed = round((time.perf_counter() - started) * 1000, 3)
    updates = [
        Update(
            sentence=line.number,
            text=line.text,
            start=line.start,
            end=line.end,
            speaker=line.speaker,
            id=line.id,
            mentions=line.mentions,
            elapsed_ms=elapsed,
            time=line.time,
            evicted=tuple(evicted) if line is answered[-1] else (),
            warnings=line.warnings,
            trace=tuple(taken),
        )
        for line, taken in zip(answered, steps, strict=True)
    ]
    state = replace(state, waiting=state.waiting[len(lines) :], lines=state.lines.extended(answered))
    return _trimmed(state, options.history), updates


def _mention(
    lines: Sequence[Line], found: FoundMention, live: Sequence[LiveEntity], next_id: int, runners_up: int
) -> Mention:
    """A mention in these sentences: in one, or from the first to the last of a block."""
    start = lines[0].start + lines[0].bounds[2 * (found.first - lines[0].first)]
    end = lines[-1].start + lines[-1].bounds[2 * (found.last - lines[-1].first) + 1]
    text = lines[0].text + "".join(line.before + line.text for line in lines[1:])
    return Mention(
        start=start,
        end=end,
        text=text[start - lines[0].start : end - lines[0].start],
        tokens=(found.first, found.last + 1),
        sentence=lines[0].number,
        entity=str(next_id) if found.new else live[found.entity].id,
        confidence=found.confidence,
        mention_confidence=found.mention_confidence,
        new=found.new,
        runners_up=_runners_up(found, live, runners_up) if runners_up else (),
    )


def _runners_up(found: FoundMention, live: Sequence[LiveEntity], most: int) -> tuple[RunnerUp, ...]:
    probabilities = found.decision.probabilities.tolist()
    others = [row for row in range(len(probabilities)) if row != found.entity]
    others.sort(key=lambda row: -probabilities[row])
    return tuple(RunnerUp(live[row].id if row < len(live) else None, probabilities[row]) for row in others[:most])


def _name(lines: Sequence[Line], found: FoundMention, mention: Mention) -> Name:
    """What a mention in these sentences calls its entity."""
    words = [
        word for line in lines for word in line.words(max(0, found.first - line.first), found.last + 1 - line.first)
    ]
    place = mention.start - lines[0].start
    before = lines[0].text[max(0, place - _LOOK_BACK) : place].rstrip()
    opens = before.endswith(_OPENERS) or not any(character.isalnum() for character in before)
    return name_of(words, mention.text, opens=opens)


def _link(live: list[LiveEntity], row: int, mention: Mention, name: Name) -> None:
    """Put a mention into an entity, or found one."""
    if row == len(live):
        live.append(LiveEntity(mention.entity, name, 1, mention.tokens[1]))
    else:
        entity = live[row]
        best = name if entity.name is None else entity.name.or_better(name)
        live[row] = replace(entity, name=best, count=entity.count + 1, latest=mention.tokens[1])


def _trace_step(first: int, step: Step) -> TraceStep:
    """A step of a block that starts with this token."""
    mention = None if step.mention is None else (first + step.mention[0], first + step.mention[1] + 1)
    probabilities = tuple((action.name, probability) for action, probability in step.probabilities.items())
    return TraceStep(step.action.name, first + step.position, probabilities, mention)


def _evict(
    model: Model, policy: Eviction, state: SessionState, sentence: int
) -> tuple[SessionState, tuple[str, ...]]:
    if policy.names is not None:
        facts = state.memory.facts.trimmed(policy.names)
        if facts is not state.memory.facts:
            state = with_memory(state, state.memory.with_facts(facts), state.live)
    gone = policy.evicted(state.live, state.model.reading.tokens)
    if not gone:
        return state, ()
    kept = sorted(set(range(len(state.live))) - set(gone))
    remembered = [replace(_view(model, state, row), sentence=sentence) for row in gone]
    state = with_memory(state, state.memory.kept(kept), tuple(state.live[row] for row in kept))
    return replace(state, evicted=state.evicted.extended(remembered)), tuple(view.id for view in remembered)


def _trimmed(state: SessionState, history: int | None) -> SessionState:
    """The state without the sentences that are too old to be kept, and without evicted entities of theirs alone."""
    if history is None or len(state.lines) <= history:
        return state
    lines = state.lines.without_first(len(state.lines) - history)
    first = next((line.number for line in lines), state.sentences)
    old = 0
    for entity in state.evicted:
        if entity.sentence >= first:
            break
        old += 1
    return replace(state, lines=lines, evicted=state.evicted.without_first(old))


def _view(model: Model, state: SessionState, row: int) -> EvictedEntity:
    """What is known of a live entity, as it is remembered when it is evicted."""
    entity, types, scores = state.live[row], model.config.names.types, state.memory.type_scores
    speaker = state.memory.facts.speaker_of(row)
    type = entity.given_type or (types[int(scores[row].argmax())] if types else None)
    return EvictedEntity(
        id=entity.id,
        name=entity.given_name or _spoken_name(entity, speaker, type, plural=state.memory.facts.is_called_they(row)),
        type=type,
        speaker=speaker,
        sentence=state.sentences,
    )


def _spoken_name(entity: LiveEntity, speaker: str | None, type: str | None, *, plural: bool) -> str | None:
    """The best name said; of one who is only ever "I", the speaker's."""
    if entity.name is None or (entity.name.kind is Kind.PRONOUN and speaker):
        return speaker
    return entity.name.within_a_sentence(type, plural=plural)


def entities_of(model: Model, state: SessionState) -> list[Entity]:
    """All live entities, and those of the evicted ones whose mentions are kept, in order of their ids."""
    mentions: dict[str, list[Mention]] = defaultdict(list)
    for line in state.lines:
        for mention in line.mentions:
            mentions[mention.entity].append(mention)
    views = [_view(model, state, row) for row in range(len(state.live))]
    views += [entity for entity in state.evicted if entity.id in mentions]
    views.sort(key=lambda view: int(view.id))
    return [Entity(view.id, tuple(mentions[view.id]), view.name, view.type, view.speaker) for view in views]


def document_of(model: Model, state: SessionState, id: str, *, singletons: bool) -> Document:
    """The transcript and its entities as a document, whose places count from its own start."""
    lines = list(state.lines)
    shift, first = state.text_start, (lines[0] if lines else None)

    def moved(mention: Mention) -> Mention:
        assert first is not None
        if not shift and not first.number:
            return mention
        start, end = mention.tokens
        return replace(
            mention,
            start=mention.start - shift,
            end=mention.end - shift,
            tokens=(start - first.first, end - first.first),
            sentence=mention.sentence - first.number,
        )

    found = (
        replace(entity, mentions=tuple(moved(mention) for mention in entity.mentions))
        for entity in entities_of(model, state)
        if len(entity) > (0 if singletons else 1)
    )
    sentences = (line.sentence(shift) for line in lines)
    return Document(id, state.text, tuple(sentences), tuple(found))
