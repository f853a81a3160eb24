"""Chunks in any order, overlapping or repeated, and turns: each stands alone, and the memory knows who is who."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref import IncorefError, Memory
from incoref.memory.memory import VERSION
from incoref.memory.naming import standing_alone
from incoref.memory.passages import Passage
from incoref.resolver import Resolver
from incoref.types import Document

TEXT = "Anna met Carl. She saw the dog in Rome. He fed it. Then Carl left with his dog. They said he was late."


@pytest.fixture
def memory(rule_resolver: Resolver) -> Memory:
    return Memory(rule_resolver)


def names(memory: Memory) -> list[tuple[str | None, list[str]]]:
    return [(entity.name, [mention.text for mention in entity.mentions]) for entity in memory.entities]


def test_a_pronoun_is_named_in_the_next_chunk(memory: Memory) -> None:
    assert memory.add("Anna left.", id=1).text == "Anna left."
    passage = memory.add("She was late. She slept.", id=2)
    assert (passage.id, passage.text) == (2, "Anna was late. She slept.")
    assert passage.original == "She was late. She slept."
    assert str(passage) == passage.text
    assert len(memory) == 2


def test_turns_are_complete_whoever_speaks(rule_resolver: Resolver) -> None:
    memory = Memory(rule_resolver, speakers=True)
    assert memory.add("I called Ben", speaker="Anna").text == "Anna called Ben"
    assert memory.add("He was late", speaker="Carl").text == "Ben was late"
    assert memory.text == "I called Ben\nHe was late\n"


def test_a_sentence_may_go_on_in_the_next_chunk(memory: Memory) -> None:
    memory.add("Anna met Carl and")
    assert memory.add("he left. He slept.").text == "Carl left. He slept."
    assert memory.text == "Anna met Carl and he left. He slept."


@pytest.mark.parametrize(
    "before, start, text",
    [
        ("Helio", 7, "Helio\n\nAnna left."),
        ("Helio", 6, "Helio Anna left."),
        ("Helio", 5, "HelioAnna left."),
        ("Helio.", 7, "Helio.\n\nAnna left."),
        ("Helio", None, "Helio Anna left."),
        ("Hm.\n## Helio", None, "Hm.\n## Helio\n\nAnna left."),
    ],
)
def test_white_space_that_was_cut_off_between_chunks_is_guessed(
    memory: Memory, before: str, start: int | None, text: str
) -> None:
    memory.add(before, start=None if start is None else 0)
    assert memory.add("Anna left.", start=start).original == "Anna left."
    assert memory.text == text


def test_what_overlaps_is_read_once(memory: Memory) -> None:
    memory.add("Anna left early. She was late.")
    passage = memory.add("She was late. She slept.")
    assert passage.text == "Anna was late. She slept."
    assert memory.text == "Anna left early. She was late. She slept."
    assert names(memory) == [("Anna", ["Anna", "She", "She"])]


@given(st.data())
def test_where_the_chunks_are_cut_does_not_matter(rule_resolver: Resolver, data: st.DataObject) -> None:
    """Nor in which order they come, nor how much they overlap, as long as their places are known."""
    cuts = sorted(data.draw(st.sets(st.integers(1, len(TEXT) - 1), max_size=5)) | {0, len(TEXT)})
    chunks = [(max(0, start - data.draw(st.integers(0, 20))), end) for start, end in pairwise(cuts)]
    memory = Memory(rule_resolver)
    for start, end in data.draw(st.permutations(chunks)):
        memory.add(TEXT[start:end], start=start, id=f"{start}-{end}")
    whole = Memory(rule_resolver)
    whole.add(TEXT)
    if all(start == 0 or start <= end for (_, end), (start, _) in pairwise(chunks)):
        assert memory.text == TEXT
        assert memory.entities == whole.entities
    for passage in memory.passages:
        assert passage.original in TEXT
        for choice in passage.decisions:
            assert passage.original[choice.start : choice.end] == choice.text
            start, end = passage.from_original(choice.start, choice.end)
            assert passage.to_original(start, end) == (choice.start, choice.end) or not choice.named


def test_a_chunk_that_comes_late_is_read_in_its_place(memory: Memory) -> None:
    memory.add("Anna left.", id="a", index=1)
    memory.add("She was late.", id="c", index=3)
    assert memory.passage("c").text == "Anna was late."
    assert memory.add("Mira came.", id="b", index=2).text == "Mira came."
    assert memory.passage("c").text == "Mira was late."
    assert [passage.id for passage in memory.passages] == ["a", "b", "c"]


def test_the_same_chunk_again_changes_nothing(memory: Memory) -> None:
    first = memory.add("Anna left.", id="a")
    memory.add("She was late.", id="b")
    saved = memory.save()
    assert memory.add("Anna left.", id="a") == first
    assert memory.save() == saved


def test_a_changed_chunk_leaves_nothing_of_the_old_one(memory: Memory, rule_resolver: Resolver) -> None:
    memory.add("Anna left.", id="a")
    memory.add("Carl came.", id="b")
    memory.add("He was late.", id="c")
    memory.add("Mira came.", id="b")
    assert memory.passage("c").text == "Mira was late."
    assert "Carl" not in [entity.name for entity in memory.entities]
    again = Memory(rule_resolver)
    for id, text in (("a", "Anna left."), ("b", "Mira came."), ("c", "He was late.")):
        again.add(text, id=id)
    assert memory.save() == again.save()
    memory.remove("b")
    assert [entity.name for entity in memory.entities] == ["Anna"]
    with pytest.raises(IncorefError, match="no chunk 'b'"):
        memory.remove("b")


def test_old_chunks_are_read_again_from_the_start(memory: Memory) -> None:
    for number in range(40):
        memory.add(f"He met Name{number}.", index=number, id=number)
    memory.add("Carl spoke.", index=0, id=0)
    assert memory.passage(1).text == "Carl met Name1."
    assert memory.passage(39).text == "Name38 met Name39."
    assert len(memory) == 40


def test_a_start_that_contradicts_the_text_is_refused(memory: Memory) -> None:
    memory.add("Anna left the house.", start=0, id="a")
    with pytest.raises(IncorefError, match="chunk 'b' starts at 10, where 10 of its characters were read before"):
        memory.add("She was late.", start=10, id="b")
    assert len(memory) == 1
    with pytest.raises(IncorefError, match="has a place in its document"):
        memory.add("She was late.", index=1, id="b")
    with pytest.raises(IncorefError, match="both a start and an index"):
        memory.add("She was late.", index=1, start=30, id="b")
    with pytest.raises(IncorefError, match="a chunk is a string, not bytes"):
        memory.add(b"She")  # type: ignore[arg-type]


def test_corrections_count_from_then_on(memory: Memory) -> None:
    memory.introduce("Mira Vogel", speaker="mira")
    memory.add("I met Carl.", speaker="mira", id=1)
    carl = next(entity for entity in memory.entities if entity.name == "Carl")
    memory.rename(carl, "Carl Weber")
    assert memory.add("He left.", id=2, turn=True).text == "Carl Weber left."
    with pytest.raises(IncorefError, match="entities were corrected after the first 1 chunks"):
        memory.add("I met Ben.", speaker="mira", id=1)
    assert memory.passage(1).original == "I met Carl."
    memory.forget(carl)
    assert [entity.name for entity in memory.entities] == ["Mira Vogel"]
    memory.add("Anna met Mira.", id=3)
    ids = {entity.name: entity.id for entity in memory.entities}
    assert memory.merge(ids["Mira Vogel"], ids["Mira"]).id == ids["Mira Vogel"]


@pytest.mark.parametrize("corrected", [False, True])
def test_a_restored_memory_goes_on_like_the_saved_one(
    memory: Memory, rule_resolver: Resolver, corrected: bool
) -> None:
    if corrected:
        memory.introduce("Mira")
    memory.add("Anna left the house. She was", id=1)
    restored = Memory.restore(memory.save(), rule_resolver)
    assert restored.save() == memory.save()
    for one in (memory, restored):
        one.add("was late. Carl came.", id=2)
        one.add("He slept.", id=3)
    assert restored.passages == memory.passages
    assert restored.save() == memory.save()
    if not corrected:
        assert restored.add("Anna sang. She was", id=1) == memory.add("Anna sang. She was", id=1)
    assert Memory.restore(memory.save(), rule_resolver, style="brackets").passage(3).text == "He [Carl] slept."


def test_what_is_no_saved_memory_is_refused(memory: Memory, rule_resolver: Resolver) -> None:
    saved = memory.save()
    with pytest.raises(IncorefError, match="not a saved memory"):
        Memory.restore(b"abc", rule_resolver)
    with pytest.raises(IncorefError, match="damaged or cut off"):
        Memory.restore(saved[:-1], rule_resolver)
    newer = saved[:8] + (VERSION + 1).to_bytes(2, "little") + saved[10:]
    with pytest.raises(IncorefError, match=f"format {VERSION + 1}, this incoref reads up to {VERSION}"):
        Memory.restore(newer, rule_resolver)


def test_a_passage_takes_no_longer_in_a_longer_text(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in sentences that are looked at, as time can't be."""
    looked_at: list[int] = []

    def counting(document: Document, *arguments: Any) -> Passage:
        looked_at.append(len(document.sentences))
        return standing_alone(document, *arguments)

    monkeypatch.setattr("incoref.memory.memory.standing_alone", counting)
    for number in range(100):
        memory.add("Anna left. He met Carl. She slept.", id=number, turn=True)
    assert [passage.id for passage in memory.passages] == [*range(100)]
    assert memory.passage(0).original == memory.passage(99).original
    assert max(looked_at) <= 34


def test_a_bounded_memory_says_what_it_has_forgotten(rule_resolver: Resolver) -> None:
    memory = Memory(rule_resolver, history=2)
    for number in range(4):
        memory.add(f"Anna met Name{number}. He left.", id=number)
    assert memory.passage(3).text == "Anna met Name3. He left."
    with pytest.raises(IncorefError, match="older than what the memory keeps"):
        memory.passage(0)


@pytest.mark.parametrize("text", ["", "  \n", "…", "   She left.  "])
def test_odd_chunks_come_back_whole(memory: Memory, text: str) -> None:
    memory.add("Anna came.")
    assert memory.add(text).text == text.replace("She", "Anna")
    assert memory.add("She slept.").original == "She slept."
