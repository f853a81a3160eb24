"""What the adapters share: chunks of several documents, each document with a memory of its own."""

from __future__ import annotations

from collections.abc import Iterable
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
    """Chunks, in the order in which they come, as passages that stand alone.

    All chunks of a document are read before the first is answered, so every one of them has the best name known.
    """
    resolver = resolver or load()
    memories: dict[object, Memory] = {}
    ids: list[tuple[object, int]] = []
    chunks = list(chunks)
    placed = {document: True for document, _, _ in chunks} | {
        chunk.document: False for chunk in chunks if chunk.start is None
    }
    for number, (document, text, start) in enumerate(chunks):
        if document not in memories:
            memories[document] = Memory(resolver, **options)
        memories[document].add(text, id=number, start=start if placed[document] else None)
        ids.append((document, number))
    return [memories[document].passage(number) for document, number in ids]
