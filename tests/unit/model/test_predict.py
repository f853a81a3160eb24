"""Whole documents through a model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from incoref.errors import IncorefError
from incoref.model.predict import predict
from incoref.model.subwords import Utterance
from incoref.options import block_size
from incoref.types import Document
from tiny_models import NAMES, WORDS, TinyModels, document, random_utterances


@pytest.mark.parametrize(("setting", "size"), [("sent-inc", 1), ("k=1", 1), ("k=24", 24), ("part-inc", None)])
def test_settings(setting: str, size: int | None) -> None:
    assert block_size(setting) == size


@pytest.mark.parametrize("setting", ["", "k=0", "k=-1", "k=x", "sentence", "k=1 "])
def test_no_such_setting(setting: str) -> None:
    with pytest.raises(IncorefError, match="choose sent-inc, k=N or part-inc"):
        block_size(setting)


@pytest.fixture(scope="module")
def found(tiny: TinyModels) -> Document:
    return predict(tiny.model, document(random_utterances(30, seed=3)))


def test_mentions_are_where_they_say(found: Document) -> None:
    numbers = [number for number, sentence in enumerate(found.sentences) for _ in sentence.tokens]
    for mention in found.mentions:
        first, end = mention.tokens
        assert found.text[mention.start : mention.end] == mention.text
        assert (found.tokens[first].start, found.tokens[end - 1].end) == (mention.start, mention.end)
        assert mention.sentence == numbers[first]
        assert mention.confidence is not None
        assert 0 < mention.confidence <= 1


def test_entities_are_numbered_in_order_of_appearance(found: Document) -> None:
    assert [entity.id for entity in found.entities] == [str(number + 1) for number in range(len(found.entities))]
    for entity in found.entities:
        assert {mention.entity for mention in entity.mentions} == {entity.id}
        assert {mention.type for mention in entity.mentions} == {entity.type}
        assert entity.type in NAMES.types
        ends = [mention.tokens[1] for mention in entity.mentions]
        assert ends == sorted(ends)


def test_all_but_the_entities_stays(tiny: TinyModels, found: Document) -> None:
    assert replace(found, entities=()) == document(random_utterances(30, seed=3))


def test_a_sentence_cut_in_pieces_is_still_one(tiny: TinyModels) -> None:
    """Longer than a window: read in pieces, answered in the document's own sentences."""
    text = document([Utterance(tuple(WORDS) * 4), Utterance(("he", "left"))])
    found = predict(tiny.model, text)
    assert {mention.sentence for mention in found.mentions} <= {0, 1}
    assert max(mention.tokens[1] for mention in found.mentions) > 40


def test_documents_of_nothing(tiny: TinyModels) -> None:
    empty = Document("empty", "", ())
    assert predict(tiny.model, empty) == empty
    assert predict(tiny.model, document([Utterance(())])).entities == ()
