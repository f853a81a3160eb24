"""Chunks of several documents do not mix, and come back in the order in which they came."""

from __future__ import annotations

import pytest

from incoref.integrations.chunks import Chunk, contextualise
from incoref.resolver import Resolver


def test_every_document_has_a_memory_of_its_own(rule_resolver: Resolver) -> None:
    chunks = [Chunk("a", "Anna left."), Chunk("b", "Carl left."), Chunk("a", "She slept."), Chunk("b", "He slept.")]
    passages = contextualise(chunks, rule_resolver)
    assert [passage.text for passage in passages] == ["Anna left.", "Carl left.", "Anna slept.", "Carl slept."]


def test_places_put_chunks_in_order(rule_resolver: Resolver) -> None:
    chunks = [Chunk(None, "She slept.", 11), Chunk(None, "Anna left.", 0)]
    passages = contextualise(chunks, rule_resolver, style="brackets")
    assert [passage.text for passage in passages] == ["She [Anna] slept.", "Anna left."]


def test_places_count_only_if_all_chunks_of_a_document_have_one(rule_resolver: Resolver) -> None:
    chunks = [Chunk("a", "Anna left.", 0), Chunk("a", "She slept.")]
    passages = contextualise(chunks, rule_resolver)
    assert [passage.text for passage in passages] == ["Anna left.", "Anna slept."]


@pytest.mark.parametrize("header", ["", "Report on Helio. "])
def test_places_that_count_from_the_start_of_a_page_are_left_alone(rule_resolver: Resolver, header: str) -> None:
    """As text splitters write them for the pages of a file, all of which have the same source."""
    chunks = [
        Chunk("a", f"{header}Anna left.", 0),
        Chunk("a", "She slept.", len(header) + 11),
        Chunk("a", f"{header}Carl woke.", 0),
        Chunk("a", "He slept.", len(header) + 11),
    ]
    passages = contextualise(chunks, rule_resolver)
    assert [passage.text for passage in passages] == [
        f"{header}Anna left.",
        "Anna slept.",
        f"{header}Carl woke.",
        "Carl slept.",
    ]


def test_a_chunk_within_another_fits_where_it_is(rule_resolver: Resolver) -> None:
    chunks = [
        Chunk("a", "Anna left. She slept. She woke.", 0),
        Chunk("a", "She slept.", 11),
        Chunk("a", "Carl ate.", 32),
    ]
    passages = contextualise(chunks, rule_resolver)
    assert [passage.text for passage in passages] == ["Anna left. She slept. She woke.", "Anna slept.", "Carl ate."]
