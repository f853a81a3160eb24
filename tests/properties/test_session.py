"""What holds for any text, however it is said, fed, cut, saved, forked or taken back: over every field of updates."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.errors import IncorefError
from incoref.model.features.count import COUNT
from incoref.resolver import Resolver
from incoref.session.archive import ArchivedSession
from incoref.session.session import Session
from incoref.session.updates import Update
from tiny_models import WORDS

few = settings(max_examples=15)

OPTIONS: list[dict[str, object]] = [
    {"trace": True, "runners_up": 2},
    {"eviction": "lru", "max_entities": 4, "history": 3},
    {"eviction": "dual", "max_entities": 6, "runners_up": 1},
    {"eviction": "icoref", "idle": 12},
    {"eviction": "none", "setting": "k=3"},
    {"setting": "part-inc", "history": 5},
]
options = st.sampled_from(OPTIONS)

GAPS = (" ", " ", " ", " ", ". ", ".\n", "! ", "\n\n", ", ", "  ", "\t", "\x00 ", " \ud800 ", "。", "? \u200b")


def _running(seed: int, words: int) -> str:
    draw = random.Random(seed)
    return "".join(draw.choice(WORDS) + draw.choice(GAPS) for _ in range(words))


texts = st.builds(_running, st.integers(0, 10_000), st.integers(0, 60)) | st.text(max_size=40)


@dataclass(frozen=True)
class Call:
    """Something that is done to a session."""

    what: str
    text: str
    speaker: str | None

    def to(self, session: Session) -> list[Update]:
        match self.what:
            case "say":
                return session.say(self.text, self.speaker, id=len(self.text), time=0.5)
            case "feed":
                return session.feed(self.text, self.speaker)
            case "words":
                return session.say_words([word for word in self.text.split() if word], self.speaker)
            case _:
                return session.flush()


calls = st.lists(
    st.builds(
        Call,
        st.sampled_from(("say", "feed", "feed", "feed", "words", "flush")),
        st.builds(_running, st.integers(0, 10_000), st.integers(0, 15)),
        st.sampled_from((None, None, "Anna", "Carl")),
    ),
    max_size=5,
)


def answers(session: Session, done: Sequence[Call]) -> list[Update]:
    return [update for call in done for update in call.to(session)]


def assert_same(one: Session, other: Session) -> None:
    assert one.entities == other.entities
    assert one.text == other.text
    assert one.save() == other.save()


@few
@given(text=texts, cuts=st.lists(st.integers(0, 200), max_size=12), options=options)
def test_pieces_give_what_the_whole_gives(
    resolver: Resolver, text: str, cuts: list[int], options: dict[str, object]
) -> None:
    whole, pieces = resolver.session(**options), resolver.session(**options)
    expected = whole.feed(text)
    found = [
        update
        for start, end in pairwise([0, *sorted(min(cut, len(text)) for cut in cuts), len(text)])
        for update in pieces.feed(text[start:end])
    ]
    assert found == expected
    assert pieces.flush() == whole.flush()
    assert_same(whole, pieces)


@few
@given(text=texts, end=st.integers(0, 200), options=options)
def test_what_comes_later_changes_nothing(
    resolver: Resolver, text: str, end: int, options: dict[str, object]
) -> None:
    beginning = resolver.session(**options).feed(text[:end])
    session = resolver.session(**options)
    assert (session.feed(text) + session.flush())[: len(beginning)] == beginning


@few
@given(before=calls, after=calls, options=options)
def test_a_restored_session_goes_on_as_if_it_had_never_stopped(
    resolver: Resolver, before: list[Call], after: list[Call], options: dict[str, object]
) -> None:
    session = resolver.session(**options)
    answers(session, before)
    restored = resolver.restore(session.save())
    assert_same(session, restored)
    assert answers(restored, after) == answers(session, after)
    assert_same(session, restored)


@few
@given(before=calls, left=calls, right=calls, options=options)
def test_forks_do_not_affect_each_other(
    resolver: Resolver, before: list[Call], left: list[Call], right: list[Call], options: dict[str, object]
) -> None:
    session, alone = resolver.session(**options), resolver.session(**options)
    answers(session, before)
    answers(alone, before)
    fork = session.fork()
    found: list[Update] = []
    for number in range(max(len(left), len(right))):  # in turns
        answers(fork, right[number : number + 1])
        found += answers(session, left[number : number + 1])
    assert found == answers(alone, left)
    assert_same(session, alone)


@few
@given(before=calls, taken_back=calls, after=calls, options=options)
def test_undo_leaves_no_trace(
    resolver: Resolver, before: list[Call], taken_back: list[Call], after: list[Call], options: dict[str, object]
) -> None:
    session, alone = resolver.session(**options), resolver.session(**options)
    answers(session, before)
    answers(alone, before)
    for call in reversed(taken_back):
        saved = session.save()
        call.to(session)
        if session.save() != saved:
            session.undo()
        assert session.save() == saved
    assert answers(session, after) == answers(alone, after)
    assert_same(session, alone)


@few
@given(done=calls, options=options, seed=st.integers(0, 1000))
def test_corrections_hold_across_save_and_undo(
    resolver: Resolver, done: list[Call], options: dict[str, object], seed: int
) -> None:
    draw = random.Random(seed)
    session = resolver.session(**options)
    session.introduce("Anna Kern", type="person", speaker="Anna")
    for call in done:
        call.to(session)
        ids = [entity.id for entity in session.entities]
        draw.shuffle(ids)
        if len(ids) > 3:
            session.merge(ids[0], ids[1])
            session.rename(ids[0], "the Duke of Hong Kong")
            session.forget(ids[2])
        left = {entity.id for entity in session.entities}
        assert not left & set(ids[1:3] if len(ids) > 3 else ())
        restored = resolver.restore(session.save())
        assert_same(session, restored)
        assert restored.say("Anna met the Duke .") == session.say("Anna met the Duke .")
        session.undo()


@few
@given(text=st.lists(st.text(max_size=30) | texts, max_size=6), options=options, saying=st.booleans())
def test_any_text_is_read_and_every_offset_is_exact(
    resolver: Resolver, text: list[str], options: dict[str, object], saying: bool
) -> None:
    session = resolver.session(**{**options, "history": None})
    updates = [update for part in text for update in (session.say(part) if saying else session.feed(part))]
    updates += session.flush()
    assert session.text == "".join(f"{part}\n" if saying else part for part in text)
    assert [update.sentence for update in updates] == list(range(len(updates)))
    end = 0
    for update in updates:
        assert end <= update.start < update.end
        end = update.end
        assert session.text[update.start : update.end] == update.text
        spans = [(mention.start, mention.end) for mention in update.mentions]
        assert spans == sorted(set(spans), key=lambda span: (span[0], -span[1]))
        for mention in update.mentions:
            assert update.start <= mention.start < update.end
            assert mention.end <= update.end or options.get("setting")
            assert session.text[mention.start : mention.end] == mention.text
            assert 0 <= mention.confidence <= 1 and 0 <= mention.mention_confidence <= 1
    document = session.document(singletons=True)
    assert document.text == session.text
    known = {entity.id: set(entity.mentions) for entity in session.entities}
    for update in updates:
        for mention in update.mentions:
            assert mention in known[mention.entity]
            first, past = mention.tokens
            assert document.tokens[first].start == mention.start
            assert document.tokens[past - 1].end == mention.end


anything = st.text(st.characters(), max_size=12)
"""Half surrogates, control characters and all."""
odd = st.tuples(
    st.sampled_from(("say", "feed", "feed", "flush")),
    anything | st.builds(_running, st.integers(0, 10_000), st.integers(0, 8)),
    st.none() | anything,
    st.none() | anything | st.integers() | st.floats(allow_nan=False),
)


@settings(max_examples=40)
@given(done=st.lists(odd, max_size=5), options=options)
def test_whatever_is_said_and_fed_by_whomever_is_read(
    resolver: Resolver,
    done: list[tuple[str, str, str | None, str | int | float | None]],
    options: dict[str, object],
) -> None:
    session = resolver.session(**{**options, "history": None})
    updates: list[Update] = []
    for how, text, speaker, id in done:
        before = len(session.text)
        found = session.say(text, speaker, id) if how == "say" else []
        found += session.feed(text, speaker) if how == "feed" else session.flush() if how == "flush" else []
        assert session.text[before:].removeprefix("\n") in (text, f"{text}\n", "") or not text.strip()
        assert all(
            update.start < before or (update.speaker, update.id) == (speaker, id) for update in found if how == "say"
        )
        updates += found
    updates += session.flush()
    assert [update.sentence for update in updates] == list(range(len(updates)))
    assert [update.text for update in updates] == [session.text[update.start : update.end] for update in updates]
    for mention in (mention for update in updates for mention in update.mentions):
        assert session.text[mention.start : mention.end] == mention.text
    assert sum(len(sentence) for sentence in session.document().sentences) == session.tokens
    assert_same(session, resolver.restore(session.save()))


@few
@given(done=calls, history=st.integers(0, 4), options=options)
def test_a_bounded_transcript_is_a_document_of_its_own(
    resolver: Resolver, done: list[Call], history: int, options: dict[str, object]
) -> None:
    session, whole = (resolver.session(**{**options, "history": kept}) for kept in (history, None))
    assert answers(session, done) == answers(whole, done)
    document = session.document(singletons=True)
    assert len(document.sentences) <= history
    assert whole.text.endswith(session.text)
    assert session.text_start == len(whole.text) - len(session.text)
    for entity in document.entities:
        for mention in entity.mentions:
            assert document.text[mention.start : mention.end] == mention.text
            assert document.tokens[mention.tokens[0]].start == mention.start
            sentence = document.sentences[mention.sentence]
            assert sentence.start <= mention.start < sentence.end
    assert len(session.resolved_text()) >= 0


def _correct(session: Session, what: str, first: int, second: int) -> None:
    """A correction of what the session holds; one that can't be done leaves it as it was."""
    entities = session.entities
    mentions = [mention for entity in entities for mention in entity.mentions]
    if not mentions:
        return
    mention, entity = mentions[first % len(mentions)], entities[second % len(entities)]
    before = session.save()
    try:
        match what:
            case "detach":
                new = session.detach(mention)
                assert [each.start for each in new.mentions] == [mention.start]
            case "reassign":
                given = session.reassign(mention, entity)
                assert (mention.start, mention.end) in {(each.start, each.end) for each in given.mentions}
            case "split":
                some = entity.mentions[first % 2 :: 2]
                assert len(session.split(entity, some).mentions) == len(some)
            case "merge":
                session.merge(mention.entity, entity)
            case "rename":
                session.rename(entity, "the Duke of Hong Kong")
            case "introduce":
                session.introduce("Anna Kern", speaker="Anna")
            case _:
                session.undo()
    except IncorefError:
        assert session.save() == before


