"""Which mentions of a passage get a name, in which form, and where everything is afterwards."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.errors import IncorefError
from incoref.memory.naming import NamingOptions, standing_alone
from incoref.memory.passages import Edit, Passage, edited
from incoref.text import split
from incoref.types import Document, Entity, Mention

NAMES: dict[str, str | None] = {
    "a": "Anna Kern",
    "b": "Ben",
    "c": "Helio",
    "t": "Anna and Ben",
    "n": None,
    "w": "the workers",
    "e": "Ben Weber, an engineer",
    "m": "my brother Tom",
    "h": "her husband, Paul Weber",
    "l": "her lawyer in Berlin, Germany",
    "p": "she",
    "s": "the Smiths",
    "k": "Anna Kern and Tom Kern",
}


def document_of(marked: str, speaker: str | None = None) -> Document:
    """A document from text with mentions as ``[She|a]``, or ``[She|a|0.3]`` where the link is not sure."""
    text, places = "", []
    for part in re.split(r"(\[[^\]]+\])", marked):
        if part.startswith("["):
            words, entity, *confidence = part[1:-1].split("|")
            places.append((len(text), len(text) + len(words), entity, float(*confidence) if confidence else 0.9))
            text += words
        else:
            text += part
    sentences = split(text)
    tokens = [token for sentence in sentences for token in sentence.tokens]
    mentions: dict[str, list[Mention]] = {}
    for start, end, entity, confidence in places:
        first = next(number for number, token in enumerate(tokens) if token.start == start)
        last = next(number for number, token in enumerate(tokens) if token.end == end)
        sentence = next(number for number, one in enumerate(sentences) if one.start <= start < one.end)
        mention = Mention(start, end, text[start:end], (first, last + 1), sentence, entity, confidence=confidence)
        mentions.setdefault(entity, []).append(mention)
    entities = tuple(Entity(id, tuple(found), NAMES[id], speaker=speaker) for id, found in mentions.items())
    return Document("d", text, tuple(sentences), entities)


def named(marked: str, **options: Any) -> Passage:
    document = document_of(marked)
    return standing_alone(document, 0, document.text, NamingOptions(**options))


@pytest.mark.parametrize(
    "marked, expected",
    [
        ("[She|a] called [him|b].", "Anna Kern called Ben."),
        ("[She|a] called. [She|a] left.", "Anna Kern called. She left."),
        ("[Her|a] brother called [her|a].", "Anna Kern's brother called her."),
        ("[Anna Kern|a] called. [She|a] left.", "Anna Kern called. She left."),
        ("[Kern|a] left. [She|a] slept.", "Anna Kern left. She slept."),
        ("[Kern|a]'s office was cold.", "Anna Kern's office was cold."),
        ("[Kern's|a] office was cold.", "Anna Kern's office was cold."),
        ("Mr. [Kern|a] left.", "Mr. Kern left."),
        ("They like [Kern|a] Industries.", "They like Kern Industries."),
        ("[Their|t] house is old.", "Anna and Ben's house is old."),
        ("[They|w] left. [Their|w] strike is over.", "The workers left. Their strike is over."),
        ("[She|a] hurt [herself|a].", "Anna Kern hurt herself."),
        ("[She's|a] late.", "She's late."),
        ("[It|n] rained. [She|p] knew.", "It rained. She knew."),
        ("[They|a] are tired.", "They are tired."),
        ("[He|e] built it.", "Ben Weber built it."),
        ("[He|m] is late.", "Tom is late."),
        ("[He|h] is late. [He|l] slept.", "Paul Weber is late. He slept."),
        ("[the company|c] grew.", "the company grew."),
        ('"[I|a] am tired," [she|a] said.', '"I am tired," Anna Kern said.'),
        ("[She|a|0.3] called [him|b].", "She called Ben."),
        ("[Anna Kern|a] left. [Ben|b] slept.", "Anna Kern left. Ben slept."),
        ("[Kern|k] left. [Their|k] dog barked.", "Kern left. Anna Kern and Tom Kern's dog barked."),
        ("Call `get([her|a])`. [She|a] left.", "Call `get(her)`. Anna Kern left."),
        ("```python\nx = [he|b]\n```\n[He|b] left.", "```python\nx = he\n```\nBen left."),
        ("~~~\n[he|b]\n```\n[he|b]", "~~~\nhe\n```\nhe"),
        ("It is 5` long, [he|b] said.", "It is 5` long, Ben said."),
    ],
)
def test_names_are_put_in_with_care(marked: str, expected: str) -> None:
    assert named(marked).text == expected


@pytest.mark.parametrize(
    "options, marked, expected",
    [
        ({"mentions": "all"}, "[Anna Kern|a] left. [She|a] slept.", "Anna Kern left. Anna Kern slept."),
        ({"mentions": "all"}, "[Kern|a] left. [Kern|a] slept.", "Anna Kern left. Kern slept."),
        ({"style": "brackets"}, "[She|a] took [her|a] car.", "She [Anna Kern] took her car."),
        ({"style": "brackets"}, "[Her|a] car broke.", "Her [Anna Kern's] car broke."),
        ({"style": "brackets"}, "[They|c] are late.", "They [Helio] are late."),
        ({"style": "brackets"}, "[Their|s] house is old.", "Their [the Smiths'] house is old."),
        ({"style": "facts"}, "[She|a] met [him|b].", "(She = Anna Kern; him = Ben)\nShe met him."),
        ({"style": "facts"}, "Nobody came.", "Nobody came."),
        (
            {"style": "facts", "mentions": "all"},
            "[He|b] met [Tom|m]. [He|m] left, and [she|a] stayed.",
            "(He = Ben, then Tom; she = Anna Kern)\nHe met Tom. He left, and she stayed.",
        ),
        ({"min_confidence": 0.2}, "[She|a|0.3] left.", "Anna Kern left."),
        ({"short_names": False}, "[Kern|a] left. [She|a] slept.", "Kern left. She slept."),
        ({"descriptions": True}, "[The company|c] grew. [It|c] sold.", "Helio grew. It sold."),
        ({"descriptions": True}, "[the company's|c] lab", "Helio's lab"),
        ({"speakers": True}, "[I|a] am tired. [I|a] left.", "Anna Kern is tired. I left."),
        ({"speakers": True}, "[I|a]'ve slept.", "Anna Kern has slept."),
        ({"speakers": True}, "[I|a]'ll sleep.", "Anna Kern will sleep."),
        ({"speakers": True}, "[I|a] like it.", "I like it."),
        ({"speakers": True}, "He met [me|a] and [my|a] dog.", "He met Anna Kern and my dog."),
        ({"speakers": True}, "[My|a] dog barks.", "Anna Kern's dog barks."),
        ({"speakers": True}, "Are [you|b] tired?", "Are you tired?"),
        ({"speakers": True, "style": "brackets"}, "Are [you|b] tired?", "Are you [Ben] tired?"),
        ({"speakers": True, "style": "brackets"}, "[I|a] like it.", "I [Anna Kern] like it."),
        ({"speakers": True}, 'He said: "[I|b] was late."', 'He said: "I was late."'),
        ({"quotations": True}, 'He said: "[I|b] was late."', 'He said: "Ben was late."'),
        ({"quotations": True}, "[I|a] was late.", "I was late."),
    ],
)
def test_options_say_what_is_named_and_how(options: dict[str, Any], marked: str, expected: str) -> None:
    assert named(marked, **options).text == expected


def test_every_decision_gives_its_reason() -> None:
    passage = named("[She|a] met [him|b|0.3]. [She|a] knew [it|n]. [They|c] are late. `[He|b]`")
    assert [(choice.text, choice.name, choice.named, choice.reason) for choice in passage.decisions] == [
        ("She", "Anna Kern", True, "named"),
        ("him", "Ben", False, "unsure"),
        ("She", "Anna Kern", False, "already named"),
        ("it", None, False, "no name"),
        ("They", "Helio", False, "grammar"),
        ("He", "Ben", False, "code"),
    ]
    assert passage.names == {"a": "Anna Kern"}
    for choice in passage.decisions:
        assert passage.original[choice.start : choice.end] == choice.text


def test_a_pronoun_is_no_surer_than_the_one_it_was_linked_to() -> None:
    passage = named("[Ben|b] left. [He|b|0.6] slept. [He|b|0.6] woke. [Ben|b] ate. [He|b|0.6] drank.", mentions="all")
    assert passage.text == "Ben left. Ben slept. He woke. Ben ate. Ben drank."
    assert [round(choice.confidence, 2) for choice in passage.decisions] == [0.6, 0.36, 0.6]


def test_an_unknown_choice_is_refused_by_name() -> None:
    with pytest.raises(IncorefError, match="no style 'bold'; choose one of inline, brackets, facts"):
        named("x", style="bold")
    with pytest.raises(IncorefError, match="no mentions 'some'; choose one of first, all"):
        named("x", mentions="some")
    with pytest.raises(IncorefError, match="min_confidence is 2; it is a probability"):
        named("x", min_confidence=2)


def test_places_are_known_both_ways() -> None:
    passage = named("[She|a] called [him|b].")
    assert passage.text == "Anna Kern called Ben."
    assert passage.to_original(0, 9) == (0, 3)
    assert passage.to_original(5, 9) == (0, 3)  # "Kern" is a part of what stands for "She"
    assert passage.to_original(10, 16) == (4, 10)
    assert passage.to_original(17, 20) == (11, 14)
    assert passage.to_original(0, len(passage.text)) == (0, len(passage.original))
    assert passage.from_original(0, 3) == (0, 9)
    assert passage.from_original(4, 10) == (10, 16)
    assert passage.from_original(11, 14) == (17, 20)


@st.composite
def passages(draw: st.DrawFn) -> Passage:
    original = draw(st.text("abc ", max_size=30))
    cuts = sorted(draw(st.lists(st.integers(0, len(original)), max_size=8, unique=True)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    edits = tuple(Edit(start, end, draw(st.text("XYZ", min_size=1, max_size=9))) for start, end in pairs)
    return Passage(None, original, edited(original, edits), edits=edits)


@given(passages(), st.data())
def test_what_was_not_edited_is_found_in_both_texts(passage: Passage, data: st.DataObject) -> None:
    changed = {place for edit in passage.edits for place in range(edit.start, edit.end)}
    for place in set(range(len(passage.original))) - changed:
        start, end = passage.from_original(place, place + 1)
        assert passage.text[start:end] == passage.original[place]
        assert passage.to_original(start, end) == (place, place + 1)
    for edit in passage.edits:
        start, end = passage.from_original(edit.start, edit.end)
        assert passage.text[start:end] == edit.text
        assert passage.to_original(start, end) == (edit.start, edit.end)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(passage.text))] * 2)))
    first, last = passage.to_original(start, end)
    assert 0 <= first <= last <= len(passage.original)
