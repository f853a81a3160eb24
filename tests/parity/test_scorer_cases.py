"""The scorer against what the CoNLL-2012 reference scorer prints for its own test suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from incoref import corpora
from incoref.cli import app
from incoref.evaluation.metrics import Scorer

IDS = (
    *(f"A{n}" for n in range(1, 14)),
    *(f"{letter}1" for letter in "BCDEFGHIJKL"),
    *(f"{letter}{n}" for letter in "MN" for n in range(1, 7)),
)
NAMES = {"muc": "muc", "bcub": "b3", "ceafm": "ceafm", "ceafe": "ceafe", "blanc": "blanc", "mentions": "mentions"}


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "scorer-cases"


@pytest.fixture(scope="module")
def cases(folder: Path) -> dict[str, dict[str, Any]]:
    return {case["id"]: case for case in json.loads((folder / "expected.json").read_text())["cases"]}


def assert_agrees(figures: dict[str, dict[str, float]], expected: dict[str, list[float]]) -> None:
    assert set(expected) == set(NAMES)
    for name, rounded_down in expected.items():
        ours = [figures[NAMES[name]][part] for part in ("recall", "precision", "f1")]
        for figure, printed in zip(ours, rounded_down, strict=True):
            assert printed - 1e-6 <= figure < printed + 0.01 + 1e-6, (name, ours, rounded_down)


def test_all_cases_are_listed(cases: dict[str, dict[str, Any]]) -> None:
    assert list(cases) == list(IDS)


@pytest.mark.parametrize("id", IDS)
def test_agrees_with_the_reference_scorer(folder: Path, cases: dict[str, dict[str, Any]], id: str) -> None:
    case = cases[id]
    scorer = Scorer()
    for key, response in zip(
        corpora.read(folder / case["key"]), corpora.read(folder / case["response"]), strict=True
    ):
        scorer.add_documents(key, response)
    assert_agrees(scorer.result().to_json(), case["expected"])


def test_the_command_prints_the_same(folder: Path, cases: dict[str, dict[str, Any]]) -> None:
    case = cases["A6"]
    printed = CliRunner().invoke(app, ["score", str(folder / case["key"]), str(folder / case["response"]), "--json"])
    assert printed.exit_code == 0
    assert_agrees(json.loads(printed.stdout), case["expected"])
