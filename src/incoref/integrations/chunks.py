"""What the adapters share: chunks of several documents, each document with a memory of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from incoref.memory.memory import Memory
from incoref.memory.passages import Passage
from incoref.resolver import Resolver, load


class Chunk(NamedTuple):
    document: object
    """What tells its document from others; chunks with None belong to one document."""
    text: str
    start: int | None = None
    """Its offset in the document, in characters, if it is known."""


def contextualise(chunks: Iterable[Chunk], resolver: Resolver | None = None, **options: Any) -> list[Passage]:
    """Chunks as passages that stand alone, in the order in which they came.

    A document is read in the order of its chunks' starts, if all have one and they fit together; else in the order
    in which the chunks come: starts may count from the start of a page. All chunks of a document are read before the
    first is answered, so every one of them has the best name known.
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
    """Chunks by their starts; None if one has no start, or if two overlap and say different things there."""
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
