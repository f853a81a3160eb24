"""Files in and out: what is read of a directory, what is guessed, and that nothing is half-written."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from incoref import corpora
from incoref.errors import FormatError, IncorefError
from incoref.types import Document

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "formats"
SMALL = "#begin document (d); part 000\nd\t0\t0\ta\t(1)\n\n#end document\n"


def documents() -> list[Document]:
    return list(corpora.read(EXAMPLES / "ferry.conllu"))


@pytest.mark.parametrize(
    ("file", "format"),
    [
        ("ferry.conll", "conll-2012"),
        ("ferry.conllu", "conllu"),
        ("ferry.conllua", "conllua"),
        ("ferry.jsonlines", "jsonlines"),
        ("meeting.txt", "transcript"),
        ("meeting.srt", "srt"),
        ("meeting.vtt", "webvtt"),
        ("turns.jsonl", "text-jsonlines"),
    ],
)
def test_formats_are_guessed_from_content(file: str, format: str) -> None:
    text = (EXAMPLES / file).read_text(encoding="utf-8")
    assert corpora.guess(text, file).name == format
    assert list(corpora.read(EXAMPLES / file, format))


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("Plain text: that is all.\nNothing else.\n", "text"),
        ('{"id": "a", "text": "b", "sentences": []}', "incoref"),
        ('{"sentences": [["a"]], "doc_key": "x"}', "jsonlines"),
        ("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n", "conllu"),
    ],
)
def test_other_guesses(text: str, format: str) -> None:
    assert corpora.guess(text, "file").name == format


def test_json_that_is_no_corpus() -> None:
    with pytest.raises(FormatError, match="no known kind"):
        corpora.guess('{"a": 1}', "file")


@pytest.mark.parametrize(
    ("data", "line", "fault"),
    [(b"", None, "empty"), (b" \n\n", None, "empty"), (b"abc\n\xff\n", 2, "UTF-8")],
)
def test_files_that_are_no_text(data: bytes, line: int | None, fault: str, tmp_path: Path) -> None:
    file = tmp_path / "file.conll"
    file.write_bytes(data)
    with pytest.raises(FormatError, match=fault) as caught:
        list(corpora.read(file))
    assert caught.value.line == line
    assert caught.value.path == str(file)


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "file.conll"
    file.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    (document,) = corpora.read(file)
    assert document.text == "a"


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(IncorefError, match="No such file"):
        list(corpora.read(tmp_path / "nothing.conll"))
    with pytest.raises(IncorefError, match="no file whose name"):
        list(corpora.read(tmp_path))
    with pytest.raises(IncorefError, match="unknown format"):
        list(corpora.read(tmp_path, "xml"))


def test_a_directory_is_read_in_order_and_without_what_is_no_corpus(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name, id in (("b/1.conll", "third"), ("a.conll", "first"), ("a.v4_gold_conll", "second")):
        (tmp_path / name).write_text(SMALL.replace("(d)", f"({id})"), encoding="utf-8")
    for name in ("README.md", "split.txt", "LICENSE", ".hidden.conll"):
        (tmp_path / name).write_text("not annotated\n", encoding="utf-8")
    assert [document.id for document in corpora.read(tmp_path)] == ["first", "second", "third"]
    assert [document.id for document in corpora.read(tmp_path, "text")] == ["split"]


def test_a_directory_of_texts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One.", encoding="utf-8")
    (tmp_path / "b.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nTwo.\n", encoding="utf-8")
    assert [document.text for document in corpora.read(tmp_path)] == ["One.", "Two."]


def test_nothing_is_left_behind_when_something_goes_wrong(tmp_path: Path) -> None:
    def broken() -> Iterator[Document]:
        yield from documents()
        raise FormatError("broken")

    target = tmp_path / "out.conll"
    target.write_text("as it was", encoding="utf-8")
    with pytest.raises(FormatError):
        corpora.write(broken(), target)
    with pytest.raises(FormatError):
        corpora.write(broken(), tmp_path / "brat", "brat")
    with pytest.raises(FormatError):
        corpora.write(broken(), f"{tmp_path}/many/", "conllu")
    assert target.read_text(encoding="utf-8") == "as it was"
    assert [file.name for file in tmp_path.iterdir()] == ["out.conll"]


def test_text_that_utf8_has_no_place_for(tmp_path: Path) -> None:
    with pytest.raises(IncorefError, match="UTF-8"):
        corpora.write([Document("d", "\ud800", ())], tmp_path / "out.txt")
    assert not list(tmp_path.iterdir())


def test_a_file_can_be_converted_in_place(tmp_path: Path) -> None:
    file = tmp_path / "same.conllu"
    file.write_bytes((EXAMPLES / "ferry.conllu").read_bytes())
    corpora.write(corpora.read(file), file)
    assert file.read_bytes() == (EXAMPLES / "ferry.conllu").read_bytes()


def test_files_get_the_usual_rights(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    corpora.write(documents(), tmp_path / "new.conll")
    assert stat.S_IMODE((tmp_path / "new.conll").stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


def test_a_directory_takes_a_file_a_document(tmp_path: Path) -> None:
    corpora.write(documents(), tmp_path, "conllu")
    assert [file.name for file in tmp_path.iterdir()] == ["ferry.conllu"]


@pytest.mark.parametrize(
    ("name", "format"), [("out.xml", None), ("out", None), ("out.vtt", "webvtt"), ("out", "xml")]
)
def test_formats_that_are_not_written(name: str, format: str | None, tmp_path: Path) -> None:
    with pytest.raises(IncorefError):
        corpora.write(documents(), tmp_path / name, format)
    assert not list(tmp_path.iterdir())


def test_formats_that_are_not_read() -> None:
    with pytest.raises(IncorefError, match="written but not read"):
        list(corpora.read(EXAMPLES / "ferry.conll", "brat"))


def test_names_that_a_file_of_text_does_not_keep_are_reported(tmp_path: Path) -> None:
    (document,) = corpora.read(EXAMPLES / "ferry.conllu")
    named = [replace(document, id="nw/ferry"), replace(document, id="ferry")]
    for written, path in ((named, f"{tmp_path}/texts/"), (named[:1], tmp_path / "ferry.txt")):
        assert "1 × names of documents" in map(str, corpora.write(written, path, "text"))
    names = {loss.what for loss in corpora.write(named[1:], tmp_path / "ferry.txt")}
    assert "names of documents" not in names
