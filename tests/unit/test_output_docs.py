"""docs/outputs.md describes the output as it is: its fields, its formats, its examples, its commands."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from typer.testing import CliRunner

from incoref.cli import app
from incoref.outputs import OutputFormat, schema
from tiny_models import TinyModels

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "outputs.md").read_text(encoding="utf-8")
SECTIONS = {
    name: PAGE.split(f"\n## `incoref {name}`\n")[1].split("\n## ")[0] for name in ("resolve", "stream", "trace")
}


def fields_of(name: str) -> set[str]:
    """All names of fields in a schema, but for those of mentions that another section describes."""

    def names(part: Any) -> set[str]:
        if isinstance(part, list):
            return set().union(*map(names, part))
        if not isinstance(part, dict):
            return set()
        return set(part.get("properties", ())).union(*map(names, part.values()))

    return names(schema(name))


@pytest.mark.parametrize("name", SECTIONS)
def test_every_field_is_described(name: str) -> None:
    described = set(re.findall(r"`(\w+)`", SECTIONS[name]))
    if name == "trace":
        described |= set(re.findall(r"`(\w+)`", SECTIONS["resolve"] + SECTIONS["stream"])) | {"steps"}
    assert fields_of(name) <= described


def test_every_format_is_described() -> None:
    assert re.findall(r"^\| `(\w+)` \|", SECTIONS["resolve"].split("| `--format` |")[1].split("\n\n")[0], re.M) == [
        format.value for format in OutputFormat
    ]


@pytest.mark.parametrize("name", SECTIONS)
def test_examples_follow_the_schema(name: str) -> None:
    examples = re.findall(rf"^```json {name}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert examples
    for example in map(json.loads, examples):
        jsonschema_rs.validate(schema(name), example)
        mentions = [*example.get("mentions", ()), *(m for e in example.get("entities", ()) for m in e["mentions"])]
        for part in (*mentions, *(step["mention"] for step in example.get("steps", ()) if step["mention"])):
            assert example["text"][part["start"] : part["end"]] == part["text"]


COMMANDS: list[str] = re.findall(r"^\$ (incoref .*)", PAGE, flags=re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str, tiny: TinyModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("meeting.txt", "meeting.vtt", "turns.jsonl"):
        shutil.copy(ROOT / "examples" / "formats" / name, tmp_path)
    shutil.copy(ROOT / "examples" / "story.txt", tmp_path)
    shutil.copy(ROOT / "examples" / "story.txt", tmp_path / "lines.txt")
    monkeypatch.chdir(tmp_path)
    _, *arguments = shlex.split(command)
    source = None
    if "<" in arguments:
        arguments, source = arguments[: arguments.index("<")], arguments[-1]
    text = Path(source).read_bytes() if source else b""
    done = CliRunner().invoke(app, [*arguments, "--model", str(tiny.fp32)], input=text)
    assert done.exit_code == 0, done.exception
    assert done.stdout or "-o" in arguments
