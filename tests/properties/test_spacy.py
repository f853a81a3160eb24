"""What holds for any document of spaCy's: spans, offsets and tokens agree, and survive being stored."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiny_models import WORDS, TinyModels

spacy = pytest.importorskip("spacy", reason="needs the package 'spacy' (extra 'spacy')")
tokens = pytest.importorskip("spacy.tokens")
spacy_component = pytest.importorskip("incoref.integrations.spacy_component")

words = st.sampled_from((*WORDS, "\n", "  ", "\n\n", "don't", "U.S.", "\x00", "日本", "👩‍🚀")) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6
)


@pytest.fixture(scope="module")
def component(tiny: TinyModels) -> Any:
    return spacy_component.IncorefComponent(str(tiny.int8), singletons=True, threads=1, options={"setting": "k=2"})


@pytest.fixture(scope="module")
def nlp() -> Any:
    return spacy.blank("en")


@settings(max_examples=40)
@given(data=st.data(), said=st.lists(words, max_size=30))
def test_spans_tokens_and_offsets_agree(data: st.DataObject, said: list[str], component: Any, nlp: Any) -> None:
    if data.draw(st.booleans()):
        doc = tokens.Doc(nlp.vocab, said, data.draw(st.lists(st.booleans(), min_size=len(said), max_size=len(said))))
    else:
        doc = nlp.make_doc(" ".join(said))
    if data.draw(st.booleans()):
        for token in doc:
            token.is_sent_start = data.draw(st.booleans())
    text = doc.text
    doc = component(doc)
    assert doc.text == text
    entities = doc._.coref_entities
    assert [f"coref_clusters_{entity.id}" for entity in entities] == list(doc.spans)
    assert [int(entity.id) for entity in entities] == list(range(1, len(entities) + 1))
    spans = [(span.start, span.end) for group in doc.spans.values() for span in group]
    assert len(spans) == len(set(spans))
    sentences = list(doc.sents) if doc.has_annotation("SENT_START") else None
    for entity, group in zip(entities, doc.spans.values(), strict=True):
        assert [mention.tokens for mention in entity.mentions] == [(span.start, span.end) for span in group]
        for mention in entity.mentions:
            span = doc[slice(*mention.tokens)]
            assert (span.start_char, span.end_char, span.text) == (mention.start, mention.end, mention.text)
            assert text[mention.start : mention.end] == mention.text
            assert not span[0].is_space and not span[-1].is_space
            assert 0 <= mention.confidence <= 1 and 0 <= mention.mention_confidence <= 1
            assert span._.coref_entity == entity
            if sentences is not None:
                assert sentences[mention.sentence].start <= span.start < sentences[mention.sentence].end
    twin = next(iter(tokens.DocBin().from_bytes(tokens.DocBin(docs=[doc]).to_bytes()).get_docs(nlp.vocab)))
    assert twin._.coref_entities == entities
    assert twin._.coref_resolved == doc._.coref_resolved
