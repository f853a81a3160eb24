"""The commands in reports exist and take the options given; every analysis is documented."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from incoref.analysis.paper import figures
from incoref.analysis.report import read_plan
from incoref.cli import app

ROOT = Path(__file__).resolve().parents[3]
PLANS = [ROOT / "configs" / "results.toml", ROOT / "configs" / "reproduce-paper" / "report.toml"]
PAGE = ROOT / "docs" / "analyses.md"


COMMANDS = sorted({planned.command for plan in PLANS for planned in read_plan(plan).analyses})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_can_be_parsed(command: str) -> None:
    words = shlex.split(command)[1:]
    found = typer.main.get_command(app)
    while hasattr(found, "commands"):
        found = found.commands[words.pop(0)]
    found.make_context(command, words)


def test_every_analysis_is_documented() -> None:
    commands = typer.main.get_command(app).commands["analyse"].commands  # type: ignore[attr-defined]
    headings = re.findall(r"^## ([\w-]+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(commands) <= set(headings)


def test_the_papers_figures_are_whole() -> None:
    quoted = figures()
    assert "Grenander" in quoted["source"]
    k = quoted["k_sentence"]
    assert all(len(values) == len(k["k"]) for of in ("coreference", "mention_detection") for values in k[of].values())
    partition = quoted["partition"]
    for of in ("conll_recall", "mention_recall"):
        assert all(len(values) == len(partition["size"]) for values in partition[of].values())
    for entry in quoted["ontonotes_test"]["rows"]:
        assert sum(entry["figures"][place] for place in (2, 5, 8)) / 3 == pytest.approx(entry["figures"][9], abs=0.11)
