"""GraphRAG-SDK: a resolver that remembers earlier chunks, and an extraction that separates documents."""

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
    """Resolves the chunks of a document one after another, remembering the earlier ones.

    The SDK doesn't signal the start of a document; call ``new_document``, as ``DocumentExtraction`` does. Documents
    processed concurrently in separate tasks don't mix. ``options`` are those of ``incoref.Memory``, but ``mentions``
    defaults to ``"all"``.
    """

    def __init__(self, resolver: Resolver | None = None, **options: Any) -> None:
        self._resolver, self._options = resolver or load(), {"mentions": "all", **options}
        self._shared = Memory(self._resolver, **self._options)
        self._memory: ContextVar[Memory] = ContextVar("incoref_memory", default=self._shared)

    def new_document(self) -> None:
        """Start a new document with the next chunk."""
        self._memory.set(Memory(self._resolver, **self._options))

    async def resolve(self, text: str) -> str:
        memory = self._memory.get()
        return (await asyncio.to_thread(memory.add, text)).text


class DocumentExtraction(GraphExtraction):
    """The SDK's extraction; if its resolver is an ``IncorefResolver``, each call starts a new document."""

    async def extract(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self.coref_resolver, IncorefResolver):
            self.coref_resolver.new_document()
        return await super().extract(*args, **kwargs)
