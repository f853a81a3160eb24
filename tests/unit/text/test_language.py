"""A warning for text that is hardly English, and none for short English chat."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref import corpora
from incoref.text.language import Evidence

FOREIGN = {
    "German": "Anna rief gestern ihren Bruder an, weil sie den letzten Zug verpasst hatte. Er war in der Stadt.",
    "Dutch": "Anna belde gisteren haar broer omdat ze de laatste trein had gemist. Hij was in de stad en wilde haar.",
    "French": "Anna a appelé son frère hier parce qu'elle avait manqué le dernier train. On ne sait jamais.",
    "Spanish": "Anna llamó ayer a su hermano porque había perdido el último tren. No me lo puedo creer, he perdido.",
    "Polish": "Anna zadzwoniła wczoraj do brata, bo spóźniła się na ostatni pociąg. Był w mieście i chciał odebrać.",
    "Danish": "Anna ringede til sin bror i går, fordi hun havde misset det sidste tog. Han var i byen og ville.",
    "Russian": "Анна позвонила брату.",
    "Chinese": "安娜给弟弟打电话。",
    "Arabic": "اتصلت آنا بأخيها أمس.",
    "Greek": "Η Άννα τηλεφώνησε.",
}
CHAT = (
    "ok",
    "lol",
    "hey Anna u there",
    "call Ben",
    "Play Gymnopédie No. 1 by Erik Satie",
    "brb",
    "Anna Kern, Ben Kern, Carol",
    "Nope.",
    "where r u",
    "so good",
    "¿qué?",
    "👍👍👍",
    "Don't know, he's late again and we're still waiting at Łódź Fabryczna station for the café to open.",
)


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_other_languages(text: str) -> None:
    assert Evidence().with_text(text).hardly_english


@pytest.mark.parametrize("text", ["", "...", "12345 67", *CHAT])
def test_english_chat_and_little_text(text: str) -> None:
    assert not Evidence().with_text(text).hardly_english


@given(st.lists(st.text()))
def test_texts_add_up(texts: list[str]) -> None:
    evidence = Evidence()
    for text in texts:
        evidence = evidence.with_text(text)
    assert evidence == Evidence().with_text("\n".join(texts))
    assert evidence.latin <= evidence.letters
    assert evidence.small <= evidence.words


def test_dialogues_with_an_assistant(shared: Path) -> None:
    """Short English conversations: one in a thousand may be a list of names and little else."""
    documents = list(corpora.read(shared / "corpora" / "mudoco"))
    warned = [document.id for document in documents if Evidence().with_text(document.text).hardly_english]
    assert len(warned) <= len(documents) / 1000


def test_of_a_text_that_goes_on_more_is_asked() -> None:
    names = Evidence().with_text("Anna Maria Kern, President, Vice President International Widgets, Berlin. " * 2)
    assert names.hardly_english and not names.hardly_english_so_far
    german = Evidence().with_text("Der Mann ging mit seiner Frau durch die Stadt, und alle lachten laut. " * 3)
    assert german.hardly_english_so_far
    assert Evidence().with_text("Привет, как дела?").hardly_english_so_far
    text = "The man went through the city with his wife, and they all laughed. "
    evidence = Evidence()
    for _ in range(20):
        evidence = evidence.with_text(text)
        assert not evidence.hardly_english_so_far
