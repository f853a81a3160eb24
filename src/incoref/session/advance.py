"""Reading as a function: a session's state and sentences in, the state after them and updates out.

No function here changes its arguments.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from incoref.model.detector import Step
from incoref.model.folder import Block, Model
from incoref.model.step import FoundMention, Seen
from incoref.model.subwords import Utterance
from incoref.options import SessionOptions
from incoref.session.eviction import Eviction
from incoref.session.names import Name, name_of
from incoref.session.state import SessionState, with_memory
from incoref.session.transcript import Line, LiveEntity
from incoref.session.transcript_parts import view_of
from incoref.session.updates import TraceStep, Update
from incoref.text.language import Evidence
from incoref.types import Mention, RunnerUp

T = TypeVar("T")

AT_ONCE = 256
"""Number of sentences that are tokenised ahead of reading."""

HARDLY_ENGLISH = "this hardly looks like English, which is all that the model knows"
"""Reported once, with the sentence where it is detected."""

_LOOK_BACK = 40
"""Characters before a mention to search for a word, which shows that the mention isn't sentence-initial."""

_OPENERS = tuple('.!?:“"‘(—')
"""Words may be capitalised after these."""

Wanted = Generator[Sequence[Block], Sequence[Seen] | None, T]
"""Requests precomputed results for blocks before reading them; is sent None if there are none. Returns a result."""


def advance(
    model: Model,
    options: SessionOptions,
    state: SessionState,
    lines: Sequence[Line],
    *,
    close: bool,
    between_steps: Callable[[], None] | None = None,
) -> tuple[SessionState, list[Update]]:
    """Read sentences in blocks; with ``close``, the last block doesn't wait for more sentences.

    ``between_steps`` is called before each block and regularly inside it; if it raises, nothing has changed.
    """
    reading = advancing(model, options, state, lines, close=close, between_steps=between_steps)
    classes = model.classes(options.scheme, options.genre)
    try:
        blocks = next(reading)
        while True:
            # With between_steps, blocks are read one by one.
            many = between_steps is None and len(blocks) > 1
            blocks = reading.send(model.foreseen(blocks, classes) if many else None)
    except StopIteration as end:
        done: tuple[SessionState, list[Update]] = end.value
        return done


def advancing(
    model: Model,
    options: SessionOptions,
    state: SessionState,
    lines: Sequence[Line],
    *,
    close: bool,
    between_steps: Callable[[], None] | None = None,
) -> Wanted[tuple[SessionState, list[Update]]]:
    """``advance`` for a caller that precomputes blocks of several texts together."""
    updates: list[Update] = []
    if not lines and not close:
        return state, updates
    for start in range(0, max(1, len(lines)), AT_ONCE):
        end = start + AT_ONCE
        last = end >= len(lines)
        state, of_lines = yield from _reading_some(
            model, options, state, lines[start:end], close=close and last, between_steps=between_steps
        )
        updates += of_lines
    return state, updates


def _reading_some(
    model: Model,
    options: SessionOptions,
    state: SessionState,
    lines: Sequence[Line],
    *,
    close: bool,
    between_steps: Callable[[], None] | None,
) -> Wanted[tuple[SessionState, list[Update]]]:
    state = replace(state, waiting=(*state.waiting, *lines))
    if not state.waiting:
        return state, []
    classes = model.classes(options.scheme, options.genre)
    k = model.block_size(options.setting)
    utterances = [Utterance(line.words(), line.speaker) for line in state.waiting]
    blocks = model.blocks(utterances, k, state.model.reading.speaker)
    if not close and len(blocks[-1]) != k:
        blocks = blocks[:-1]
    if not blocks:
        return state, []
    started = time.perf_counter()
    seen = yield blocks
    share = (time.perf_counter() - started) / len(blocks)
    updates: list[Update] = []
    done = 0
    for group, inside in _groups(blocks, state.waiting):
        of_group = [None] * len(group) if seen is None else seen[done : done + len(group)]
        done += len(group)
        known = list(zip(group, of_group, strict=True))
        state, answered = _read_group(model, options, classes, state, known, inside, between_steps, share)
        updates += answered
    return state, updates


