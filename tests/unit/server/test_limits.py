"""The documentation's table of limits, and what a limit may be."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from incoref.errors import IncorefError
from incoref.server.limits import Limits

PAGE = Path(__file__).parents[3] / "docs" / "server.md"


def test_the_documentation_lists_every_limit_with_its_default() -> None:
    section = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    table = next(part for part in section if part.startswith("Limits"))
    documented = dict(re.findall(r"^\| `(\w+)` \| ([\d,]+|half of the machine's) \|", table, re.MULTILINE))
    limits = Limits()
    expected = {field.name: f"{getattr(limits, field.name):,}" for field in fields(limits)}
    assert documented == {**expected, "memory": "half of the machine's"}


def test_a_limit_is_more_than_nothing() -> None:
    with pytest.raises(IncorefError, match="the limit text is 0"):
        Limits(text=0)
