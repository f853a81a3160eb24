"""A transcript put together from changes reads as the session itself, without its model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.errors import IncorefError
from incoref.resolver import Resolver
from incoref.session.archive import ArchivedSession
from incoref.session.session import Session
from tiny_models import WORDS

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
entities = st.integers(1, 8).map(str)
steps = st.one_of(
    st.tuples(st.just("say"), texts, st.sampled_from((None, "Anna", "Carl"))),
    st.tuples(st.just("say"), texts, st.sampled_from((None, "Anna", "Carl"))),
    st.tuples(st.just("feed"), texts),
    st.tuples(st.just("flush")),
    st.tuples(st.just("undo")),
    st.tuples(st.just("rename"), entities, st.sampled_from(("Berta", "Dora Kern"))),
    st.tuples(st.just("merge"), entities, entities),
    st.tuples(st.just("forget"), entities),
    st.tuples(st.just("introduce"), st.sampled_from(("Berta", "Dora"))),
)


def same(archived: ArchivedSession, session: Session) -> bool:
    return (
        archived.text == session.text
        and archived.text_start == session.text_start
        and archived.sentences == session.sentences
        and archived.tokens == session.tokens
        and archived.entities == session.entities
        and archived.document() == session.document()
        and archived.document(singletons=False) == session.document(singletons=False)
        and archived.options == session.options
    )


@settings(max_examples=60)
@given(
    st.lists(steps, max_size=25),
    st.sampled_from(
        (
            {},
            {"history": 3},
            {"max_entities": 4, "undo": 3},
            {"setting": "k=3"},
            {"max_entities": 3, "history": 2, "runners_up": 2},
        )
    ),
)
def test_changes_make_up_the_transcript(
    resolver: Resolver, taken: list[tuple[str, ...]], options: dict[str, object]
) -> None:
    session = resolver.session(**options)
    archived = ArchivedSession(session.options)
    for name, *values in taken:
        before = session.fork()
        try:
            getattr(session, name)(*values)
        except IncorefError:
            continue
        archived.apply(json.loads(json.dumps(session.changes_since(before))))
        assert same(archived, session), name
        assert same(ArchivedSession.from_save(session.save()), session), name


def test_only_what_changed_is_listed(resolver: Resolver) -> None:
    session = resolver.session()
    for number in range(300):
        session.say(f"Anna saw the man {number} .")
    before = session.fork()
    session.say("She left .")
    assert [placed[0] for placed in session.changes_since(before)["lines"]] == [300]
    before = session.fork()
    session.undo()
    assert session.changes_since(before)["lines"] == []


def test_an_evicted_entity_without_mentions_can_not_be_renamed(resolver: Resolver) -> None:
    session = resolver.session(max_entities=1, history=1)
    for number in range(9):
        session.say(f"Anna saw Carl . The man {number} met the dog .")
    with pytest.raises(IncorefError, match=r"none of its mentions is kept|no entity"):
        for number in range(1, 30):
            if str(number) not in {entity.id for entity in session.entities}:
                session.rename(str(number), "Berta")
