"""The Haystack adapter with the real package."""

from __future__ import annotations

import pytest

from incoref.resolver import Resolver

pytest.importorskip("haystack", reason="needs the package 'haystack-ai' (extra 'haystack')")

from haystack import Document, Pipeline

from incoref.integrations.haystack import CorefResolver


def test_split_documents_stand_alone(rule_resolver: Resolver) -> None:
    component = CorefResolver(options={"mentions": "all"})
    component._resolver = rule_resolver
    pipeline = Pipeline()
    pipeline.add_component("coref", component)
    documents = [
        Document(content="Anna left.", meta={"source_id": "a", "split_idx_start": 0}),
        Document(content=None, meta={"source_id": "a"}),
        Document(content="Carl came.", meta={"source_id": "b", "split_idx_start": 0}),
        Document(content="She slept.", meta={"source_id": "a", "split_idx_start": 11}),
    ]
    answered = pipeline.run({"coref": {"documents": documents}})["coref"]["documents"]
    assert [document.content for document in answered] == ["Anna left.", None, "Carl came.", "Anna slept."]
    assert answered[3].meta["original_text"] == "She slept."


def test_a_pipeline_with_it_can_be_written_and_read() -> None:
    pipeline = Pipeline()
    pipeline.add_component("coref", CorefResolver(options={"style": "facts"}))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["incoref.integrations.haystack"])
    assert again.get_component("coref").options == {"style": "facts"}


def test_it_loads_the_packaged_model_by_itself() -> None:
    documents = [
        Document(content="Anna Kern founded Helio in Berlin in 2014."),
        Document(content="Her office is there."),
    ]
    answered = CorefResolver().run(documents)["documents"]
    assert answered[1].content == "Anna Kern's office is there."
