"""What the commands print is what their schemas say; and the shell can complete their options."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import jsonschema_rs
import pytest
from typer.testing import CliRunner

from incoref.cli import app
from incoref.outputs.schemas import NAMES, schema
from tiny_models import TinyModels, random_document

TEXT = random_document(14, seed=8).text


def printed(tiny: TinyModels, command: str, *arguments: str, text: str = TEXT) -> list[object]:
    done = CliRunner().invoke(app, [command, *arguments, "--model", str(tiny.fp32)], input=text.encode())
    assert done.exit_code == 0, done.exception
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(name: str, values: list[object]) -> None:
    validator = jsonschema_rs.validator_for(schema(name))
    assert values
    for value in values:
        validator.validate(value)


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_printed_and_valid(name: str) -> None:
    shown = json.loads(CliRunner().invoke(app, ["schema", name]).stdout)
    assert shown == schema(name)
    jsonschema_rs.meta.validate(shown)


@pytest.mark.parametrize("arguments", [("-f", "json"), ("-f", "jsonl", "--singletons", "--runners-up", "3")])
def test_resolve(tiny: TinyModels, arguments: tuple[str, ...]) -> None:
    check("resolve", printed(tiny, "resolve", *arguments))
    check("resolve", printed(tiny, "resolve", *arguments, text="Ines: I saw Carl.\nOmar: You saw me."))
    check("resolve", printed(tiny, "resolve", *arguments, text=""))


@pytest.mark.parametrize(
    "arguments", [(), ("--trace", "--runners-up", "2", "--max-entities", "2", "--setting", "k=2")]
)
def test_stream(tiny: TinyModels, arguments: tuple[str, ...]) -> None:
    check("stream", printed(tiny, "stream", *arguments))
    messages = [{"text": "I saw the old dog.", "speaker": "Ines", "id": 1, "time": 2.5}, {"text": "the man " * 300}]
    check("stream", printed(tiny, "stream", *arguments, text="\n".join(map(json.dumps, messages))))


def test_trace(tiny: TinyModels) -> None:
    check("trace", printed(tiny, "trace", "-", "--json"))


def test_what_no_schema_allows() -> None:
    for name in NAMES:
        assert not jsonschema_rs.is_valid(schema(name), {})
        assert not jsonschema_rs.is_valid(schema(name), {"text": "x"})


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("incoref st", "stream"),
        ("incoref resolve --form", "--format"),
        ("incoref resolve --format con", "conllua"),
        ("incoref schema ", "trace"),
    ],
)
def test_the_shell_completes(typed: str, offered: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" ")), "_INCOREF_COMPLETE": "complete_bash"}
    program = "import sys; sys.argv = ['incoref']; from incoref.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **words}, capture_output=True, text=True, check=False
    )
    assert offered in done.stdout.split()


@pytest.mark.parametrize("command", ["resolve", "stream", "trace", "schema"])
def test_help_has_examples(command: str) -> None:
    shown = CliRunner().invoke(app, [command, "--help"]).stdout
    assert "Example" in shown
    assert f"incoref {command} " in shown
