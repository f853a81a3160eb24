"""What a session can be told, and what makes no sense."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest

from incoref.errors import IncorefError
from incoref.options import OptionKeywords, SessionOptions, block_size


@pytest.mark.parametrize(("setting", "size"), [("sent-inc", 1), ("k=1", 1), ("k=24", 24), ("part-inc", None)])
def test_settings(setting: str, size: int | None) -> None:
    assert block_size(setting) == size
    assert SessionOptions(setting=setting).setting == setting


@pytest.mark.parametrize("setting", ["", "k=0", "k=-1", "k=x", "sentence", "k=1 "])
def test_unknown_settings_are_refused(setting: str) -> None:
    with pytest.raises(IncorefError, match="choose sent-inc, k=N or part-inc"):
        SessionOptions(setting=setting)


def test_keywords_are_the_options() -> None:
    assert get_type_hints(OptionKeywords) == get_type_hints(SessionOptions)
    assert list(OptionKeywords.__annotations__) == list(SessionOptions.__dataclass_fields__)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"undo": "3"}, "undo is '3'; it must be a whole number"),
        ({"trace": 1}, "trace is 1; it must be True or False"),
        ({"undo": True}, "undo is True; it must be a whole number"),
        ({"history": 1.5}, "history is 1.5; it must be a whole number or None"),
        ({"genre": None}, "genre is None; it must be a string"),
    ],
)
def test_values_of_another_kind_are_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(IncorefError, match=told):
        SessionOptions(**wrong)
