"""GraphRAG-SDK: a resolver that remembers the chunks before, and an extraction that tells documents apart."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

from incoref.errors import MissingExtra
from incoref.memory.memory import Memory
from incoref.resolver import Resolver, load

try:
    from graphrag_sdk import CorefResolver, GraphExtraction
except ImportError as error:
    raise MissingExtra("graphrag-sdk", "graphrag", "incoref.integrations.graphrag") from error


class IncorefResolver(CorefResolver):
    """Resolves the chunks of a document one after the other, with the memory of those before.

    The SDK does not say when another document starts: ``new_document`` does, and ``DocumentExtraction`` calls it.
    Documents that are read at the same time, in tasks of their own, do not mix. ``options`` are those of
    ``incoref.Memory``; all pronouns are named unless they say otherwise.
    """

    def __init__(self, resolver: Resolver | None = None, **options: Any) -> None:
        self._resolver, self._options = resolver or load(), {"mentions": "all", **options}
        self._shared = Memory(self._resolver, **self._options)
        self._memory: ContextVar[Memory] = ContextVar("incoref_memory", default=self._shared)

    def new_document(self) -> None:
        """The next chunk is the first of a document."""
        self._memory.set(Memory(self._resolver, **self._options))

    async def resolve(self, text: str) -> str:
        memory = self._memory.get()
        return (await asyncio.to_thread(memory.add, text)).text


class DocumentExtraction(GraphExtraction):
    """The SDK's extraction, which starts a new document with every call if its resolver is an ``IncorefResolver``."""

    async def extract(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self.coref_resolver, IncorefResolver):
            self.coref_resolver.new_document()
        return await super().extract(*args, **kwargs)
