"""The JSON that programs get has the layouts that are promised."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.outputs.jsonable import document_json, json_line, update_json
from incoref.resolver import Resolver
from rule_model import CONFIDENCE, MENTION_CONFIDENCE


def test_a_document(rule_resolver: Resolver) -> None:
    document = rule_resolver.resolve("Anna left. She ran.", id="d")
    first, second = (
        {
            "start": start,
            "end": end,
            "text": text,
            "sentence": sentence,
            "confidence": pytest.approx(CONFIDENCE),
            "mention_confidence": MENTION_CONFIDENCE,
        }
        for start, end, text, sentence in ((0, 4, "Anna", 0), (11, 14, "She", 1))
    )
    layout = {
        "text": "Anna left. She ran.",
        "sentences": [{"start": 0, "end": 10, "speaker": None}, {"start": 11, "end": 19, "speaker": None}],
        "entities": [{"id": "1", "name": "Anna", "type": document.entities[0].type, "mentions": [first, second]}],
    }
    assert document_json(document) == layout
    assert document_json(document, with_id=True) == {"id": "d", **layout}


def test_an_update(rule_resolver: Resolver) -> None:
    (update,) = rule_resolver.session().say("Anna left.", "Carl", 7)
    found = update_json(update)
    assert found.pop("elapsed_ms") >= 0
    assert found == {
        "sentence": 0,
        "text": "Anna left.",
        "start": 0,
        "end": 10,
        "speaker": "Carl",
        "id": 7,
        "mentions": [
            {
                "start": 0,
                "end": 4,
                "text": "Anna",
                "entity": "1",
                "new": True,
                "confidence": pytest.approx(CONFIDENCE),
                "mention_confidence": MENTION_CONFIDENCE,
            }
        ],
    }


def test_optional_fields_are_there_when_they_are_known(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(runners_up=1)
    chat.introduce("Anna Kern", speaker="anna")
    chat.say("I met Carl.", "anna")
    anna, carl = document_json(chat.document(singletons=True))["entities"]
    assert anna["speaker"] == "anna"
    assert "speaker" not in carl
    assert carl["mentions"][0]["runners_up"][0]["entity"] == anna["id"]


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_one_line_that_can_be_encoded_and_read_back(text: str) -> None:
    line = json_line({"text": text})
    assert "\n" not in line
    assert json.loads(line.encode().decode())["text"] == text.encode("utf-16", "surrogatepass").decode(
        "utf-16", "surrogatepass"
    )
