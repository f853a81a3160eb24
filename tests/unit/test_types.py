"""Values and their JSON."""

from __future__ import annotations

import json

import pytest

from incoref.resolver import Resolver
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


def test_values_show_themselves_in_a_line(rule_resolver: Resolver) -> None:
    document = rule_resolver.resolve("Anna met Carl. She saw him." + " Carl left." * 6)
    assert repr(document) == "<Document 'text': 8 sentences, 26 tokens, 1 entity>"
    assert repr(document.entities[0]) == "<Entity 2 'Carl': 'Carl', 'She', 'him', 'Carl', 'Carl' and 4 more>"
    assert repr(document.entities[0].mentions[1]) == "<Mention 'She' 15–18 of entity 2>"
    chat = rule_resolver.session()
    assert repr(chat.introduce("Zoe")) == "<Entity 1 'Zoe': not mentioned>"
    (update,) = chat.say("Anna met Carl.", "Ben")
    assert repr(update) == "<Update of sentence 0 by Ben 'Anna met Carl.': Anna (2), Carl (3)>"
    assert repr(chat.document().sentences[0]) == "<Sentence 0–14 by Ben: 4 tokens>"


def test_documents_tell_who_is_who(rule_resolver: Resolver) -> None:
    document = rule_resolver.resolve("Anna met the dog. It left.")
    assert document.clusters == [["the dog", "It"]]
    assert document.resolved_text() == "Anna met the dog. The dog left."
    chat = rule_resolver.session()
    chat.say("Anna met the dog. It left.")
    assert chat.document().resolved_text() == chat.resolved_text()
