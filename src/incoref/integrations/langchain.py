"""LangChain: a transformer of documents, and a runnable for the messages of a chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from incoref.errors import MissingExtra
from incoref.integrations.chunks import Chunk, contextualise
from incoref.memory.memory import Memory
from incoref.resolver import Resolver, load

try:
    from langchain_core.documents import BaseDocumentTransformer, Document
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import Runnable, RunnableConfig
except ImportError as error:
    raise MissingExtra("langchain-core", "langchain", "incoref.integrations.langchain") from error

ORIGINAL = "original_text"
"""Metadata key of a document's original text."""


class CorefTransformer(BaseDocumentTransformer):
    """Makes the chunks of documents self-contained.

    Chunks with the same ``metadata[document_key]`` belong to one document; ``start_index``, which text splitters set
    with ``add_start_index=True``, is a chunk's offset. ``options`` are those of ``incoref.Memory``.
    """

    def __init__(self, resolver: Resolver | None = None, *, document_key: str = "source", **options: Any) -> None:
        self._resolver, self._document_key, self._options = resolver or load(), document_key, options
        Memory(self._resolver, **options)  # validates the options

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> Sequence[Document]:
        passages = contextualise(map(self._chunk, documents), self._resolver, **self._options)
        return [
            document.model_copy(
                update={
                    "page_content": passage.text,
                    "metadata": {**document.metadata, ORIGINAL: passage.original},
                }
            )
            for document, passage in zip(documents, passages, strict=True)
        ]

    def _chunk(self, document: Document) -> Chunk:
        start = document.metadata.get("start_index", -1)
        return Chunk(document.metadata.get(self._document_key), document.page_content, None if start < 0 else start)


class CorefChatHistory(Runnable[Sequence[BaseMessage], list[BaseMessage]]):
    """Makes the messages of a chat self-contained, so that the last one can be used as a search query on its own.

    A message's speaker is its ``name``, or else its type. Messages whose content isn't plain text are unchanged.
    """

    def __init__(self, resolver: Resolver | None = None, **options: Any) -> None:
        self._resolver, self._options = resolver or load(), options
        Memory(self._resolver, **options)

    def invoke(
        self, input: Sequence[BaseMessage], config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[BaseMessage]:
        answer: list[BaseMessage] = self._call_with_config(self._standing_alone, input, config)
        return answer

    def _standing_alone(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        memory = Memory(self._resolver, **self._options)
        return [
            message.model_copy(
                update={"content": memory.add(message.content, speaker=message.name or message.type).text}
            )
            if isinstance(message.content, str)
            else message
            for message in messages
        ]
