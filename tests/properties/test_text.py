"""The splitters' promises, for any text: exact offsets, and the same sentences at the same time in any pieces."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.integrations.spacy_splitter import SpacySplitter
from incoref.text import FORCED, Pending, RuleSplitter, Splitter, split
from incoref.types import Sentence

TELLING = (
    ". . . ! ? ... … , ; : \" ' ” “ ’ ( ) [ ] — -- - / & % # @ 。 ！ ？ । ؟ "
    "Dr. Mr. U.S. e.g. J. No. Inc. etc. a.m. Figure 1.2 1. 2) (a) 3.14 1,000 [1] [2] "
    "The the He he I asked said And Anna Smith iPhone and so of don't cannot Anna's co-op well-known th- "
    "http://example.org/a.b?c=d www.example.com a@example.com 👩‍👩‍👧 🇩🇪 👍🏽 😀 :) e\u0301 你好 शब्द שלום مرحبا"
).split(" ")
BLANKS = [
    " ",
    " ",
    " ",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    "  ",
    "\u00a0",
    "\u200b",
    "\ufeff",
    "\u2029",
    "\x0c",
    "\x00",
]
ODD = ["\u00ad", "\u200d", "\ud800", "\udfff", "x" * 70, "word " * 12, "\ufe0f", "*", "_", "•"]

texts = st.lists(
    st.sampled_from(TELLING) | st.sampled_from(BLANKS) | st.sampled_from(BLANKS) | st.sampled_from(ODD), max_size=40
).map("".join) | st.text(max_size=80)
splitters = st.builds(RuleSplitter, max_tokens=st.integers(1, 12), max_characters=st.integers(1, 80)) | st.just(
    RuleSplitter()
)


@st.composite
def pieces_of(draw: st.DrawFn, text: str) -> list[str]:
    cuts = draw(st.lists(st.integers(0, len(text)), max_size=8))
    return [text[start:end] for start, end in pairwise([0, *sorted(cuts), len(text)])]


def one_by_one(splitter: Splitter, text: str) -> tuple[list[Sentence], list[int]]:
    """The sentences of a text fed by the character, and how many of them were out after each."""
    sentences, pending, counts = list[Sentence](), Pending(), [0]
    for character in text:
        found, pending = splitter.feed(pending, character)
        sentences += found
        counts.append(len(sentences))
    return sentences + splitter.flush(pending)[0], counts


@given(text=texts, offset=st.integers(0, 99))
def test_offsets_are_exact_and_ascending(text: str, offset: int) -> None:
    place = offset
    for sentence in split(text, offset):
        assert sentence.tokens
        assert (sentence.start, sentence.end) == (sentence.tokens[0].start, sentence.tokens[-1].end)
        for token in sentence.tokens:
            assert place <= token.start < token.end
            assert text[token.start - offset : token.end - offset] == token.text
            place = token.end


@given(text=texts)
def test_no_visible_character_is_lost(text: str) -> None:
    covered = {at for sentence in split(text) for token in sentence.tokens for at in range(token.start, token.end)}
    assert not [character for at, character in enumerate(text) if character.isalnum() and at not in covered]


@given(text=texts)
def test_words_hold_no_white_space(text: str) -> None:
    assert not any(
        character.isspace() for sentence in split(text) for word in sentence.tokens for character in word.text
    )


@settings(max_examples=200)
@given(data=st.data(), text=texts, splitter=splitters)
def test_any_pieces_give_the_same_sentences_at_the_same_time(
    data: st.DataObject, text: str, splitter: RuleSplitter
) -> None:
    expected, counts = one_by_one(splitter, text)
    assert split(text, splitter=splitter) == expected
    sentences, pending, read = list[Sentence](), Pending(), 0
    for piece in data.draw(pieces_of(text)):
        found, pending = splitter.feed(pending, piece)
        sentences += found
        read += len(piece)
        assert len(sentences) == counts[read]
        assert pending.offset + len(pending.text) == read
        assert text[pending.offset :].startswith(pending.text)
    found, pending = splitter.flush(pending)
    assert sentences + found == expected
    assert pending == Pending(offset=len(text))


@given(data=st.data(), text=texts, splitter=splitters)
def test_what_is_pending_can_be_saved_at_any_moment(data: st.DataObject, text: str, splitter: RuleSplitter) -> None:
    sentences, pending = list[Sentence](), Pending()
    for piece in data.draw(pieces_of(text)):
        found, pending = splitter.feed(pending, piece)
        sentences += found
        saved = json.dumps(pending.to_json(), ensure_ascii=False)  # escaped, two half surrogates would become one
        pending = Pending.from_json(json.loads(saved))
    assert sentences + splitter.flush(pending)[0] == split(text, splitter=splitter)


@given(text=texts, more=texts)
def test_what_comes_later_changes_no_earlier_sentence(text: str, more: str) -> None:
    released, _ = RuleSplitter().feed(Pending(), text)
    assert split(text + more)[: len(released)] == released


@given(text=texts, splitter=splitters)
def test_no_sentence_is_too_long(text: str, splitter: RuleSplitter) -> None:
    for sentence in split(text, splitter=splitter):
        assert len(sentence) <= splitter.max_tokens
        assert len(sentence) == 1 or sentence.end - sentence.start <= splitter.max_characters


@given(paragraphs=st.lists(texts.filter(str.strip), max_size=4))
def test_paragraphs_are_split_apart_from_each_other(paragraphs: list[str]) -> None:
    together = [[token.text for token in sentence.tokens] for sentence in split("\n\n".join(paragraphs))]
    apart = [[token.text for token in sentence.tokens] for text in paragraphs for sentence in split(text)]
    assert together == apart


@pytest.fixture(scope="module")
def spacy_splitter() -> SpacySplitter:
    pytest.importorskip("spacy", reason="needs the package 'spacy' (extra 'spacy')")
    return SpacySplitter.blank()


@settings(max_examples=40)
@given(data=st.data(), text=texts)
def test_the_spacy_splitter_keeps_the_same_promises(
    data: st.DataObject, text: str, spacy_splitter: SpacySplitter
) -> None:
    splitter = SpacySplitter(spacy_splitter.pipeline, data.draw(st.integers(1, 12)), data.draw(st.integers(1, 80)))
    expected, counts = one_by_one(splitter, text)
    assert split(text, splitter=splitter) == expected
    sentences, pending, read = list[Sentence](), Pending(), 0
    for piece in data.draw(pieces_of(text)):
        found, pending = splitter.feed(Pending.from_json(pending.to_json()), piece)
        sentences += found
        read += len(piece)
        assert len(sentences) == counts[read]
        assert pending.offset + len(pending.text) == read
    assert sentences + splitter.flush(pending)[0] == expected
    for sentence in expected:
        assert len(sentence) <= splitter.max_tokens
        assert sentence.attributes in ((), FORCED)
        for token in sentence.tokens:
            assert text[token.start : token.end] == token.text
