"""Haystack: a component that makes the documents of a pipeline self-contained."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from incoref.errors import MissingExtra
from incoref.integrations.chunks import Chunk, contextualise
from incoref.memory.memory import Memory
from incoref.resolver import Resolver, load

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError as error:
    raise MissingExtra("haystack-ai", "haystack", "incoref.integrations.haystack") from error

ORIGINAL = "original_text"
"""Metadata key of a document's original text."""


@component
class CorefResolver:
    """Makes split documents self-contained; put it after the splitter.

    Parts of a document are recognised by the same ``meta["source_id"]``, which Haystack's splitters set together with
    ``split_idx_start``. ``model`` is a folder; ``options`` are those of ``incoref.Memory``.
    """

    def __init__(self, model: str | None = None, options: dict[str, Any] | None = None) -> None:
        self.model, self.options = model, options or {}
        self._resolver: Resolver | None = None

    def warm_up(self) -> None:
        """Load the model."""
        if self._resolver is None:
            self._resolver = load(self.model)
            Memory(self._resolver, **self.options)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Return the documents in the same order with self-contained text; documents without text are unchanged."""
        self.warm_up()
        texts = [document for document in documents if document.content]
        passages = iter(contextualise(map(_chunk, texts), self._resolver, **self.options))
        answered = []
        for document in documents:
            if document.content:
                passage = next(passages)
                meta = {**document.meta, ORIGINAL: passage.original}
                document = replace(document, content=passage.text, meta=meta)
            answered.append(document)
        return {"documents": answered}

    def to_dict(self) -> dict[str, Any]:
        """Serialise the component with its pipeline."""
        written: dict[str, Any] = default_to_dict(self, model=self.model, options=self.options)
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CorefResolver:
        made: CorefResolver = default_from_dict(cls, data)
        return made


def _chunk(document: Document) -> Chunk:
    start = document.meta.get("split_idx_start")
    return Chunk(document.meta.get("source_id"), document.content or "", start if isinstance(start, int) else None)
