"""What rows say, and what is written of them."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from incoref.batch.answers import BadRow, Columns, Resolved, Row, parsed, resolved
from incoref.batch.sources import Raw
from incoref.errors import IncorefError
from incoref.resolver import Resolver
from incoref.session.updates import Message

COLUMNS = Columns("body", "key", "who")


def raw(value: Any, place: str = "f.jsonl:1") -> Raw:
    value = value if isinstance(value, bytes | dict) else json.dumps(value).encode()
    return Raw(place, value, 1, 1)


def test_a_text_and_what_else_there_is() -> None:
    row = parsed(raw({"key": 7, "body": "Anna left.", "lang": "en", "n": [1]}), COLUMNS)
    assert row == Row(7, "f.jsonl:1", "Anna left.", {"lang": "en", "n": [1]})


def test_a_row_without_an_id_is_called_by_its_place() -> None:
    row = parsed(raw({"body": "Anna left.", "key": None}), COLUMNS)
    assert isinstance(row, Row)
    assert row.id == "f.jsonl:1"


def test_turns_with_their_speakers() -> None:
    row = parsed(raw({"key": "a", "body": ["Hello.", "I left."], "who": ["Anna", None]}), COLUMNS)
    assert isinstance(row, Row)
    assert row.text == [Message("Hello.", "Anna"), Message("I left.", None)]
    row = parsed(raw({"key": "a", "body": "I left.", "who": "Anna"}), COLUMNS)
    assert isinstance(row, Row)
    assert row.text == [Message("I left.", "Anna")]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"{", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"body": NaN}', "NaN is no number"),
        ([1], "a row is a JSON object, not list"),
        ({"key": "a"}, "no column 'body'; it has key"),
        ({"key": "a", "body": None}, "neither a string nor a list of strings, but null"),
        ({"key": "a", "body": ["x", 3]}, "neither a string nor a list"),
        ({"key": [1], "body": "x"}, "its id in 'key'"),
        ({"key": True, "body": "x"}, "its id in 'key'"),
        ({"key": "a", "body": ["x", "y"], "who": ["Anna"]}, "must have one speaker for each of the 2 turns"),
        ({"key": "a", "body": ["x"], "who": [4]}, "speakers that aren't strings"),
        ({"key": "a", "body": "x", "who": 4}, "the speaker of a text is a string"),
    ],
)
def test_a_row_that_is_no_document_says_why(value: Any, reason: str) -> None:
    row = parsed(raw(value), COLUMNS)
    assert isinstance(row, BadRow)
    assert reason in row.reason


def test_answers_come_in_the_order_of_rows_bad_ones_in_their_places(rule_resolver: Resolver) -> None:
    rows = [raw({"key": n, "body": "Anna met Carl. She left." if n % 3 else 5}, f"f:{n}") for n in range(10)]
    found = list(resolved(rule_resolver, rows, COLUMNS, singletons=False, options={}))
    assert [one.place if isinstance(one, BadRow) else one.row.place for one in found] == [f"f:{n}" for n in range(10)]
    assert [isinstance(one, BadRow) for one in found] == [n % 3 == 0 for n in range(10)]


def test_the_chosen_fields_and_the_other_columns(rule_resolver: Resolver) -> None:
    row = {
        "key": "a",
        "body": "Anna left.",
        "day": date(2020, 1, 2),
        "raw": b"\x00",
        "entities": 1,
        "x": float("inf"),
    }
    (found,) = resolved(rule_resolver, [raw(row)], COLUMNS, singletons=True, options={})
    assert isinstance(found, Resolved)
    answer = found.to_json(("entities", "resolved"))
    assert list(answer) == ["id", "entities", "resolved", "day", "raw", "x"]
    assert answer["entities"][0]["name"] == "Anna"
    assert (answer["day"], answer["raw"], answer["x"]) == ("2020-01-02", "AA==", None)
    json.dumps(answer, allow_nan=False)


def test_columns_have_names_of_their_own() -> None:
    with pytest.raises(IncorefError, match="columns of their own"):
        Columns("text", "text")
