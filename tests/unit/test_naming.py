"""An entity is called by its longest proper name, else by a description, else by a pronoun."""

from __future__ import annotations

from functools import reduce

import pytest

from incoref.naming import Kind, Name, name_of
from incoref.text import split


def name(text: str) -> Name:
    return name_of([token.text for sentence in split(text) for token in sentence.tokens], text)


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
    ],
)
def test_the_best_name_wins(mentions: list[str], called: str) -> None:
    assert reduce(Name.or_better, map(name, mentions)).text == called
