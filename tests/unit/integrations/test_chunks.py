"""Chunks of several documents do not mix, and come back in the order in which they came."""

from __future__ import annotations

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
