"""Shared by the adapters: makes chunks of several documents self-contained, with a separate memory per document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from incoref.memory.memory import Memory
from incoref.memory.passages import Passage
from incoref.resolver import Resolver, load


class Chunk(NamedTuple):
    document: object
    """Identifies the chunk's document; chunks with None belong to one document."""
    text: str
    start: int | None = None
    """Its character offset in the document, if known."""


def contextualise(chunks: Iterable[Chunk], resolver: Resolver | None = None, **options: Any) -> list[Passage]:
    """Turn chunks into self-contained passages, in the order of the chunks.

    The chunks of a document are read in order of their starts if all have one and they are consistent; otherwise in
    the given order, as starts may be relative to a page. All chunks of a document are read before any is rewritten,
    so each gets the best name known.
    """
    resolver = resolver or load()
    documents: dict[object, dict[int, Chunk]] = {}
    for number, chunk in enumerate(chunks):
        documents.setdefault(chunk.document, {})[number] = chunk
    passages: dict[int, Passage] = {}
    for parts in documents.values():
        memory, ordered = Memory(resolver, **options), _in_order(parts)
        for number, (_, text, start) in (parts if ordered is None else ordered).items():
            memory.add(text, id=number, start=None if ordered is None else start)
        passages |= {number: memory.passage(number) for number in parts}
    return [passages[number] for number in sorted(passages)]


def _in_order(chunks: Mapping[int, Chunk]) -> dict[int, Chunk] | None:
    """Sort chunks by start; None if one has no start, or if the text of overlapping chunks differs."""
    placed = [(chunk.start, number) for number, chunk in chunks.items() if chunk.start is not None]
    if len(placed) < len(chunks):
        return None
    reached, latest = 0, ""
    for start, number in sorted(placed):
        text = chunks[number].text
        shared = min(reached - start, len(text))
        if shared > 0 and latest[len(latest) - (reached - start) :][:shared] != text[:shared]:
            return None
        if start + len(text) >= reached:
            reached, latest = start + len(text), text
    return {number: chunks[number] for _, number in sorted(placed)}
