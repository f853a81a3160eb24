"""Hypotheses that are replaced, and speakers that are corrected: nothing wrong survives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.errors import IncorefError
from incoref.resolver import Resolver
from incoref.session.session import Session


@pytest.fixture
def session(rule_resolver: Resolver) -> Session:
    return rule_resolver.session()


def names(session: Session) -> list[str | None]:
    return [entity.name for entity in session.entities]


def test_a_hypothesis_is_answered_at_once_and_replaced(session: Session) -> None:
    session.say("Mira came.")
    (update,) = session.feed("Anna met Clara and", provisional=True)
    assert [mention.text for mention in update.mentions] == ["Anna", "Clara"]
    assert names(session) == ["Mira", "Anna", "Clara"]
    assert session.text == "Mira came.\nAnna met Clara and"
    session.feed("Hannah met Carl", provisional=True)
    assert names(session) == ["Mira", "Hannah", "Carl"]
    assert session.feed("Hannah met Carl. ") == []
    assert names(session) == ["Mira"]  # the sentence may go on
    session.flush()
    assert names(session) == ["Mira", "Hannah", "Carl"]
    assert session.text == "Mira came.\nHannah met Carl. "


def test_nothing_of_a_hypothesis_is_saved_or_forked_into_what_follows(
    session: Session, rule_resolver: Resolver
) -> None:
    session.say("Mira came.")
    saved = session.save()
    session.feed("Anna left.", provisional=True)
    assert session.save() == saved
    fork = session.fork()
    assert names(fork) == ["Mira", "Anna"]
    fork.say("Ben left.")
    assert names(fork) == ["Mira", "Ben"]
    assert names(session) == ["Mira", "Anna"]
    session.feed("", provisional=True)
    assert names(session) == ["Mira"]


def test_flush_makes_a_hypothesis_final_and_undo_drops_it(session: Session, rule_resolver: Resolver) -> None:
    session.feed("Anna left.", provisional=True)
    session.undo()
    assert (names(session), session.text) == ([], "")
    session.feed("Anna left.", provisional=True)
    assert session.flush() == []
    plain = rule_resolver.session()
    plain.feed("Anna left.")
    plain.flush()
    assert session.save() == plain.save()
    session.undo()
    assert names(session) == []


def test_a_correction_drops_the_hypothesis(session: Session) -> None:
    session.say("Mira came.")
    session.feed("Anna left.", provisional=True)
    with pytest.raises(IncorefError, match="no entity '2'"):
        session.rename("2", "Hannah")
    session.rename("1", "Mira Vogel")
    assert names(session) == ["Mira Vogel"]


@given(st.lists(st.lists(st.sampled_from(["Anna left. ", "He met ", "Carl", " slept", "the dog. "]), max_size=4)))
def test_hypotheses_leave_no_trace(rule_resolver: Resolver, segments: list[list[str]]) -> None:
    """Segments with partial hypotheses before them end up as the segments alone do."""
    live, plain = rule_resolver.session(), rule_resolver.session()
    for segment in segments:
        for guess in segment[:-1]:
            live.feed(guess, provisional=True)
        live.feed("".join(segment))
        plain.feed("".join(segment))
    if segments and "".join(segments[-1]) == "":
        live.feed("", provisional=True)
    assert live.save() == plain.save()


def test_a_corrected_speaker_changes_who_i_is(session: Session) -> None:
    session.say("I met Carl.", speaker="A", id="s1")
    session.say("I left.", speaker="A", id="s2")
    session.say("I slept.", speaker="B", id="s3")
    assert [len(entity) for entity in session.entities if entity.speaker] == [2, 1]
    updates = session.reassign_speaker("B", id="s2")
    assert [(update.id, update.speaker) for update in updates] == [("s2", "B"), ("s3", "B")]
    assert [(entity.speaker, len(entity)) for entity in session.entities if entity.speaker] == [("A", 1), ("B", 2)]
    session.undo()
    assert [(entity.speaker, len(entity)) for entity in session.entities if entity.speaker] == [("A", 1), ("B", 1)]


turns = st.lists(
    st.tuples(
        st.sampled_from(["I met Carl. He left.", "I saw the dog", "they met Anna.", "it was me. I knew"]),
        st.sampled_from(["A", "B", None]),
        st.sampled_from(["A", "B", None]),
    ),
    min_size=1,
    max_size=6,
)


@given(turns, st.sampled_from(["sent-inc", "k=2"]))
def test_a_corrected_session_is_as_if_it_had_known(
    rule_resolver: Resolver, said: list[tuple[str, str | None, str | None]], setting: str
) -> None:
    wrong, right = rule_resolver.session(setting=setting), rule_resolver.session(setting=setting)
    for number, (text, first, later) in enumerate(said):
        wrong.say(text, first, number)
        right.say(text, later, number)
    for number, (_, _, later) in enumerate(said):
        wrong.reassign_speaker(later, id=number)
    assert [line.speaker for line in wrong.document().sentences] == [
        line.speaker for line in right.document().sentences
    ]
    assert wrong.entities == right.entities
    for one in (wrong, right):
        one.say("I left.", "A")
    assert wrong.entities == right.entities
    for _ in said:
        wrong.undo()
        right.undo()
        assert wrong.entities == right.entities


def test_what_cannot_be_corrected_is_refused(rule_resolver: Resolver) -> None:
    session = rule_resolver.session(undo=2)
    for number in range(4):
        session.say("I left.", "A", number)
    before = session.save()
    with pytest.raises(
        IncorefError, match="sentence 1 was read more than 2 calls ago; open the session with a larger"
    ):
        session.reassign_speaker("B", sentence=1)
    with pytest.raises(IncorefError, match="no such sentence"):
        session.reassign_speaker("B", id="x")
    with pytest.raises(IncorefError, match="either the number of a sentence or the id"):
        session.reassign_speaker("B")
    assert session.save() == before
    session.reassign_speaker("B", sentence=2)
    assert [line.speaker for line in session.document().sentences] == ["A", "A", "B", "A"]