corrected = st.tuples(
    st.sampled_from(("detach", "detach", "reassign", "reassign", "split", "merge", "rename", "introduce", "undo")),
    st.integers(0, 40),
    st.integers(0, 40),
)


def assert_sound(session: Session) -> None:
    """Whatever was corrected: every mention is in one entity and in its place, and the memory fits the entities."""
    state = session._state
    spans = [(each.start, each.end) for entity in session.entities for each in entity.mentions]
    assert len(spans) == len(set(spans))
    for entity in session.entities:
        for mention in entity.mentions:
            assert mention.entity == entity.id
            start = mention.start - session.text_start
            assert session.text[start : start + len(mention.text)] == mention.text
    memory, rows = state.memory, state.memory.states.rows()
    assert len(memory) == len(state.live) == len(rows)
    assert memory.counts.tolist() == [row[COUNT] for row in rows]
    assert all(count > 0 for count in memory.counts)
    assert np.isfinite(memory.means).all() and np.isfinite(memory.type_scores).all()
    np.testing.assert_allclose(memory.entity_hidden, memory.means @ session._model.heads.clusters.entity, atol=1e-4)
    kept = {entity.id: len(entity) for entity in session.entities}
    assert all(live.introduced or kept[live.id] or session.text_start for live in state.live), "nobody is left over"


