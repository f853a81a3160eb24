"""An entity is called by its longest proper name, else by a description, else by a pronoun."""

from __future__ import annotations

from functools import reduce

import pytest

from incoref.session.names import Kind, Name, name_of
from incoref.text import split


def name(text: str, opens: bool = False) -> Name:
    return name_of([token.text for sentence in split(text) for token in sentence.tokens], text, opens=opens)


@pytest.mark.parametrize(
    ("text", "called", "kind"),
    [
        ("Anna", "Anna", Kind.PROPER_NAME),
        ("Anna's", "Anna", Kind.PROPER_NAME),
        ("the workers'", "the workers", Kind.DESCRIPTION),
        ("The United Nations", "the United Nations", Kind.PROPER_NAME),
        ("the Duke of Hong Kong", "the Duke of Hong Kong", Kind.PROPER_NAME),
        ("Ludwig van\n  Beethoven", "Ludwig van Beethoven", Kind.PROPER_NAME),
        ("Apollo 11", "Apollo 11", Kind.PROPER_NAME),
        ("THE END", "THE END", Kind.PROPER_NAME),
        ("The old dog", "the old dog", Kind.DESCRIPTION),
        ("Anna's brother", "Anna's brother", Kind.DESCRIPTION),
        ("My brother", "my brother", Kind.DESCRIPTION),
        ("1984", "1984", Kind.DESCRIPTION),
        ("She", "She", Kind.PRONOUN),
        ("I", "I", Kind.PRONOUN),
        ("A man who had come from far away to see the river", None, Kind.LONG_DESCRIPTION),
        ("the man who came", "the man who came", Kind.LONG_DESCRIPTION),
        ("Jeff [Drake]", "Jeff [Drake]", Kind.LONG_DESCRIPTION),
        ("player thr- player three", "player thr- player three", Kind.LONG_DESCRIPTION),
        (".", ".", Kind.DESCRIPTION),
        ("'s", "'s", Kind.DESCRIPTION),
    ],
)
def test_what_a_mention_calls_its_entity(text: str, called: str | None, kind: Kind) -> None:
    found = name(text)
    assert found.kind is kind
    assert called is None or found.text == called


@pytest.mark.parametrize(
    ("mentions", "called"),
    [
        (["she", "Anna", "Anna Kern", "Anna", "the teacher"], "Anna Kern"),
        (["he", "the old man", "the very old man"], "the old man"),
        (["a man who had come from far away to see the river", "him", "the man"], "the man"),
        (["they", "them"], "they"),
        (["Emperor of the North", "Norton", "his"], "Norton"),
        (["Norton", "Emperor of the North", "Joshua Norton", "Emperor of the United North"], "Joshua Norton"),
        (["the House", "the House of Commons", "the House"], "the House of Commons"),
        (["Isabel Ruiz of Madrid", "Isabel Ruiz", "Ruiz"], "Isabel Ruiz"),
        (["the man who came", "the old man"], "the old man"),
    ],
)
def test_the_best_name_wins(mentions: list[str], called: str) -> None:
    assert reduce(Name.or_better, map(name, mentions)).text == called


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("Narrow work", "narrow work"),
        ("Lots of jokes", "lots of jokes"),
        ("German women", "German women"),
        ("Anna's brother", "Anna's brother"),
        ("Anna and the dog", "Anna and the dog"),
        ("USA fans", "USA fans"),
        ("Hong Kong", "Hong Kong"),
    ],
)
def test_a_sentences_capital_is_not_the_descriptions(text: str, called: str) -> None:
    assert name(text, opens=True).text == called
    assert name(text, opens=False).text == text


@pytest.mark.parametrize(
    ("text", "type", "plural", "called"),
    [
        ("Food", "substance", False, "food"),
        ("Anna", "person", False, "Anna"),
        ("James", "person", False, "James"),
        ("Senators", "person", True, "senators"),
        ("People", "person", True, "people"),
        ("Anna", "person", True, "Anna"),
        ("Food", None, False, "Food"),
    ],
)
def test_one_word_that_opens_a_sentence(text: str, type: str | None, plural: bool, called: str) -> None:
    assert name(text, opens=True).within_a_sentence(type, plural=plural) == called
    assert name(text).within_a_sentence(type, plural=plural) == text


def test_another_mention_says_whether_the_capital_is_the_names() -> None:
    for mentions in (("Food", "food"), ("food", "Food")):
        one, other = (name(text, opens=text == "Food") for text in mentions)
        assert one.or_better(other) == Name("food", Kind.DESCRIPTION)
    assert name("Anna", opens=True).or_better(name("Anna")) == Name("Anna", Kind.PROPER_NAME)
