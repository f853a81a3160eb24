"""spaCy's words and sentences through the protocol of splitters."""

from __future__ import annotations

import sys

import pytest

from incoref.errors import IncorefError, MissingExtra
from incoref.integrations.spacy_splitter import SpacySplitter
from incoref.text import FORCED, Pending, split


def test_without_spacy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"incoref\[spacy\]"):
        SpacySplitter.blank()


@pytest.fixture(scope="module")
def splitter() -> SpacySplitter:
    pytest.importorskip("spacy", reason="needs the package 'spacy' (extra 'spacy')")
    return SpacySplitter.blank()


def test_sentences_and_words_are_those_of_the_pipeline(splitter: SpacySplitter) -> None:
    found = split("Anna isn't here.  She left.\n\nA title", 10, splitter)
    assert [[token.text for token in sentence.tokens] for sentence in found] == [
        ["Anna", "is", "n't", "here", "."],
        ["She", "left", "."],
        ["A", "title"],
    ]
    assert [(sentence.start, sentence.end) for sentence in found] == [(10, 26), (28, 37), (39, 46)]


def test_sentences_come_out_when_their_paragraph_is_complete(splitter: SpacySplitter) -> None:
    sentences, pending = splitter.feed(Pending(), "One. Two.\n")
    assert sentences == []
    sentences, pending = splitter.feed(pending, "\nThr")
    assert len(sentences) == 2
    assert pending == Pending("Thr", 11)


def test_endless_paragraphs_come_in_parts(splitter: SpacySplitter) -> None:
    found = split("word " * 10_000, splitter=splitter)
    assert sum(len(sentence) for sentence in found) == 10_000
    assert all(len(sentence) <= 200 for sentence in found)
    assert all(sentence.attributes == FORCED for sentence in found[:-1])


def test_a_pipeline_without_sentences_is_refused(splitter: SpacySplitter) -> None:
    spacy = pytest.importorskip("spacy")
    with pytest.raises(IncorefError, match="sentencizer"):
        split("Anna left.", splitter=SpacySplitter(spacy.blank("en")))