@few
@given(done=st.lists(st.tuples(calls, st.lists(corrected, max_size=4)), max_size=3), after=calls, options=options)
def test_links_taken_back_leave_a_session_that_goes_on(
    resolver: Resolver,
    done: list[tuple[list[Call], list[tuple[str, int, int]]]],
    after: list[Call],
    options: dict[str, object],
) -> None:
    session = resolver.session(**options)
    for said, changes in done:
        answers(session, said)
        for what, first, second in changes:
            text = session.text
            _correct(session, what, first, second)
            assert what == "undo" or session.text == text
            assert_sound(session)
    restored, fork = resolver.restore(session.save()), session.fork()
    assert_same(session, restored)
    found = answers(session, after)
    assert answers(restored, after) == answers(fork, after) == found
    assert_same(session, restored)
    assert_same(session, fork)


@few
@given(said=calls, changes=st.lists(corrected, min_size=1, max_size=4), options=options)
def test_undo_takes_corrections_back(
    resolver: Resolver, said: list[Call], changes: list[tuple[str, int, int]], options: dict[str, object]
) -> None:
    session = resolver.session(**options)
    answers(session, said)
    before = session.save()
    session.say("Anna met the man .")
    for what, first, second in changes:
        _correct(session, what.replace("undo", "detach"), first, second)
    session.undo()
    flushed = resolver.restore(before)
    assert session.save() == flushed.save()


@few
@given(said=calls, changes=st.lists(corrected, max_size=5), options=options)
def test_an_archive_follows_corrections(
    resolver: Resolver, said: list[Call], changes: list[tuple[str, int, int]], options: dict[str, object]
) -> None:
    session = resolver.session(**options)
    archive = ArchivedSession.from_save(session.save())
    for step in (*said, *changes):
        before = session.fork()
        step.to(session) if isinstance(step, Call) else _correct(session, *step)
        archive.apply(json.loads(json.dumps(session.changes_since(before))))
        assert (list(archive.entities), archive.text) == (session.entities, session.text)
