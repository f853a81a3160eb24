"""Properties of readers and writers: what a format can express comes back, and what it can't is reported."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.corpora import FORMATS, Loss, guess
from incoref.corpora.losses import Losses
from incoref.types import Document, Mention, Sentence, Token
from strategies import attribute_sets, documents, odd_values

ANNOTATED = ["conll-2012", "litbank", "conllu", "conllua", "jsonlines", "incoref"]
"""Formats that are both read and written and say which mentions there are."""

EXAMPLES = 25
"""Of each property for each format: enough in the long run, and the whole file in a few seconds."""

NAMES = [
    *(
        "lemma",
        "upos",
        "head",
        "xpos",
        "parse",
        "ne",
        "Foo",
        "misc",
        "range",
        "empty",
        "speaker",
        "arguments",
        "text",
    ),
    *(
        "sent_id",
        "newpar",
        "addressee",
        "part",
        "genre",
        "MarkableID",
        "Min",
        "etype",
        "infstat",
        "parts",
        "BRIDGING",
    ),
    *("a-b", "c=d", "global.Entity", "non-referring", "two words", "#x", ""),
]
ODD_DOCUMENTS = documents(
    free_spacing=True,
    ids=odd_values() | st.text(max_size=3),
    types=st.none() | st.sampled_from(["person", "two words"]) | odd_values(),
    attributes=attribute_sets(st.sampled_from(NAMES), odd_values()),
)
RICH_DOCUMENTS = documents(
    ids=st.from_regex(r"[a-z]{1,2}[0-9]", fullmatch=True),
    types=st.sampled_from([None, "person", "place"]),
    attributes=attribute_sets(st.sampled_from(["Foo", "Bar"]), st.sampled_from(["a", "b c", "d=e", "é", "1,2"])),
)
"""With attributes and types that the formats with room for any can hold."""


def through(name: str, *written: Document) -> tuple[list[Document], list[Loss], str]:
    format = FORMATS[name]
    assert format.write and format.read
    losses = Losses()
    text = "".join(format.write(written, losses))
    return list(format.read(text, "doc.txt")), losses.report(), text


def comparable(document: Document) -> Document:
    """Without what a format has to add: names of fields, marks of paragraphs.

    Attributes of tokens and mentions are sorted: each format has an order of its own. An empty one says nothing.
    """

    def sorted_mention(mention: Mention) -> Mention:
        return replace(mention, attributes=tuple(sorted(p for p in mention.attributes if p != ("MarkableID", ""))))

    def sorted_sentence(sentence: Sentence) -> Sentence:
        tokens = tuple(
            token._replace(attributes=tuple(sorted(p for p in token.attributes if p[1] not in ("", "_"))))
            for token in sentence.tokens
        )
        return replace(sentence, tokens=tokens, attributes=tuple(p for p in sentence.attributes if p[0] != "newpar"))

    return replace(
        document,
        sentences=tuple(map(sorted_sentence, document.sentences)),
        entities=tuple(replace(e, mentions=tuple(map(sorted_mention, e.mentions))) for e in document.entities),
        attributes=tuple(pair for pair in document.attributes if not pair[0].startswith("global.")),
    )


def spans(document: Document) -> list[list[tuple[int, int]]]:
    return sorted(sorted(mention.tokens for mention in entity.mentions) for entity in document.entities)


@pytest.mark.parametrize("name", ANNOTATED)
@pytest.mark.parametrize("text", ["", "  \n"])
def test_documents_without_words_come_back(name: str, text: str) -> None:
    """A session in which nothing was said yet is one."""
    empty = Document(id="empty", text=text, sentences=(), entities=())
    full = Document("full", "Hi .", (Sentence(0, 4, (Token("Hi", 0, 2), Token(".", 3, 4))),), ())
    for written in ([empty], [empty, full, empty], [full, empty, empty, full]):
        back, _, file = through(name, *written)
        assert [(document.id, len(document.sentences)) for document in back] == [
            (document.id, len(document.sentences)) for document in written
        ]
        if written[0] is full or name != "litbank":  # without words, it looks like CoNLL-2012
            assert guess(file, "doc.txt").name == name


@pytest.mark.parametrize("name", ANNOTATED)
@settings(max_examples=EXAMPLES)
@given(document=documents())
def test_words_sentences_and_clusters_come_back(name: str, document: Document) -> None:
    (back,), losses, _ = through(name, document)
    assert back.id == document.id
    assert [token.text for token in back.tokens] == [token.text for token in document.tokens]
    assert [len(sentence) for sentence in back.sentences] == [len(sentence) for sentence in document.sentences]
    if not any("cross" in loss.what for loss in losses):
        assert spans(back) == spans(document)


@pytest.mark.parametrize("name", ANNOTATED)
@settings(max_examples=3 * EXAMPLES)
@given(document=documents() | RICH_DOCUMENTS | ODD_DOCUMENTS)
def test_a_difference_is_always_reported(name: str, document: Document) -> None:
    (back,), losses, _ = through(name, document)
    if not losses:
        assert comparable(back) == comparable(document)


@pytest.mark.parametrize("name", ["conllu", "conllua", "incoref"])
@settings(max_examples=EXAMPLES)
@given(document=RICH_DOCUMENTS)
def test_formats_with_room_for_types_and_attributes_lose_none(name: str, document: Document) -> None:
    _, losses, _ = through(name, document)
    expected = {"texts with their exact white space", "genres"}
    if name == "conllua":  # no cell may contain white space
        expected |= {f"token attributes ({names})" for names in ("Foo", "Bar", "Bar, Foo")}
    assert {loss.what for loss in losses if "cross" not in loss.what} <= expected


@pytest.mark.parametrize("name", ANNOTATED)
@settings(max_examples=EXAMPLES)
@given(document=ODD_DOCUMENTS)
def test_writing_what_was_read_changes_nothing(name: str, document: Document) -> None:
    (once,), _, _ = through(name, document)
    (twice,), losses, _ = through(name, once)
    assert twice == once
    assert not losses


@pytest.mark.parametrize("name", ANNOTATED)
@settings(max_examples=EXAMPLES)
@given(written=st.lists(documents(), min_size=1, max_size=3))
def test_offsets_are_exact_and_documents_stay_apart(name: str, written: list[Document]) -> None:
    back, _, text = through(name, *written)
    assert len(back) == len(written)
    assert guess(text, "x").name == name
    for document in back:
        for token in document.tokens:
            assert document.text[token.start : token.end] == token.text
        for mention in document.mentions:
            assert document.text[mention.start : mention.end] == mention.text
            assert mention.start == document.tokens[mention.tokens[0]].start
            assert mention.end == document.tokens[mention.tokens[1] - 1].end
        for sentence in document.sentences:
            assert (sentence.start, sentence.end) == (sentence.tokens[0].start, sentence.tokens[-1].end)


@pytest.mark.parametrize("name", ANNOTATED)
@settings(max_examples=EXAMPLES)
@given(document=documents())
def test_white_space_at_the_end_does_not_matter(name: str, document: Document) -> None:
    (back,), _, text = through(name, document)
    read = FORMATS[name].read
    assert read
    assert list(read(text.replace("\n", " \n"), "doc.txt")) == [back]
    assert list(read(text.rstrip("\n"), "doc.txt")) == [back]


@settings(max_examples=EXAMPLES)
@given(document=documents(free_spacing=True))
def test_text_comes_back_with_its_turns(document: Document) -> None:
    (back,), losses, _ = through("text-jsonlines", document)
    if not any("white space" in loss.what for loss in losses):
        assert back.text == document.text
    assert {sentence.speaker for sentence in back.sentences} <= {sentence.speaker for sentence in document.sentences}
    (plain,), _, text = through("text", document)
    assert plain.text == text == document.text
