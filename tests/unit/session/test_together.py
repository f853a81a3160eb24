"""Texts that are read together give what each gives by itself, bit for bit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.errors import IncorefError
from incoref.resolver import Resolver, Text
from incoref.session.updates import Message
from incoref.types import Document
from tiny_models import SPEAKERS, WORDS, TinyModels, random_document


def _running(draw: random.Random) -> str:
    return "".join(
        draw.choice(WORDS) + draw.choice((" ", " ", " ", ". ", "\n\n")) for _ in range(draw.randint(0, 60))
    )


def _text(seed: int) -> Text:
    draw = random.Random(seed)
    match seed % 3:
        case 0:
            return _running(draw)
        case 1:
            return [Message(_running(draw), draw.choice(SPEAKERS), number) for number in range(draw.randint(0, 8))]
        case _:
            return random_document(draw.randint(1, 12), seed)


def _by_itself(resolver: Resolver, text: Text, number: int, options: dict[str, Any]) -> Document:
    """The text read sentence by sentence, as it would be in a stream."""
    if isinstance(text, Document):
        session = resolver.session(undo=0, **options)
        for sentence in text.sentences:
            words = [token.text for token in sentence.tokens]
            session.say_words(words, sentence.speaker, text=text.text[sentence.start : sentence.end])
        found = {entity.id: entity for entity in session.entities}
        resolved = resolver.resolve(text, singletons=True, **options)
        for entity in resolved.entities:
            streamed = found[entity.id]
            assert [m.tokens for m in entity.mentions] == [m.tokens for m in streamed.mentions]
            assert [m.confidence for m in entity.mentions] == [m.confidence for m in streamed.mentions]
        return resolved
    session = resolver.session(undo=0, **options)
    for part in (text,) if isinstance(text, str) else text:
        if isinstance(part, str):
            for character in part:
                session.feed(character)
        else:
            session.hear(part)
    session.flush()
    return session.document(str(number), singletons=True)


OPTIONS: list[dict[str, Any]] = [
    {"runners_up": 2},
    {"eviction": "lru", "max_entities": 4, "history": 3},
    {"setting": "k=3"},
    {"setting": "part-inc"},
]


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@settings(max_examples=20)
@given(seeds=st.lists(st.integers(0, 400), max_size=12), options=st.sampled_from(OPTIONS))
def test_the_same_bits_as_in_a_stream(
    tiny: TinyModels, precision: str, seeds: list[int], options: dict[str, Any]
) -> None:
    resolver = Resolver(tiny.stateless[precision])
    texts = [_text(seed) for seed in seeds]
    if "setting" in options:  # where blocks end depends on where calls do
        texts = [text for text in texts if not isinstance(text, Document)]
    alone = [_by_itself(resolver, text, number, options) for number, text in enumerate(texts)]
    assert list(resolver.pipe(texts, singletons=True, **options)) == alone


def test_an_encoder_that_needs_what_came_before_gives_the_same(tiny: TinyModels) -> None:
    resolver = Resolver(tiny.model)
    texts = [_text(seed) for seed in range(0, 30, 3)]
    alone = [_by_itself(resolver, text, number, {}) for number, text in enumerate(texts)]
    assert list(resolver.pipe(texts, singletons=True)) == alone


def test_a_text_that_cannot_be_read_is_answered_by_its_error_alone(tiny: TinyModels) -> None:
    resolver = Resolver(tiny.stateless["int8"])
    texts: list[Text] = ["Anna met Carl.", [Message(7)], "She left."]  # type: ignore[arg-type]
    found = list(resolver.outcomes(texts))
    assert [type(one) for one in found] == [Document, IncorefError, Document]
    with pytest.raises(IncorefError, match="text is a string"):
        list(resolver.pipe(texts))


def test_only_some_texts_are_open_at_a_time(tiny: TinyModels) -> None:
    taken: list[int] = []

    def source() -> Iterator[str]:
        for number in range(10_000):
            taken.append(number)
            yield "Anna met Carl. She left."

    found = Resolver(tiny.stateless["int8"]).pipe(source())
    assert next(found).text
    assert len(taken) < 300


def test_a_long_text_is_read_in_parts(tiny: TinyModels) -> None:
    resolver = Resolver(tiny.stateless["int8"])
    text = "Anna met Carl. She left. " * 400
    wanted: list[int] = []
    model = resolver.model
    foreseen = model.foreseen
    model.foreseen = lambda blocks, classes: wanted.append(len(blocks)) or foreseen(blocks, classes)  # type: ignore[method-assign, func-returns-value]
    try:
        assert len(next(resolver.pipe([text])).sentences) == 800
    finally:
        del model.foreseen
    assert max(wanted) <= 256
