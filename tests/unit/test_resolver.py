"""Whole texts, streams and many documents give what sessions give."""

from __future__ import annotations

import asyncio
import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import incoref
from incoref.errors import IncorefError
from incoref.model.folder import Model
from incoref.model.subwords import Utterance
from incoref.resolver import Resolver
from incoref.session.updates import Message, Update
from incoref.text import RuleSplitter
from incoref.types import Document
from tiny_models import NAMES, WORDS, TinyModels, random_document, random_utterances
from tiny_models import document as document_of_utterances

TEXT = "Anna met Carl. She saw the dog.\n\nThe dog saw Anna."


def clusters(document: Document) -> list[list[str]]:
    return [[mention.text for mention in entity.mentions] for entity in document.entities]


def test_a_text_with_its_entities(rule_resolver: Resolver) -> None:
    document = rule_resolver.resolve(TEXT, id="d1")
    assert (document.id, document.text) == ("d1", TEXT)
    assert [TEXT[s.start : s.end] for s in document.sentences] == [
        "Anna met Carl.",
        "She saw the dog.",
        "The dog saw Anna.",
    ]
    assert clusters(document) == [["Anna", "Anna"], ["Carl", "She"], ["the dog", "The dog"]]
    assert [entity.name for entity in document.entities] == ["Anna", "Carl", "the dog"]
    assert Document.from_json(document.to_json()) == document


def test_entities_of_one_mention_are_left_out_unless_asked_for(rule_resolver: Resolver) -> None:
    assert clusters(rule_resolver.resolve("Anna met Carl. She left.")) == [["Carl", "She"]]
    assert clusters(rule_resolver.resolve("Anna met Carl. She left.", singletons=True)) == [["Anna"], ["Carl", "She"]]


def test_a_conversation_with_its_entities(rule_resolver: Resolver) -> None:
    document = rule_resolver.resolve([Message("I met Carl.", "Anna", 1), Message("I am Carl!", "Carl")])
    assert document.text == "I met Carl.\nI am Carl!\n"
    assert [sentence.speaker for sentence in document.sentences] == ["Anna", "Carl"]
    assert clusters(document) == [["Carl", "Carl"]]


def test_a_document_keeps_its_sentences_and_words(tiny: TinyModels) -> None:
    document = random_document(15, seed=3)
    document = replace(document, genre="news", attributes=(("part", "2"),))
    found = Resolver(tiny.model).resolve(document, singletons=True)
    assert found.entities
    assert replace(found, entities=()) == replace(document, entities=())


@pytest.mark.parametrize("empty", [(), (0, 7), (3, 4, 8)], ids=str)
def test_a_documents_mentions_are_where_they_say(tiny: TinyModels, empty: tuple[int, ...]) -> None:
    texts = random_utterances(30, seed=3)
    for place in empty:
        texts.insert(place, Utterance(()))
    found = Resolver(tiny.model).resolve(document_of_utterances(texts), singletons=True)
    assert [entity.id for entity in found.entities] == [str(number + 1) for number in range(len(found.entities))]
    sentence_of = [number for number, sentence in enumerate(found.sentences) for _ in sentence.tokens]
    for entity in found.entities:
        assert entity.type in NAMES.types
        assert sum(bool(mention.new) for mention in entity.mentions) == 1
        for mention in entity.mentions:
            first, end = mention.tokens
            assert (mention.entity, mention.type) == (entity.id, entity.type)
            assert found.text[mention.start : mention.end] == mention.text
            assert (found.tokens[first].start, found.tokens[end - 1].end) == (mention.start, mention.end)
            assert mention.sentence == sentence_of[first]
            assert mention.confidence is not None
            assert 0 < mention.confidence <= 1


def test_a_document_is_resolved_like_its_text(rule_resolver: Resolver) -> None:
    """Every field of every mention, whether the words are known or found."""
    text = "Anna met Carl. She saw the dog in Berlin. The dog left Carl."
    resolved = rule_resolver.resolve(text, singletons=True)
    assert rule_resolver.resolve(replace(resolved, entities=()), singletons=True) == resolved