def _groups(blocks: Sequence[Block], lines: Sequence[Line]) -> Iterator[tuple[list[Block], list[Line]]]:
    """Blocks with their sentences: one block each, or all blocks of a sentence that had to be split."""
    rest = iter(lines)
    group: list[Block] = []
    inside: list[Line] = []
    missing = 0  # words of the group's sentences that are in none of its blocks
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
    group: Sequence[tuple[Block, Seen | None]],
    lines: Sequence[Line],
    between_steps: Callable[[], None] | None,
    share: float,
) -> tuple[SessionState, list[Update]]:
    """Read blocks that end with the last of these sentences, the first ones that wait.

    ``share`` is the time that precomputing each of them took.
    """
    started = time.perf_counter() - share * len(group)
    starts = [line.first for line in lines]
    mentions: list[list[Mention]] = [[] for _ in lines]
    steps: list[list[TraceStep]] = [[] for _ in lines]
    parts = [1 for _ in lines]
    evicted: list[str] = []
    next_id = state.next_id
    for block, seen in group:
        if between_steps is not None:
            between_steps()
        first = state.model.reading.tokens
        after, result = model.step(block, state.model, classes, seen, between_steps)
        live = list(state.live)
        for decided in result.mentions:
            place, end = (bisect_right(starts, token) - 1 for token in (decided.first, decided.last))
            inside = lines[place : end + 1]
            mention = _mention(inside, decided, live, next_id, options.runners_up)
            mentions[place].append(mention)
            _link(live, decided.entity, mention, name_in(inside, mention))
            next_id += decided.new
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
            mentions=tuple(sorted(of_line, key=lambda mention: (mention.start, -mention.end))),
            warnings=(*line.warnings, f"a sentence of {len(line)} words was read in {count} parts")
            if count > 1
            else line.warnings,
        )
        for line, of_line, count in zip(lines, mentions, parts, strict=True)
    ]
    answered, language = _with_language(answered, state.language)
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
    lines_after = state.lines.extended(answered)
    state = replace(state, waiting=state.waiting[len(lines) :], lines=lines_after, language=language)
    return _trimmed(state, options.history), updates


def _with_language(lines: Sequence[Line], evidence: Evidence | None) -> tuple[list[Line], Evidence | None]:
    """The sentences, with a warning where they are found to be hardly English, and the evidence after them."""
    told = []
    for line in lines:
        if evidence is not None:
            evidence = evidence.with_text(line.text)
            if evidence.hardly_english_so_far:
                line, evidence = replace(line, warnings=(*line.warnings, HARDLY_ENGLISH)), None
        told.append(line)
    return told, evidence


def _mention(
    lines: Sequence[Line], decided: FoundMention, live: Sequence[LiveEntity], next_id: int, runners_up: int
) -> Mention:
    """A mention in these sentences: in one, or from the first to the last of a block."""
    start = lines[0].start + lines[0].bounds[2 * (decided.first - lines[0].first)]
    end = lines[-1].start + lines[-1].bounds[2 * (decided.last - lines[-1].first) + 1]
    text = lines[0].text + "".join(line.before + line.text for line in lines[1:])
    return Mention(
        start=start,
        end=end,
        text=text[start - lines[0].start : end - lines[0].start],
        tokens=(decided.first, decided.last + 1),
        sentence=lines[0].number,
        entity=str(next_id) if decided.new else live[decided.entity].id,
        confidence=decided.confidence,
        mention_confidence=decided.mention_confidence,
        new=decided.new,
        runners_up=_runners_up(decided, live, runners_up) if runners_up else (),
    )


def _runners_up(decided: FoundMention, live: Sequence[LiveEntity], most: int) -> tuple[RunnerUp, ...]:
    probabilities = decided.decision.probabilities.tolist()
    others = [row for row in range(len(probabilities)) if row != decided.entity]
    others.sort(key=lambda row: -probabilities[row])
    return tuple(RunnerUp(live[row].id if row < len(live) else None, probabilities[row]) for row in others[:most])


def words_in(lines: Sequence[Line], mention: Mention) -> list[str]:
    """The words of a mention that are in these sentences."""
    first, end = mention.tokens
    return [word for line in lines for word in line.words(max(0, first - line.first), max(0, end - line.first))]


def name_in(lines: Sequence[Line], mention: Mention) -> Name:
    """The name that a mention in these sentences gives its entity."""
    words = words_in(lines, mention)
    place = mention.start - lines[0].start
    before = lines[0].text[max(0, place - _LOOK_BACK) : place].rstrip()
    opens = before.endswith(_OPENERS) or not any(character.isalnum() for character in before)
    return name_of(words, mention.text, opens=opens)


def _link(live: list[LiveEntity], row: int, mention: Mention, name: Name) -> None:
    """Add a mention to an entity, or start a new one."""
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
        states = state.memory.states.trimmed(policy.names)
        if states is not state.memory.states:
            state = with_memory(state, state.memory.with_states(states), state.live)
    gone = policy.evicted(state.live, state.model.reading.tokens)
    if not gone:
        return state, ()
    kept = sorted(set(range(len(state.live))) - set(gone))
    remembered = [replace(view_of(model, state, row), sentence=sentence) for row in gone]
    state = with_memory(state, state.memory.kept(kept), tuple(state.live[row] for row in kept))
    return replace(state, evicted=state.evicted.extended(remembered)), tuple(view.id for view in remembered)


def _trimmed(state: SessionState, history: int | None) -> SessionState:
    """The state without sentences that are too old, and without evicted entities that occur only in them."""
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
