"""What holds for any text, however it is said, fed, cut, saved, forked or taken back: over every field of updates."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.model.folder import Model
from incoref.resolver import Resolver
from incoref.session.session import Session
from incoref.session.updates import Update
from tiny_models import WORDS, TinyModels

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


@pytest.fixture(scope="module")
def resolver(tiny: TinyModels) -> Resolver:
    return Resolver(Model.load(tiny.int8))


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
    document = session.document()
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
    document = session.document()
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