def test_a_sentence_longer_than_a_window_is_still_one(tiny: TinyModels) -> None:
    """It is read in parts, and its mentions belong to the document's own sentence."""
    text = document_of_utterances([Utterance(tuple(WORDS) * 4), Utterance(("he", "left"))])
    found = Resolver(tiny.model).resolve(text, singletons=True)
    assert {mention.sentence for mention in found.mentions} <= {0, 1}
    assert max(mention.tokens[1] for mention in found.mentions) > 40


def test_documents_of_nothing(tiny: TinyModels) -> None:
    for empty in (Document("empty", "", ()), document_of_utterances([Utterance(())])):
        assert Resolver(tiny.model).resolve(empty) == empty


def test_the_models_own_block_size_is_the_default(tiny: TinyModels) -> None:
    """A model that was trained to read three sentences at once does so unless it is told otherwise."""
    model = Model(
        tiny.fp32, replace(tiny.model.config, k=3), tiny.model.tokenizer, tiny.model.encoder, tiny.model.heads
    )
    text = document_of_utterances(random_utterances(20, seed=3))
    of_three = Resolver(model).resolve(text, singletons=True)
    assert of_three == Resolver(tiny.model).resolve(text, singletons=True, setting="k=3")
    of_one = Resolver(model).resolve(text, singletons=True, setting="sent-inc")
    assert of_one == Resolver(tiny.model).resolve(text, singletons=True) != of_three
    chat = Resolver(model).session()
    assert [len(chat.feed("Anna left. ")) for _ in range(7)] == [0, 0, 0, 3, 0, 0, 3], "three sentences at once"
    assert (model.setting, tiny.model.setting) == ("k=3", "sent-inc")


@pytest.mark.parametrize("text", ["", " \n ", "\ud800", "x"])
def test_hardly_any_text(rule_resolver: Resolver, text: str) -> None:
    assert rule_resolver.resolve(text).text == text
    assert rule_resolver.resolve(text).entities == ()


def test_a_stream_is_answered_as_it_comes(rule_resolver: Resolver) -> None:
    taken: list[str] = []

    def source() -> Iterator[str | Message]:
        for item in ("Anna met", " Carl. She", " left", Message("The dog stayed.", "Rex", 5), "He"):
            taken.append(str(item))
            yield item

    updates = rule_resolver.stream(source())
    assert next(updates).text == "Anna met Carl."
    assert len(taken) == 2
    assert [(update.text, update.id) for update in updates] == [
        ("She left", None),
        ("The dog stayed.", 5),
        ("He", None),
    ]


def test_a_stream_goes_into_a_session_that_is_given(rule_resolver: Resolver) -> None:
    session = rule_resolver.session()
    session.say("Anna met Carl.")
    (update,) = rule_resolver.stream(["Carl left."], session=session)
    assert not update.mentions[0].new
    with pytest.raises(IncorefError, match="keeps its options: trace"):
        next(rule_resolver.stream([], session=session, trace=True))


async def pieces() -> AsyncIterator[str]:
    for piece in ("Anna met", " Carl. She", " left"):
        yield piece


def test_asyncio_gets_the_same_updates(rule_resolver: Resolver) -> None:
    async def collect(source: object) -> list[Update]:
        return [update async for update in rule_resolver.astream(source)]

    expected = list(rule_resolver.stream(["Anna met", " Carl. She", " left"]))
    assert asyncio.run(collect(pieces())) == expected
    assert asyncio.run(collect(["Anna met", " Carl. She", " left"])) == expected


def test_asyncio_is_not_blocked(rule_resolver: Resolver) -> None:
    waiting = threading.Event()

    def source() -> Iterator[str]:
        yield "Anna met Carl. She left. "
        assert waiting.wait(30)  # set by the loop while this thread waits
        yield "He stayed."

    async def run() -> int:
        found = 0
        async for _ in rule_resolver.astream(source()):
            found += 1
            asyncio.get_running_loop().call_soon(waiting.set)
        return found

    assert asyncio.run(run()) == 3


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_many_documents_come_back_in_order(rule_resolver: Resolver, workers: int) -> None:
    texts = ["Anna met Carl. Carl left. " * (1 + number % 3) for number in range(12)]
    found = list(rule_resolver.pipe(texts, workers=workers))
    assert [document.id for document in found] == [str(number) for number in range(12)]
    assert [(d.text, d.entities) for d in found] == [(t, rule_resolver.resolve(t).entities) for t in texts]


