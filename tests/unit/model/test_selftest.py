"""The self-test: texts and the clusters they must give."""

from __future__ import annotations

import json

from incoref.model.selftest import Golden, check, clusters_of, document_of
from tiny_models import TinyModels


def test_tokenised_sentences_make_a_text() -> None:
    text = document_of([["Anna", "left", "."], [], ["She", "ran"]], ["Ben", None, None])
    assert text.text == "Anna left .\n\nShe ran"
    assert [text.text[token.start : token.end] for token in text.tokens] == ["Anna", "left", ".", "She", "ran"]
    assert [text.text[s.start : s.end] for s in text.sentences] == ["Anna left .", "", "She ran"]
    assert [s.speaker for s in text.sentences] == ["Ben", None, None]


def test_a_fresh_folder_passes(tiny: TinyModels) -> None:
    texts = json.loads((tiny.fp32 / "golden.json").read_text(encoding="utf-8"))["texts"]
    assert check(tiny.model) == len(texts) == 3
    golden = [Golden.from_json(text) for text in texts]
    assert any(speaker for text in golden for speaker in text.speakers)
    assert clusters_of(tiny.model, golden[0].sentences, golden[0].speakers) == golden[0].clusters
