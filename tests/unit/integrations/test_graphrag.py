"""The GraphRAG-SDK adapter with the real package: what its extraction sends to a language model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from incoref.resolver import Resolver

pytest.importorskip("graphrag_sdk", reason="needs the package 'graphrag-sdk' (extra 'graphrag')")

from graphrag_sdk import LLMInterface, TextChunk, TextChunks
from graphrag_sdk.core.context import Context
from graphrag_sdk.core.models import LLMResponse, Ontology
from graphrag_sdk.ingestion.extraction_strategies.entity_extractors import LLMExtractor

from incoref.integrations.graphrag import DocumentExtraction, IncorefResolver


class Listener(LLMInterface):
    """A language model that says nothing and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(model_name="listener")
        self.prompts: list[str] = []

    def invoke(self, prompt: str, **kwargs: Any) -> LLMResponse:
        self.prompts.append(prompt)
        return LLMResponse(content="[]")


def chunks(*texts: str) -> TextChunks:
    return TextChunks(chunks=[TextChunk(text=text, index=number) for number, text in enumerate(texts)])


@pytest.fixture
def chunk_resolver(rule_resolver: Resolver) -> IncorefResolver:
    return IncorefResolver(rule_resolver)


def test_chunks_are_resolved_one_after_the_other(chunk_resolver: IncorefResolver) -> None:
    async def run() -> list[str]:
        return [await chunk_resolver.resolve(text) for text in ("Anna left.", "She slept. She woke.")]

    assert asyncio.run(run()) == ["Anna left.", "Anna slept. Anna woke."]


def test_the_extraction_sees_names_and_tells_documents_apart(chunk_resolver: IncorefResolver) -> None:
    listener = Listener()
    extraction = DocumentExtraction(listener, entity_extractor=LLMExtractor(listener), coref_resolver=chunk_resolver)

    async def run() -> None:
        await extraction.extract(chunks("Anna left.", "then she slept."), Ontology(), Context())
        await extraction.extract(chunks("he slept."), Ontology(), Context())

    asyncio.run(run())
    asked = "\n".join(listener.prompts)
    assert "then Anna slept." in asked
    assert "then she slept." not in asked
    assert "he slept." in asked
    assert "Anna slept." not in asked.replace("then Anna slept.", "")
