"""The LlamaIndex adapter with the real package."""

from __future__ import annotations

import pytest

from incoref.resolver import Resolver

pytest.importorskip("llama_index.core", reason="needs the package 'llama-index-core' (extra 'llama-index')")

from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import MetadataMode, NodeRelationship, RelatedNodeInfo, TextNode

from incoref.integrations.llama_index import CorefTransform


def node(text: str, source: str, start: int | None = None) -> TextNode:
    made = TextNode(text=text, start_char_idx=start)
    made.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=source)
    return made


def test_nodes_of_a_pipeline_stand_alone(rule_resolver: Resolver) -> None:
    transform = CorefTransform(rule_resolver, style="brackets")
    nodes = [node("Anna left.", "a", 0), node("Carl came.", "b", 0), node("She slept.", "a", 11)]
    answered = IngestionPipeline(transformations=[transform]).run(nodes=nodes)
    assert [one.get_content(MetadataMode.NONE) for one in answered] == [
        "Anna left.",
        "Carl came.",
        "She [Anna] slept.",
    ]
    assert answered[2].metadata["original_text"] == "She slept."
    assert answered[2].get_content(MetadataMode.EMBED) == "She [Anna] slept."
    assert transform.to_dict()["options"] == {"style": "brackets"}
