"""LlamaIndex: a transformation for an ingestion pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from incoref.errors import MissingExtra
from incoref.integrations.chunks import Chunk, contextualise
from incoref.memory.memory import Memory
from incoref.resolver import Resolver, load

try:
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.schema import BaseNode, MetadataMode, TextNode, TransformComponent
except ImportError as error:
    raise MissingExtra("llama-index-core", "llama-index", "incoref.integrations.llama_index") from error

ORIGINAL = "original_text"
"""Metadata key of a node's original text, which is neither embedded nor shown to a language model."""


class CorefTransform(TransformComponent):
    """Makes the nodes of documents self-contained; nodes with the same source belong to one document.

    ``options`` are those of ``incoref.Memory``.
    """

    options: dict[str, Any] = Field(default_factory=dict)
    _resolver: Resolver | None = PrivateAttr(default=None)

    def __init__(self, resolver: Resolver | None = None, **options: Any) -> None:
        super().__init__(options=options.pop("options", options))
        self._resolver = resolver or load()
        Memory(self._resolver, **self.options)

    @classmethod
    def class_name(cls) -> str:
        return "IncorefCorefTransform"

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        passages = contextualise(map(_chunk, nodes), self._resolver, **self.options)
        for node, passage in zip(nodes, passages, strict=True):
            node.set_content(passage.text)
            node.metadata[ORIGINAL] = passage.original
            node.excluded_embed_metadata_keys = list({*node.excluded_embed_metadata_keys, ORIGINAL})
            node.excluded_llm_metadata_keys = list({*node.excluded_llm_metadata_keys, ORIGINAL})
        return nodes


def _chunk(node: BaseNode) -> Chunk:
    start = node.start_char_idx if isinstance(node, TextNode) else None
    return Chunk(node.ref_doc_id, node.get_content(metadata_mode=MetadataMode.NONE), start)
