"""Whole texts, streams and many documents give what sessions give."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

import incoref
from incoref.errors import IncorefError
from incoref.model.predict import predict
from incoref.resolver import Resolver
from incoref.session.updates import Message, Update
from incoref.types import Document
from rule_model import RuleModel
from tiny_models import TinyModels, random_document

TEXT = "Anna met Carl. She saw the dog.\n\nThe dog saw Anna."


@pytest.fixture(scope="module")
def resolver(tiny: TinyModels) -> Resolver:
    return Resolver(RuleModel.like(tiny.model))


def clusters(document: Document) -> list[list[str]]:
    return [[mention.text for mention in entity.mentions] for entity in document.entities]


def test_a_text_with_its_entities(resolver: Resolver) -> None:
    document = resolver.resolve(TEXT, id="d1")
    assert (document.id, document.text) == ("d1", TEXT)
    assert [TEXT[s.start : s.end] for s in document.sentences] == [
        "Anna met Carl.",
        "She saw the dog.",
        "The dog saw Anna.",
    ]
    assert clusters(document) == [["Anna", "Anna"], ["Carl", "She"], ["the dog", "The dog"]]
    assert [entity.name for entity in document.entities] == ["Anna", "Carl", "the dog"]
    assert Document.from_json(document.to_json()) == document


def test_entities_of_one_mention_are_left_out_unless_asked_for(resolver: Resolver) -> None:
    assert clusters(resolver.resolve("Anna met Carl. She left.")) == [["Carl", "She"]]
    assert clusters(resolver.resolve("Anna met Carl. She left.", singletons=True)) == [["Anna"], ["Carl", "She"]]


def test_a_conversation_with_its_entities(resolver: Resolver) -> None:
    document = resolver.resolve([Message("I met Carl.", "Anna", 1), Message("I am Carl!", "Carl")])
    assert document.text == "I met Carl.\nI am Carl!\n"
    assert [sentence.speaker for sentence in document.sentences] == ["Anna", "Carl"]
    assert clusters(document) == [["Carl", "Carl"]]


def test_a_document_keeps_its_sentences_and_words(tiny: TinyModels) -> None:
    document = random_document(15, seed=3)
    found = Resolver(tiny.model).resolve(document, singletons=True, eviction="none")
    assert (found.id, found.text, found.sentences) == (document.id, document.text, document.sentences)
    expected = predict(tiny.model, document)
    spans = [sorted(mention.tokens for mention in entity.mentions) for entity in expected.entities]
    assert [sorted(mention.tokens for mention in entity.mentions) for entity in found.entities] == spans


@pytest.mark.parametrize("text", ["", " \n ", "\ud800", "x"])
def test_hardly_any_text(resolver: Resolver, text: str) -> None:
    assert resolver.resolve(text).text == text
    assert resolver.resolve(text).entities == ()


def test_a_stream_is_answered_as_it_comes(resolver: Resolver) -> None:
    taken: list[str] = []

    def source() -> Iterator[str | Message]:
        for item in ("Anna met", " Carl. She", " left", Message("The dog stayed.", "Rex", 5), "He"):
            taken.append(str(item))
            yield item

    updates = resolver.stream(source())
    assert next(updates).text == "Anna met Carl."
    assert len(taken) == 2
    assert [(update.text, update.id) for update in updates] == [
        ("She left", None),
        ("The dog stayed.", 5),
        ("He", None),
    ]


def test_a_stream_goes_into_a_session_that_is_given(resolver: Resolver) -> None:
    session = resolver.session()
    session.say("Anna met Carl.")
    (update,) = resolver.stream(["Carl left."], session=session)
    assert not update.mentions[0].new
    with pytest.raises(IncorefError, match="has its options already: trace"):
        next(resolver.stream([], session=session, trace=True))


async def pieces() -> AsyncIterator[str]:
    for piece in ("Anna met", " Carl. She", " left"):
        yield piece


def test_asyncio_gets_the_same_updates(resolver: Resolver) -> None:
    async def collect(source: object) -> list[Update]:
        return [update async for update in resolver.astream(source)]

    expected = list(resolver.stream(["Anna met", " Carl. She", " left"]))
    assert asyncio.run(collect(pieces())) == expected
    assert asyncio.run(collect(["Anna met", " Carl. She", " left"])) == expected


def test_asyncio_is_not_blocked(resolver: Resolver) -> None:
    waiting = threading.Event()

    def source() -> Iterator[str]:
        yield "Anna met Carl. She left. "
        assert waiting.wait(30)  # set by the loop while this thread waits
        yield "He stayed."

    async def run() -> int:
        found = 0
        async for _ in resolver.astream(source()):
            found += 1
            asyncio.get_running_loop().call_soon(waiting.set)
        return found

    assert asyncio.run(run()) == 3


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_many_documents_come_back_in_order(resolver: Resolver, workers: int) -> None:
    texts = ["Anna met Carl. Carl left. " * (1 + number % 3) for number in range(12)]
    found = list(resolver.pipe(texts, workers=workers))
    assert [document.id for document in found] == [str(number) for number in range(12)]
    assert [(d.text, d.entities) for d in found] == [(t, resolver.resolve(t).entities) for t in texts]


def test_documents_are_read_only_a_little_ahead(resolver: Resolver) -> None:
    taken: list[int] = []

    def source() -> Iterator[str]:
        for number in range(1000):
            taken.append(number)
            yield "Anna left."

    documents = resolver.pipe(source(), workers=2)
    next(documents)
    documents.close()
    assert len(taken) < 10


def test_a_failure_in_a_pipe_comes_out(resolver: Resolver) -> None:
    with pytest.raises(IncorefError, match="no genre 'opera'"):
        list(resolver.pipe(["Anna left."] * 5, workers=2, genre="opera"))
    with pytest.raises(IncorefError, match="0 workers"):
        list(resolver.pipe([], workers=0))


def test_load_takes_a_folder(tiny: TinyModels, tmp_path: Path) -> None:
    assert incoref.load(tiny.int8).resolve("Anna met Carl.").text == "Anna met Carl."
    assert isinstance(incoref.load(str(tiny.fp32)), incoref.Resolver)
    with pytest.raises(IncorefError, match="no such model folder"):
        incoref.load(tmp_path / "none")
