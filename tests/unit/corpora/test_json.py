"""JSON lines: of span-ranking systems and of our own values."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from incoref import corpora
from incoref.corpora import jsonlines, native
from incoref.corpora.losses import Losses
from incoref.errors import FormatError
from incoref.types import Document, RunnerUp

DATA = {
    "doc_key": "nw/a_0",
    "sentences": [["Ann", "saw", "her", "dog"], ["It", "barked"]],
    "speakers": [["Bob", "Bob", "Bob", "Bob"], ["-", "-"]],
    "clusters": [[[2, 3], [4, 4]], [[0, 0], [2, 2]], [[5, 5]]],
}
FERRY = Path(__file__).resolve().parents[3] / "examples" / "formats" / "ferry.conllu"


def line(**changes: object) -> str:
    return json.dumps({**DATA, **changes})


def test_ends_are_inclusive_in_the_file_and_exclusive_in_the_value() -> None:
    (document,) = jsonlines.read(line(), "file")
    assert document.text == "Ann saw her dog\nIt barked"
    assert [[m.text for m in e.mentions] for e in document.entities] == [
        ["Ann", "her"],
        ["her dog", "It"],
        ["barked"],
    ]
    assert [e.id for e in document.entities] == ["1", "0", "2"]
    assert [sentence.speaker for sentence in document.sentences] == ["Bob", None]
    assert document.genre == "nw"


def test_other_keys_are_kept() -> None:
    (document,) = jsonlines.read(line(ner=[[0, 0, "PER"]], source="web", count=3), "file")
    assert dict(document.attributes) == {"ner": '[[0, 0, "PER"]]', "source": "web", "count": "3"}
    text = "".join(jsonlines.write([document], Losses()))
    assert json.loads(text)["ner"] == [[0, 0, "PER"]]
    (again,) = jsonlines.read(text, "file")
    assert again.attributes == document.attributes


def test_speakers_may_be_missing_or_change_within_a_sentence() -> None:
    (document,) = jsonlines.read(line(speakers=None), "file")
    assert {sentence.speaker for sentence in document.sentences} == {None}
    mixed = [["Bob", "Eve", "-", "Bob"], ["-", "-"]]
    (document,) = jsonlines.read(line(speakers=mixed), "file")
    assert json.loads("".join(jsonlines.write([document], Losses())))["speakers"] == mixed


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        line(doc_key=None),
        line(sentences="Ann"),
        line(sentences=[["Ann", 1]]),
        line(speakers=[["Bob"]]),
        line(clusters=[[[0, 9]]]),
        line(clusters=[[[3, 2]]]),
        line(clusters=[[[0]]]),
        line(clusters=[[["0", "1"]]]),
        line(clusters=[0]),
        line(clusters={}),
    ],
)
def test_errors_say_where(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(jsonlines.read(f"{line()}\n{text}\n", "file"))
    assert caught.value.line == 2


def test_our_own_lines_lose_nothing() -> None:
    (document,) = corpora.read(FERRY)
    mention = document.entities[0].mentions[0]
    predicted = replace(mention, confidence=0.5, new=True, runners_up=(RunnerUp("2", 0.25), RunnerUp(None, 0.25)))
    entity = replace(document.entities[0], mentions=(predicted,), name="the daughter", speaker="Eve")
    changed = replace(document, entities=(entity, *document.entities[1:]))
    losses = Losses()
    assert list(native.read("".join(native.write([changed], losses)), "file")) == [changed]
    assert not losses.report()
    list(jsonlines.write([changed], losses))
    lost = {loss.what for loss in losses.report()}
    assert {"entity names", "confidences", "entity speakers"} <= lost


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "Something else"},
        {"id": 7},
        {"sentences": 7},
        {"sentences": [{"start": 0, "end": 3, "tokens": [["The", 0, 3]], "token_attributes": [["a", [1]]]}]},
        {"sentences": [{"start": 0, "end": 3, "tokens": [["The", 0, 3]], "token_attributes": [[1, ["a"]]]}]},
        {"sentences": [{"start": 0, "end": 3, "tokens": [["The", 0, 3]], "token_attributes": [["a", ["b", "c"]]]}]},
        {"sentences": [{"start": 0, "end": 3, "tokens": [["The", 0, 3, "more"]]}]},
        {"sentences": [{"start": 0, "end": 3, "tokens": [["The", -92, -89]]}]},
        {
            "entities": [
                {"id": "1", "mentions": [{"start": 0, "end": 3, "text": "The", "tokens": [0, 99], "entity": "1"}]}
            ]
        },
        {"genre": 7},
    ],
)
def test_our_own_lines_are_checked(changes: dict[str, object]) -> None:
    (document,) = corpora.read(FERRY)
    with pytest.raises(FormatError):
        list(native.read(json.dumps({**document.to_json(), **changes}), "file"))


def test_a_document_without_annotation() -> None:
    document = Document("empty", "", ())
    assert list(native.read("".join(native.write([document], Losses())), "file")) == [document]
    assert list(jsonlines.read("".join(jsonlines.write([document], Losses())), "file")) == [document]
