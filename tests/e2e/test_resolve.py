"""``incoref resolve`` and the model that comes with the package, as a user meets them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import incoref
from incoref.model.selftest import check

STORY = Path(__file__).resolve().parents[2] / "examples" / "story.txt"


def run(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "incoref", *arguments], input=text, capture_output=True, check=False)


def test_the_packaged_model_gives_what_it_gave_when_it_was_made() -> None:
    assert check(incoref.load().model) > 0


def test_json_has_exact_offsets_into_the_file() -> None:
    done = run("resolve", str(STORY), "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["text"] == STORY.read_text(encoding="utf-8")
    mentions = [mention for entity in found["entities"] for mention in entity["mentions"]]
    assert mentions
    assert all(found["text"][m["start"] : m["end"]] == m["text"] for m in mentions)
    assert all(len(entity["mentions"]) > 1 for entity in found["entities"])


def test_pronouns_are_linked_to_names() -> None:
    found = json.loads(run("resolve", "-f", "json", text=b"Anna called Ben. She asked him to wait.").stdout)
    assert {e["name"]: [m["text"] for m in e["mentions"]] for e in found["entities"]} == {
        "Anna": ["Anna", "She"],
        "Ben": ["Ben", "him"],
    }


def test_resolved_text() -> None:
    done = run("resolve", "-f", "resolved", text=b"Anna lost her keys. She was late.")
    assert done.stdout.decode().strip() == "Anna lost Anna's keys. Anna was late."


@pytest.mark.parametrize("text", [b"", b" \n\t ", "\u200b".encode()])
def test_nothing_to_read_is_no_error(text: bytes) -> None:
    done = run("resolve", "-f", "json", text=text)
    assert done.returncode == 0
    assert json.loads(done.stdout)["entities"] == []


@pytest.mark.parametrize(
    ("arguments", "text", "fault"),
    [
        (("resolve",), b"caf\xe9", b"standard input:1: not UTF-8 at byte 3"),
        (("resolve", "no-such-file.txt"), b"", b"no-such-file.txt: No such file"),
        (("resolve", "--setting", "k=0"), b"", b"k=0"),
        (("resolve", "--model", "no-such-model"), b"", b"no such model folder"),
    ],
)
def test_errors_are_one_line_and_exit_code_1(arguments: tuple[str, ...], text: bytes, fault: bytes) -> None:
    done = run(*arguments, text=text)
    assert done.returncode == 1
    assert fault in done.stderr
    assert done.stderr.count(b"\n") == 1
