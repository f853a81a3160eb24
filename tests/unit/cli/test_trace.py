"""``incoref trace``, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from incoref.cli import app
from tiny_models import TinyModels


@pytest.fixture(scope="module")
def model(tiny: TinyModels) -> str:
    return str(tiny.fp32)


def test_the_table_has_a_row_a_step(model: str) -> None:
    text = "the dog saw Anna. she met Carl."
    found = json.loads(CliRunner().invoke(app, ["trace", text, "--json", "--model", model]).stdout)
    table = CliRunner().invoke(app, ["trace", text, "--model", model]).stdout
    assert found["text"] == text
    rows = [line.split() for line in table.splitlines() if line.strip() and not line.startswith("step")]
    assert [(row[0], row[1]) for row in rows if row[0].isdecimal()] == [
        (str(step["step"]), step["action"]) for step in found["steps"]
    ]
    assert table.count("step  action") == 2
    assert not any(line.endswith(" ") for line in table.splitlines())


@pytest.mark.parametrize("text", ["", " ", "Anna", "\x1b[2J[bold]x[/bold]", "x" * 3000])
def test_hard_input(model: str, text: str) -> None:
    done = CliRunner().invoke(app, ["trace", "-", "--model", model], input=text.encode())
    assert done.exit_code == 0, done.exception
    assert "\x1b" not in done.stdout


def test_an_argument_that_is_no_utf8(model: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["trace", "caf\udce9", "--model", model])
    assert "TEXT is not UTF-8" in str(done.exception)
