"""``incoref stream``: which lines it takes and what it answers. That it does so at once: see the end-to-end tests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from incoref.cli import app
from tiny_models import TinyModels

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "formats"


class Tool:
    def __init__(self, model: Path) -> None:
        self._model = model

    def __call__(self, text: str | bytes, *arguments: str) -> Result:
        data = text if isinstance(text, bytes) else text.encode()
        return CliRunner().invoke(app, ["stream", *arguments, "--model", str(self._model)], input=data)

    def updates(self, text: str, *arguments: str) -> list[dict[str, Any]]:
        done = self(text, *arguments)
        assert done.exit_code == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def tool(tiny: TinyModels) -> Tool:
    return Tool(tiny.fp32)


def test_a_line_is_an_utterance(tool: Tool) -> None:
    found = tool.updates("Anna left. She ran\n\n{away.\n")
    assert [(u["sentence"], u["start"], u["text"]) for u in found] == [
        (0, 0, "Anna left."),
        (1, 11, "She ran"),
        (2, 19, "{away."),
    ]


def test_lines_can_run_on(tool: Tool) -> None:
    found = tool.updates("Anna left. She ran\naway from the old\n", "--running")
    assert [update["text"] for update in found] == ["Anna left.", "She ran\naway from the old"]


def test_lines_can_have_speakers(tool: Tool) -> None:
    found = tool.updates("Ines: I saw Carl.\nand Anna.\nOmar: When?\n", "--speakers")
    assert [(update["speaker"], update["text"]) for update in found] == [
        ("Ines", "I saw Carl."),
        ("Ines", "and Anna."),
        ("Omar", "When?"),
    ]
    assert tool("x", "--speakers", "--running").exit_code == 2


def test_messages_come_back_with_what_was_given(tool: Tool) -> None:
    lines = [{"text": "Anna left.", "speaker": "Ines", "id": 1.5, "time": 3}, {"text": "", "id": "x"}, {"text": "Oh"}]
    found = tool.updates("\n".join(map(json.dumps, lines)))
    assert [(update["speaker"], update["id"], update.get("time")) for update in found] == [
        ("Ines", 1.5, 3),
        (None, None, None),
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "not JSON"),
        ("[]", "a JSON object"),
        ("plain", "not JSON, although the first line is"),
        ('{"text": null}', 'string "text"'),
        ('{"text": "x", "speaker": 1.5}', '"speaker" is neither a string nor a whole number'),
        ('{"text": "x", "id": []}', '"id" is neither a string nor a number'),
        ('{"text": "x", "time": true}', '"time" is neither'),
    ],
)
def test_faults_name_the_line(tool: Tool, line: str, fault: str) -> None:
    done = tool('\ufeff{"text": "Anna."}\n' + line)
    assert done.exit_code == 1
    assert str(done.exception).startswith("standard input:2: ")
    assert fault in str(done.exception)
    assert len(done.stdout.splitlines()) == 1


def test_bytes_that_are_no_utf8(tool: Tool) -> None:
    done = tool(b"Anna left.\ncaf\xe9\n")
    assert "standard input:2: not UTF-8 at byte 3" in str(done.exception)


@pytest.mark.parametrize(
    "name",
    ["whatsapp.txt", "slack.json", "discord.json", "messages.json", "whisper.json", "meeting.ass", "meeting.srt",
     "meeting.vtt", "mail.mbox", "mail.eml"],
)  # fmt: skip
def test_exports_are_read_turn_by_turn(tool: Tool, name: str) -> None:
    done = tool((EXAMPLES / name).read_bytes())
    assert done.exit_code == 0, done.exception
    updates = [json.loads(line) for line in done.stdout.splitlines()]
    assert {update["speaker"].title() for update in updates} == {"Ines", "Omar"}
    assert len(updates) == 5
    assert "standard input: read as " in done.stderr


def test_times_and_ids_of_messages_come_back(tool: Tool) -> None:
    first, *_ = tool.updates((EXAMPLES / "discord.json").read_text("utf-8"))
    assert (first["id"], first["time"]) == ("101", "2026-05-03T10:01:00+00:00")
    first, *_ = tool.updates((EXAMPLES / "meeting.vtt").read_text("utf-8"))
    assert first["time"] == "00:01.000 --> 00:05.000"


def test_lines_can_be_messages_with_roles(tool: Tool) -> None:
    lines = [
        {"role": "user", "content": "Who left?"},
        {"role": "tool", "content": "x"},
        {"role": "a", "content": "Ann."},
    ]
    found = tool.updates("\n".join(map(json.dumps, lines)))
    assert [(update["speaker"], update["text"]) for update in found] == [("user", "Who left?"), ("a", "Ann.")]


def test_lines_that_are_turns_are_read_as_turns_from_the_first_on(tool: Tool) -> None:
    text = "Weekly meeting\n\n- Ines: I saw Carl.\n- Omar: When?\nand where?\n- Ines: Today. One thing: he left.\n"
    expected = [
        (None, "Weekly meeting"),
        ("Ines", "I saw Carl."),
        ("Omar", "When?"),
        ("Omar", "and where?"),
        ("Ines", "Today."),
        ("Ines", "One thing: he left."),
    ]
    assert [(update["speaker"], update["text"]) for update in tool.updates(text)] == expected
    assert tool(text).stderr.count("--no-speakers reads them as they are") == 1
    assert tool(text, "--speakers").stderr == ""
    done = tool(text, "--no-speakers")
    assert '"text": "- Omar: When?"' in done.stdout
    assert done.stderr == ""
    timed = "Ines  0:03\nI saw Carl.\n\nOmar  0:05\nWhen?\n"
    assert [(update["speaker"], update["text"]) for update in tool.updates(timed)] == expected[1:3]


@pytest.mark.parametrize(
    "text",
    [
        "He left. She ran.\nHe had one wish: peace.\n",
        "Anna left.\nOmar: he did too.\n",
        "Note: it is late.\nShe ran.\n",
    ],
)
def test_other_lines_with_colons_are_no_turns(tool: Tool, text: str) -> None:
    done = tool(text)
    assert '"speaker": "' not in done.stdout
    assert done.stderr == ""


def test_compressed_input(tool: Tool) -> None:
    text = "Ines: I saw Carl.\nOmar: When?\n"
    for data, arguments in (
        (gzip.compress(text.encode()), ()),
        (gzip.compress("Ines: Café.\n".encode("latin-1")), ("--encoding", "latin-1")),
    ):
        updates = [json.loads(line) for line in tool(data, *arguments).stdout.splitlines()]
        assert updates[0]["speaker"] == "Ines"
    assert "damaged or cut off" in str(tool(gzip.compress(text.encode())[:-9]).exception)


def test_formats_and_encodings_can_be_named(tool: Tool) -> None:
    text = "Ines: Café.\nOmar: When?\n"
    found = [json.loads(line) for line in tool(text.encode("utf-16"), "--encoding", "utf-16").stdout.splitlines()]
    assert [found[0]["speaker"], found[0]["text"]] == ["Ines", "Café."]
    assert [update["speaker"] for update in tool.updates(text, "--from", "transcript")] == ["Ines", "Omar"]
    assert "conllu has no turns to stream" in str(tool(text, "--from", "conllu").exception)
    assert "no encoding 'klingon'" in str(tool(text, "--encoding", "klingon").exception)
    assert "--encoding utf-16 reads it" in str(tool(text.encode("utf-16")).exception)


def test_json_of_another_kind_is_refused(tool: Tool) -> None:
    for text in ('{"a": 1}', '[{"a": 1}]', '{\n "a": 1\n}'):
        assert "an object with 'a'" in str(tool(text).exception)


def test_options_reach_the_session(tool: Tool) -> None:
    text = "the dog saw Anna . she met Carl . he saw the old dog .\n" * 3
    found = tool.updates(text, "--trace", "--runners-up", "1", "--max-entities", "1", "--eviction", "lru")
    assert any(mention.get("runners_up") for update in found for mention in update["mentions"])
    assert all(update["trace"] for update in found)
    assert any(update.get("evicted") for update in found)


def test_hardly_english_text_gets_one_warning(tool: Tool) -> None:
    assert tool("Привет, как дела?\nХорошо, спасибо.\n").stderr.count("hardly looks like English") == 1
    assert tool("hey\nu there\nok\n").stderr == ""


def test_hard_lines(tool: Tool) -> None:
    lines = ["", " ", "\x00\x1b", "x" * 6_000, "the dog " * 250, "\ud800 \udc00", "安娜 и Anna"]
    found = tool.updates("\n".join(json.dumps({"text": line, "id": n}) for n, line in enumerate(lines)))
    assert {update["id"] for update in found} >= {3, 4, 5, 6}
    assert any("warnings" in update for update in found)
    for number, line in enumerate(lines):
        assert all(update["text"] in line for update in found if update["id"] == number)
