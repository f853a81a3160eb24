"""Values and their JSON."""

from __future__ import annotations

import json

import pytest

from incoref.types import Attributes, Sentence, Token


@pytest.mark.parametrize(
    "attributes",
    [
        [(), ()],
        [(("lemma", "a"),), ()],
        [(("lemma", "a"), ("head", "2")), (("lemma", "b"), ("feats", "c"), ("head", "0"))],
        [(("lemma", "a"), ("upos", "b")), (("upos", "c"), ("lemma", "d"))],
        [(("a", "1"), ("b", "2"), ("c", "3")), (("c", "4"), ("a", ""))],
    ],
)
def test_attributes_of_tokens_survive_json_in_their_order(attributes: list[Attributes]) -> None:
    first, second = attributes
    sentence = Sentence(0, 5, (Token("He", 0, 2, first), Token("is", 3, 5, second)), "Eve", (("s_type", "decl"),))
    assert Sentence.from_json(json.loads(json.dumps(sentence.to_json()))) == sentence


def test_names_of_attributes_are_written_once_a_sentence() -> None:
    tokens = tuple(Token("a", 2 * n, 2 * n + 1, (("lemma", "a"), ("upos", "X"))) for n in range(3))
    data = Sentence(0, 5, tokens).to_json()
    assert data["token_attributes"] == [("lemma", ["a", "a", "a"]), ("upos", ["X", "X", "X"])]
    assert data["tokens"] == [["a", 0, 1], ["a", 2, 3], ["a", 4, 5]]
