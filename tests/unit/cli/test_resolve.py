"""``incoref resolve``: which inputs it takes, where its output goes, what it says and how it ends."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from click.testing import Result
from typer.testing import CliRunner

from incoref import corpora
from incoref.cli import app
from incoref.errors import IncorefError
from incoref.outputs.formats import OutputFormat
from incoref.outputs.rendering import rendered
from incoref.resolver import Resolver
from incoref.types import Document
from tiny_models import TinyModels, random_document

TEXT = random_document(14, seed=8).text
EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "formats"


class Tool:
    """The command with a small model."""

    def __init__(self, model: Path) -> None:
        self._model = model

    def __call__(self, *arguments: str, text: bytes = b"") -> Result:
        done = CliRunner().invoke(app, ["resolve", *arguments, "--model", str(self._model)], input=text)
        if done.exception is not None and not isinstance(done.exception, SystemExit | IncorefError):
            raise done.exception
        return done

    def json(self, *arguments: str, text: str) -> dict[str, object]:
        done = self(*arguments, "-f", "json", text=text.encode())
        assert done.exit_code == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found


@pytest.fixture(scope="module")
def tool(tiny: TinyModels) -> Tool:
    return Tool(tiny.fp32)


def speakers_of(found: dict[str, object]) -> list[str | None]:
    sentences = found["sentences"]
    assert isinstance(sentences, list)
    return [sentence["speaker"] for sentence in sentences]


def test_plain_text_has_exact_places(tool: Tool) -> None:
    text = "Anna left.\r\n\r\nShe ran…  \tOh!\n"
    found = tool.json(text="\ufeff" + text)
    assert found["text"] == text
    assert speakers_of(found) == [None, None, None]


def test_speakers_are_recognised_when_most_lines_have_one(tool: Tool) -> None:
    found = tool.json(text="Ines: I saw Carl.\n\nOmar: You did?\n")
    assert found["text"] == "I saw Carl.\nYou did?"
    assert speakers_of(found) == ["Ines", "Omar"]
    assert speakers_of(tool.json(text="Ines: I saw Carl\nand Anna.\nOmar: You did?\n")) == ["Ines", "Omar"]
    assert speakers_of(tool.json(text="Ines: I saw Carl.\nand Anna.\n")) == [None, None]


def test_speakers_can_be_asked_for_or_not(tool: Tool) -> None:
    assert speakers_of(tool.json("--speakers", text="Ines: I saw Carl\nand Anna.\n")) == ["Ines"]
    assert speakers_of(tool.json("--no-speakers", text="Ines: I saw Carl.\n")) == [None]
    done = tool("--speakers", text=b"no names here\n")
    assert "no line of the form 'Name: text'" in str(done.exception)


@pytest.mark.parametrize("name", ["meeting.srt", "meeting.vtt"])
def test_subtitles(tool: Tool, name: str) -> None:
    found = tool.json(str(EXAMPLES / name), text="")
    assert {speaker.lower() for speaker in speakers_of(found) if speaker} == {"ines", "omar"}
    assert "-->" not in str(found["text"])
    sentences = found["sentences"]
    assert isinstance(sentences, list)
    assert all("-->" in sentence["time"] for sentence in sentences)


def test_time_stamps_are_no_foreign_language(tool: Tool) -> None:
    cues = "".join(f"00:00:0{n}.000 --> 00:00:0{n + 1}.000\n<v Anna>I met him there again\n\n" for n in range(4))
    done = tool("-f", "json", text=f"WEBVTT\n\n{cues}".encode())
    assert done.exit_code == 0
    assert "English" not in done.stderr
    first, *_ = json.loads(done.stdout)["sentences"]
    assert first["time"] == "00:00:00.000 --> 00:00:04.000"


def test_names_in_a_slack_export_are_those_of_its_users(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "users.json").write_text('[{"id": "U1", "profile": {"display_name": "Ines"}}]')
    day = tmp_path / "general" / "2026-05-03.json"
    day.parent.mkdir()
    day.write_text('[{"type": "message", "user": "U1", "text": "I saw <@U1>.", "ts": "1.0"}]')
    for given in (tmp_path, day):
        found = tool.json(str(given), text="")
        assert (found["text"], speakers_of(found)) == ("I saw @Ines.", ["Ines"])
    assert speakers_of(tool.json(text=day.read_text())) == ["U1"]


@pytest.mark.parametrize(
    "name",
    ["whatsapp.txt", "slack.json", "discord.json", "messages.json", "whisper.json", "meeting.ass", "mail.mbox"],
)
def test_conversations_are_recognised_and_said_to_be(tool: Tool, name: str) -> None:
    done = tool(str(EXAMPLES / name), "-f", "json")
    assert set(speakers_of(json.loads(done.stdout))) == {"Ines", "Omar"}
    (line,) = done.stderr.splitlines()
    assert f"{name}: read as " in line
    assert line.endswith("5 sentences, 2 speakers")


@pytest.mark.parametrize("text", ["{", "[", "[] buy milk", "[1] See the note."])
def test_text_that_begins_like_something_else_is_text(tool: Tool, text: str) -> None:
    assert tool.json(text=text)["text"] == text


@pytest.mark.parametrize("text", ['{"a": 1', '{"a": 1}', "[1]", "1\tx\ty\n", "#begin document (x); part 000\n"])
def test_what_is_in_no_known_format_is_text_only_if_asked_for(tool: Tool, text: str) -> None:
    refused = tool(text=text.encode())
    assert refused.exit_code == 1
    assert str(refused.exception).startswith("standard input:1: ")
    assert str(refused.exception).endswith("; --from text reads it as it is")
    assert tool.json("--from", "text", text=text)["text"] == text


def test_annotated_files_are_read_without_their_annotation(tool: Tool) -> None:
    done = tool(str(EXAMPLES / "ferry.conllu"), "-f", "json")
    assert "read as conllu" in done.stderr
    assert "its annotation is ignored" in done.stderr
    assert "Entity=" not in json.loads(done.stdout)["text"]


def test_formats_can_be_named(tool: Tool) -> None:
    assert "unknown format 'xml'" in str(tool("--from", "xml", text=b"x").exception)
    assert "can be written but not read" in str(tool("--from", "brat", text=b"x").exception)
    assert tool("--from", "text", "--speakers", text=b"x").exit_code == 2


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_compressed_files(tool: Tool, tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    packed = compress((EXAMPLES / "whatsapp.txt").read_bytes())
    file = tmp_path / "chat.txt.packed"
    file.write_bytes(packed)
    for done in (tool(str(file), "-f", "json"), tool("-f", "json", text=packed)):
        assert set(speakers_of(json.loads(done.stdout))) == {"Ines", "Omar"}
    assert "damaged or cut off" in str(tool(text=packed[:-9]).exception)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "cp1252", "utf-16-le", "utf-16-be"])
def test_other_encodings_are_named_and_read(tool: Tool, encoding: str) -> None:
    text = "Ines: I saw Café Noir — twice.\nOmar: You did?\n".replace("—", "-" if encoding == "latin-1" else "—")
    data = text.encode(encoding)
    assert f"--encoding {encoding} reads it" in str(tool(text=data).exception)
    found = json.loads(tool("--encoding", encoding, "-f", "json", text=data).stdout)
    assert speakers_of(found) == ["Ines", "Omar"]
    assert "Café" in found["text"]


def test_encodings_that_do_not_fit(tool: Tool) -> None:
    assert "no encoding 'klingon'" in str(tool("--encoding", "klingon", text=b"x").exception)
    assert "not ascii at byte 3" in str(tool("--encoding", "ascii", text=b"caf\xe9").exception)


def test_a_directory_is_read_file_by_file(tool: Tool, tmp_path: Path) -> None:
    for name in ("whatsapp.txt", "slack.json", "meeting.vtt"):
        shutil.copy(EXAMPLES / name, tmp_path)
    (tmp_path / "packed.txt.gz").write_bytes(gzip.compress(b"Anna left."))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "package.json").write_text('{"name": "x"}', encoding="utf-8")
    done = tool(str(tmp_path), "-f", "jsonl")
    assert done.exit_code == 1
    names = [Path(json.loads(line)["id"]).name for line in done.stdout.splitlines()]
    assert names == ["meeting.vtt", "packed.txt.gz", "slack.json", "whatsapp.txt"]
    assert "package.json:1: unknown kind of JSON: an object with 'name'" in done.stderr
    assert "skipped files without the suffix of a known format: picture.png" in done.stderr


def test_a_file_may_hold_several_documents(tool: Tool, tmp_path: Path) -> None:
    file = tmp_path / "two.jsonl"
    file.write_text('{"text": "Anna left.", "id": "a"}\n{"text": "Carl came.", "id": "b"}\n', encoding="utf-8")
    lines = tool(str(file), "-f", "jsonl").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["a", "b"]
    for arguments in (("-f", "json"), ("-f", "html"), ("-o", str(tmp_path / "out.html"))):
        done = tool(str(file), *arguments)
        assert "holds one document" in str(done.exception)
        assert not done.stdout
    assert not (tmp_path / "out.html").exists()
    assert tool(str(file), "-o", f"{tmp_path}/out/", "-f", "json").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.json", "b.json"]


def test_singletons_only_if_asked_for(tool: Tool) -> None:
    few, all_ = (tool.json(*arguments, text=TEXT) for arguments in ((), ("--singletons",)))
    assert isinstance(few["entities"], list)
    assert isinstance(all_["entities"], list)
    assert all(len(entity["mentions"]) > 1 for entity in few["entities"])
    assert [e for e in all_["entities"] if len(e["mentions"]) > 1] == few["entities"]
    assert len(all_["entities"]) > len(few["entities"])


def test_settings_reach_the_model(tool: Tool) -> None:
    assert tool("--setting", "part-inc", "--scheme", "all", "--genre", "news", text=TEXT.encode()).exit_code == 0
    assert "k=0" in str(tool("--setting", "k=0", text=TEXT.encode()).exception)
    found = tool.json("--runners-up", "2", "--singletons", text=TEXT)
    assert "runners_up" in json.dumps(found)


def test_hardly_english_text_gets_a_warning(tool: Tool) -> None:
    assert tool(text="Привет, как дела?".encode()).stderr.startswith(
        "incoref: standard input: this hardly looks like"
    )
    assert tool(text=b"hey Anna u there").stderr == ""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    names = [tmp_path / "one.txt", tmp_path / "two.txt", tmp_path / "sub" / "one.txt"]
    (tmp_path / "sub").mkdir()
    for name in names:
        name.write_text(TEXT, encoding="utf-8")
    return [str(name) for name in names]


def test_many_files_to_standard_output(tool: Tool, files: list[str]) -> None:
    lines = tool(*files, "-f", "jsonl").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == files
    assert tool(*files).stdout.count("==> ") == 3


def test_many_files_to_a_directory(tool: Tool, files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    for format, suffix in (("html", ".html"), ("json", ".json"), ("conllu", ".conllu")):
        assert tool(*files, "-f", format, "-o", f"{out}/").exit_code == 0
        assert sorted(path.name for path in out.glob(f"*{suffix}")) == [
            f"{n}{suffix}" for n in ("one-2", "one", "two")
        ]
    assert tool(*files, "-f", "brat", "-o", str(out)).exit_code == 0
    assert {"one.ann", "one-2.ann", "two.txt", "annotation.conf"} <= {path.name for path in out.iterdir()}


def test_many_files_to_one(tool: Tool, files: list[str], tmp_path: Path) -> None:
    assert tool(*files, "-o", str(tmp_path / "all.conllu")).exit_code == 0
    found = list(corpora.read(tmp_path / "all.conllu"))
    assert [document.id for document in found] == files
    assert all(isinstance(document, Document) and document.entities for document in found)


def test_the_name_of_the_output_tells_the_format(tool: Tool, tmp_path: Path) -> None:
    assert tool("-o", str(tmp_path / "x.html"), text=TEXT.encode()).exit_code == 0
    assert (tmp_path / "x.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    "arguments",
    [("-f", "html"), ("-f", "json"), ("-f", "brat"), ("-f", "xml"), ("-f", "text", "-o", "x.out")],
)
def test_wrong_usage_is_exit_code_2_before_anything_is_read(tool: Tool, arguments: tuple[str, ...]) -> None:
    assert tool("no-such-file", "nor-this", *arguments).exit_code == 2


def test_a_file_that_can_not_be_read_keeps_none_of_the_others(tool: Tool, files: list[str], tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_bytes(b"fine\ncaf\xe9")
    done = tool(*files, "no-such-file.txt", "-f", "jsonl")
    assert done.exit_code == 1
    assert len(done.stdout.splitlines()) == 2
    assert "incoref: no-such-file.txt: No such file or directory\n" in done.stderr
    assert "two.txt:2: not UTF-8 at byte 8 (0xe9)" in done.stderr


HARD = {
    "empty": "",
    "white space": " \n\t\r\n ",
    "one token": "Anna",
    "control characters": "Anna\x00\x07\x1b[2J met\x85 her\x7f dog.\x0c",
    "mixed languages": "Anna traf 安娜 и Анну. She said: مرحبا! Ç'est ça — शुभ रात्रि. 👩‍👧",
    "no space": "x" * 6_000,
    "long sentence": "the dog and Anna saw " * 60,
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD)
def test_hard_input(tool: Tool, text: str) -> None:
    found = tool.json("--singletons", text=text)
    assert found["text"] == text
    assert isinstance(found["entities"], list)
    mentions = [mention for entity in found["entities"] for mention in entity["mentions"]]
    assert all(text[m["start"] : m["end"]] == m["text"] for m in mentions)


@pytest.mark.parametrize("format", [format for format in OutputFormat if format is not OutputFormat.BRAT])
def test_hard_input_in_every_format(tiny: TinyModels, format: OutputFormat) -> None:
    text = "\ud800 " + " ".join(HARD[name] for name in ("control characters", "mixed languages"))
    for document in (Resolver(tiny.model).resolve(text, singletons=True), Document("d", "", ())):
        written = rendered(document, format)
        assert written.endswith("\n") or not document.text
        if format in (OutputFormat.TEXT, OutputFormat.HTML):
            assert not set("\x00\x1b\x07\ud800") & set(written)


def test_stretches_that_are_cut_are_pointed_out(tool: Tool) -> None:
    done = tool(text=b"the dog and Anna saw " * 60)
    assert "sentences too long to read in one piece: " in done.stderr
