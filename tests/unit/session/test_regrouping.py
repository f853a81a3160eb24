"""Links that are taken back by hand: what is an entity then, what the memory knows of it, and who is meant later."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from incoref.errors import IncorefError
from incoref.model.features.match import CONTENTS
from incoref.model.features.speaker import I_OF
from incoref.resolver import Resolver
from incoref.session.session import Session
from incoref.session.updates import Update
from incoref.types import Mention


def mentions_of(updates: Sequence[Update]) -> list[tuple[str, str]]:
    return [(mention.text, mention.entity) for update in updates for mention in update.mentions]


def chains(session: Session) -> dict[str, list[str]]:
    return {entity.id: [mention.text for mention in entity.mentions] for entity in session.entities}


def mention(session: Session, text: str, number: int = 0) -> Mention:
    return [each for entity in session.entities for each in entity.mentions if each.text == text][number]


@pytest.fixture
def chat(rule_resolver: Resolver) -> Session:
    return rule_resolver.session()


def test_a_detached_mention_is_an_entity_of_its_own_that_can_be_meant_again(chat: Session) -> None:
    chat.say("Anna met Carl. She saw the dog. He saw the dog.")
    assert chains(chat) == {"1": ["Anna"], "2": ["Carl", "She"], "3": ["the dog", "He", "the dog"]}
    new = chat.detach(mention(chat, "She"))
    assert (new.id, new.name, [each.text for each in new.mentions]) == ("4", "She", ["She"])
    assert (new.mentions[0].new, new.mentions[0].confidence) == (True, 1.0), "it is certain"
    assert chains(chat) == {"1": ["Anna"], "2": ["Carl"], "3": ["the dog", "He", "the dog"], "4": ["She"]}
    chat.merge("1", new)
    assert chains(chat)["1"] == ["Anna", "She"]
    chat.detach((mention(chat, "He").start, mention(chat, "He").end))
    assert chains(chat)["3"] == ["the dog", "the dog"]
    assert mentions_of(chat.say("The dog left. Carl left.")) == [("The dog", "3"), ("Carl", "2")]


def test_later_decisions_do_not_know_of_what_was_taken_out(chat: Session) -> None:
    chat.say("Anna met Carl. The man left.")
    chat.merge("1", "3")
    chat.detach(mention(chat, "The man"))
    assert mentions_of(chat.say("The man and Anna left.")) == [("The man", "4"), ("Anna", "1")]


def test_an_entity_is_split(chat: Session) -> None:
    chat.say("Anna met Carl. Berta met Dora.")
    chat.merge("1", "3")
    chat.merge("1", "4")
    both = chat.split("1", [mention(chat, "Berta"), mention(chat, "Dora"), mention(chat, "Dora")])
    assert (both.id, [(each.text, each.new) for each in both.mentions]) == ("5", [("Berta", True), ("Dora", False)])
    assert mentions_of(chat.say("Dora saw Anna and Berta.")) == [("Dora", "5"), ("Anna", "1"), ("Berta", "5")]


def test_a_mention_is_reassigned_and_the_entity_it_leaves_empty_is_gone(chat: Session) -> None:
    chat.say("Anna met Carl. She left.")
    anna = chat.reassign(mention(chat, "She"), "1")
    assert (anna.name, [each.text for each in anna.mentions]) == ("Anna", ["Anna", "She"])
    assert mentions_of(chat.say("Her dog left."))[0] == ("Her", "1"), "the latest one meant"
    chat.reassign(mention(chat, "Carl"), anna)
    assert chains(chat) == {"1": ["Anna", "Carl", "She", "Her"]}
    assert mentions_of(chat.say("Carl left. Berta left.")) == [("Carl", "1"), ("Berta", "3")], "ids are not reused"


def test_a_participant_stays_without_mentions(chat: Session) -> None:
    chat.introduce("Zoe", speaker="zoe")
    chat.say("I left.", "zoe")
    chat.say("Anna left.")
    assert chains(chat) == {"1": ["I"], "2": ["Anna"]}
    chat.reassign(mention(chat, "I"), "2")
    assert chains(chat) == {"1": [], "2": ["I", "Anna"]}
    assert [entity.speaker for entity in chat.entities] == ["zoe", None], "what Zoe says of herself is still hers"
    assert mentions_of(chat.say("I saw Zoe.", "zoe")) == [("I", "1"), ("Zoe", "1")]


def test_one_who_was_first_heard_and_then_introduced_stays_too(chat: Session) -> None:
    chat.say("I left.", "zoe")
    chat.introduce("Zoe", speaker="zoe")
    new = chat.detach(mention(chat, "I"))
    assert chains(chat) == {"1": [], new.id: ["I"]}
    assert mentions_of(chat.say("I saw Zoe.", "zoe")) == [("I", "1"), ("Zoe", "1")]
    restored_rows = chat._state.memory.states.rows()
    assert [row[I_OF] for row in restored_rows] == ["zoe", None]


def test_mentions_of_evicted_entities_are_regrouped(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(eviction="lru", max_entities=1)
    chat.say("Anna met Berta. Carl met Berta. Anna left.")
    assert chains(chat) == {"1": ["Anna"], "2": ["Berta", "Berta"], "3": ["Carl"], "4": ["Anna"]}
    assert [live.id for live in chat._state.live] == ["4"]
    assert [each.text for each in chat.reassign(mention(chat, "Anna", 1), "1").mentions] == ["Anna", "Anna"]
    assert [live.id for live in chat._state.live] == ["1"], "the one that new mentions can be linked to"
    new = chat.detach(mention(chat, "Berta", 1))
    assert chains(chat) == {"1": ["Anna", "Anna"], "2": ["Berta"], "3": ["Carl"], new.id: ["Berta"]}
    chat.reassign(mention(chat, "Carl"), "2")
    assert chains(chat) == {"1": ["Anna", "Anna"], "2": ["Berta", "Carl"], new.id: ["Berta"]}
    with pytest.raises(IncorefError, match="no entity '3'"):
        chat.rename("3", "Zoe")


def test_what_is_no_longer_kept_still_counts(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(history=1)
    chat.say("The dog met Carl. The dog left. The dog and Anna met.")
    assert chains(chat) == {"1": ["The dog"], "2": [], "3": ["Anna"]}
    new = chat.detach(mention(chat, "The dog"))
    assert chains(chat) == {"1": [], "2": [], "3": ["Anna"], new.id: ["The dog"]}
    assert chat._state.memory.counts.tolist() == [2, 1, 1, 1]
    with pytest.raises(IncorefError, match="would have no mentions left"):
        chat.detach(mention(chat, "Anna"))


def test_provisional_text_is_gone_after_a_correction_and_was_no_part_of_it(chat: Session) -> None:
    chat.say("Anna met Carl. She left.")
    (heard,) = chat.feed("Carl, too.", provisional=True)
    with pytest.raises(IncorefError, match="no mention from 25 to 29"):
        chat.detach(heard.mentions[0])
    chat.detach(mention(chat, "She"))
    assert chat.sentences == 2


def test_what_can_not_be_done_is_refused_and_changes_nothing(chat: Session) -> None:
    chat.say("Anna met Carl. She left.")
    she, saved = mention(chat, "She"), chat.save()
    for wrong, call in (
        ("entity '1' would have no mentions left", lambda: chat.detach(mention(chat, "Anna"))),
        ("entity '2' would have no mentions left", lambda: chat.split("2", [mention(chat, "Carl"), she])),
        ("no mention from 3 to 4", lambda: chat.detach((3, 4))),
        ("its start and end in the text, not None", lambda: chat.detach(None)),
        ("its start and end in the text, not 'She'", lambda: chat.detach("She")),
        ("no entity '7'", lambda: chat.reassign(she, 7)),
        ("no entity '7'", lambda: chat.reassign(she, "7")),
        ("no entity '7'", lambda: chat.split("7", [she])),
        ("already a mention of entity '2'", lambda: chat.reassign(she, "2")),
        ("a mention of entity '2', not of '1'", lambda: chat.split("1", [she])),
        ("name the mentions", lambda: chat.split("2", [])),
    ):
        with pytest.raises(IncorefError, match=wrong):
            call()
    assert chat.save() == saved


def test_a_mention_of_another_text_is_not_taken_for_one_of_this(chat: Session, rule_resolver: Resolver) -> None:
    other = rule_resolver.session()
    other.say("Emma met Carl. She left.")
    chat.say("Anna met Carl. She left.")
    with pytest.raises(IncorefError, match="the session has 'Anna', not 'Emma'"):
        chat.detach(mention(other, "Emma"))


def test_undo_takes_corrections_back_with_what_was_said_before_them(chat: Session) -> None:
    chat.say("Anna met Carl.")
    saved = chat.save()
    chat.say("She left.")
    chat.detach(mention(chat, "She"))
    chat.undo()
    assert chat.save() == saved


@pytest.mark.parametrize("speakers", [(None,), ("Anna", "Carl")])
def test_what_is_taken_out_and_put_back_is_as_before(resolver: Resolver, speakers: Sequence[str | None]) -> None:
    session = resolver.session(eviction="none")
    for number, text in enumerate(
        ('Anna saw the old man . " I left , " he said .', "She met him in Hong Kong .", "I said she met you .") * 2
    ):
        session.say(text, speakers[number % len(speakers)])
    several = [entity for entity in session.entities if len(entity) > 1]
    assert several
    for entity in several:
        memory, ids = session._state.memory, [live.id for live in session._state.live]
        before, row = memory.states.rows(), ids.index(entity.id)
        for each in (entity.mentions[-1], entity.mentions[0]):
            back = session.fork()
            back.merge(entity.id, back.detach(each))
            after = back._state.memory
            for field in memory.states.fields:
                known, was = after.states.rows()[row][field], before[row][field]
                if field is CONTENTS:  # in another order
                    known, was = set(known), set(was)
                assert known == was, (each, field)
            assert after.counts.tolist() == memory.counts.tolist()
            np.testing.assert_allclose(after.means, memory.means, atol=1e-5)
            np.testing.assert_allclose(after.type_scores, memory.type_scores, atol=1e-4)
            assert chains(back) == chains(session)