def test_documents_are_read_only_a_little_ahead(rule_resolver: Resolver) -> None:
    taken: list[int] = []

    def source() -> Iterator[str]:
        for number in range(1000):
            taken.append(number)
            yield "Anna left."

    documents = rule_resolver.pipe(source(), workers=2)
    next(documents)
    documents.close()
    assert len(taken) < 10


def test_a_failure_in_a_pipe_comes_out(rule_resolver: Resolver) -> None:
    with pytest.raises(IncorefError, match="no genre 'opera'"):
        list(rule_resolver.pipe(["Anna left."] * 5, workers=2, genre="opera"))
    with pytest.raises(IncorefError, match="workers is 0"):
        list(rule_resolver.pipe([], workers=0))


WRONG: dict[str, tuple[Callable[[Resolver], Any], str]] = {
    "resolve(list)": (lambda it: it.resolve(["Anna left.", "She slept."]), "pipe\\(\\) takes many texts"),
    "resolve(None)": (lambda it: it.resolve(None), "not None; stream\\(\\) takes text that is still arriving"),
    "resolve(bytes)": (lambda it: it.resolve(b"Anna"), "decode it first"),
    "stream(None)": (lambda it: it.stream(None), "stream\\(\\) takes pieces of text .* not None; resolve\\(\\)"),
    "stream(text)": (lambda it: it.stream("Anna left."), "resolve\\(\\) takes a whole text"),
    "stream([None])": (lambda it: list(it.stream([None])), "takes text or a Message, not NoneType"),
    "astream(None)": (lambda it: it.astream(None), "astream\\(\\) takes pieces"),
    "pipe(text)": (
        lambda it: it.pipe("Anna left."),
        "not str 'Anna left.'; resolve\\(\\) takes one text",
    ),
    "pipe(None)": (lambda it: it.pipe(None), "takes many texts"),
    "pipe(workers)": (lambda it: it.pipe([], workers=0), "workers is 0"),
    "pipe(option)": (lambda it: it.pipe([], colour="red"), "unknown option: colour; the options are setting"),
    "pipe(no tuples)": (lambda it: list(it.pipe(["x"], as_tuples=True)), "text 0: .* tuples of an id and a text"),
    "feed(None)": (lambda it: it.session().feed(None), "text is a string, not NoneType"),
    "say(None)": (lambda it: it.session().say(None), "text is a string, not NoneType"),
    "say(words)": (lambda it: it.session().say(["Anna"]), "text is a string, not list"),
    "read(text)": (lambda it: it.session().read("Anna left."), "read\\(\\) takes a Document, not str"),
    "session(option)": (lambda it: it.session(undo="many"), "undo is 'many'; it must be a whole number"),
    "pickle": (lambda it: pickle.dumps(it.session()), "save\\(\\) gives bytes"),
}


@pytest.mark.parametrize("call", WRONG)
def test_what_is_meant_otherwise_is_refused_with_the_way_out(rule_resolver: Resolver, call: str) -> None:
    wrong, told = WRONG[call]
    with pytest.raises(IncorefError, match=told):
        wrong(rule_resolver)


def test_ids_may_be_numbers(rule_resolver: Resolver) -> None:
    assert rule_resolver.resolve("Anna left.", id=7).id == "7"
    assert rule_resolver.session().document(7).id == "7"


@pytest.mark.parametrize("workers", [1, 3])
def test_texts_with_ids_come_back_with_them(rule_resolver: Resolver, workers: int) -> None:
    texts: list[tuple[str | int, str]] = [("a", "Anna met Carl. Carl left."), (7, "Carl left."), ("a", "")]
    found = list(rule_resolver.pipe(texts, as_tuples=True, workers=workers, singletons=True))
    assert [id for id, _ in found] == ["a", 7, "a"]
    assert [document for _, document in found] == [
        rule_resolver.resolve(text, id=id, singletons=True) for id, text in texts
    ]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_bad_text_in_a_pipe_is_named_or_handled(rule_resolver: Resolver, workers: int) -> None:
    texts: list[Any] = [(f"t{number}", None if number % 4 == 2 else "Anna left.") for number in range(10)]
    documents = rule_resolver.pipe(texts, as_tuples=True, workers=workers)
    assert [next(documents)[0], next(documents)[0]] == ["t0", "t1"]
    with pytest.raises(IncorefError, match=r"text 't2': resolve\(\) takes a string"):
        next(documents)
    told: list[tuple[Any, Any, str]] = []
    found = rule_resolver.pipe(
        texts,
        as_tuples=True,
        workers=workers,
        on_error=lambda id, text, error: told.append((id, text, type(error).__name__)),
    )
    assert [id for id, _ in found] == [f"t{number}" for number in range(10) if number % 4 != 2]
    assert told == [("t2", None, "IncorefError"), ("t6", None, "IncorefError")]


def test_an_error_of_another_kind_says_which_text_it_was(rule_resolver: Resolver) -> None:
    class Broken(RuleSplitter):
        def feed(self, pending: Any, piece: str) -> Any:
            raise KeyError(piece)

    with pytest.raises(KeyError) as raised:
        list(rule_resolver.pipe(["Anna left."], splitter=Broken()))
    assert raised.value.__notes__ == ["incoref was resolving text 0: 'Anna left.'"]


def test_sessions_can_be_copied(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session()
    chat.say("Anna met Carl.")
    for twin in (copy.copy(chat), copy.deepcopy(chat), copy.deepcopy([chat])[0], chat.copy()):
        twin.say("She left.")
        assert (twin.sentences, chat.sentences) == (2, 1)


def test_a_resolver_shows_its_model(tiny: TinyModels) -> None:
    named = incoref.load(tiny.fp32)
    assert repr(named) == f"<Resolver: {named.model.config.name}>"


@pytest.mark.parametrize("threads", [0, -1, 1.5, None, True])
def test_a_model_needs_threads(tiny: TinyModels, threads: Any) -> None:
    with pytest.raises(IncorefError, match=f"threads is {threads}"):
        incoref.load(tiny.fp32, threads=threads)


def test_packages_are_there_without_an_import_of_their_own() -> None:
    """In a fresh process, in which nothing else has imported them."""
    code = (
        "import incoref; print('conllu' in incoref.corpora.FORMATS, incoref.outputs.schema('resolve')['type'], "
        "'corpora' in dir(incoref), incoref.text.split('Anna left.')[0].end)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "object", "True", "10"]


def test_load_takes_a_folder(tiny: TinyModels, tmp_path: Path) -> None:
    assert incoref.load(tiny.int8).resolve("Anna met Carl.").text == "Anna met Carl."
    assert isinstance(incoref.load(str(tiny.fp32)), incoref.Resolver)
    with pytest.raises(IncorefError, match="no such model folder"):
        incoref.load(tmp_path / "none")


def test_gold_annotation_is_not_copied_into_the_answer(tiny: TinyModels) -> None:
    text = document_of_utterances(random_utterances(2, seed=3))
    first, *others = text.sentences
    word = first.tokens[0]._replace(attributes=(("lemma", "x"), ("BRIDGING", "(MarkableID=m1)")))
    annotated = replace(
        text,
        sentences=(replace(first, tokens=(word, *first.tokens[1:])), *others),
        attributes=(("non-referring", "0:1:EntityID=1-Pseudo|MarkableID=m1"), ("part", "1")),
    )
    answer = Resolver(tiny.model).resolve(annotated)
    assert answer.attributes == (("part", "1"),)
    assert answer.tokens[0].attributes == (("lemma", "x"),)
