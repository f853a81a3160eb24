"""Files in and out: what is read of a directory, what is guessed, and that nothing is half-written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from incoref import corpora
from incoref.errors import FormatError, IncorefError, MissingExtra
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
    with pytest.raises(FormatError, match="unknown kind of JSON"):
        corpora.guess('{"a": 1}', "file")


@pytest.mark.parametrize(
    ("data", "line", "fault"),
    [
        (b"", None, "empty"),
        (b" \n\n", None, "empty"),
        (b"abc\n\xff\n", 2, "UTF-8"),
        ("abc\n".encode("utf-32"), 1, "UTF-32, not UTF-8: --encoding utf-32"),
        (b"%PDF-1.4\n%\xe2\xe3\n", None, "a PDF, not text"),
        (b"PK\x03\x04\x14\x00", None, "a zip archive"),
        (b"{\\rtf1\\ansi Anna left.}", None, "RTF, not text"),
        (b"<!DOCTYPE html>\n<p>Anna left.</p>\n", 1, "HTML or XML, not text"),
        (b'<?xml version="1.0"?><tt>Anna left.</tt>', 1, "HTML or XML, not text"),
        (b'["Anna left.", "She ran."\n', 2, "starts like JSON"),
        (b'["Anna", "I left."]\n["Ben", "Oh."]\n', 1, "a list of 2, the first of them a string"),
    ],
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


def test_files_compressed_by_zstd_need_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "story.txt.zst"
    # Two frames, one after the other, are one file.
    packed = zstandard.ZstdCompressor().compress(b"Anna left. ") + zstandard.ZstdCompressor().compress(b"Ben ran.")
    file.write_bytes(packed)
    (document,) = corpora.read(file)
    assert (document.id, document.text) == ("story", "Anna left. Ben ran.")
    if sys.version_info < (3, 14):
        monkeypatch.setitem(sys.modules, "zstandard", None)
        with pytest.raises(MissingExtra, match=r"pip install 'incoref\[zstd\]'"):
            list(corpora.read(file))


def written(path: Path | str, text: str = "Anna left.") -> None:
    corpora.write([Document("d", text, ())], path, "text")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_a_file_keeps_its_rights(mode: int, tmp_path: Path) -> None:
    file = tmp_path / "out.txt"
    file.write_text("before", encoding="utf-8")
    file.chmod(mode)
    written(file)
    assert file.read_text(encoding="utf-8") == "Anna left."
    assert stat.S_IMODE(file.stat().st_mode) == mode
    corpora.write([Document("out", "Ben came.", ())], f"{tmp_path}/", "text")
    assert file.read_text(encoding="utf-8") == "Ben came."
    assert stat.S_IMODE(file.stat().st_mode) == mode


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "target.txt"
    target.write_text("before, and longer than what follows", encoding="utf-8")
    soft, hard, dangling = tmp_path / "soft.txt", tmp_path / "hard.txt", tmp_path / "dangling.txt"
    soft.symlink_to(target)
    hard.hardlink_to(target)
    dangling.symlink_to(tmp_path / "elsewhere" / "new.txt")
    for link, text in ((soft, "One."), (hard, "Two, which is longer than the text before it was, by a lot.")):
        written(link, text)
        assert target.read_text(encoding="utf-8") == text
        assert hard.samefile(target)
        assert soft.is_symlink()
    written(dangling, "New.")
    assert dangling.is_symlink()
    assert (tmp_path / "elsewhere" / "new.txt").read_text(encoding="utf-8") == "New."
    corpora.write([Document("hard", "Three.", ())], f"{tmp_path}/", "text")
    assert target.read_text(encoding="utf-8") == "Three."
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".")]


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    written(pipe, "Anna left. " * 20_000)
    reader.join()
    assert received == ["Anna left. " * 20_000]
    assert pipe.is_fifo()


def test_a_device_stays_a_device() -> None:
    written("/dev/null")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(IncorefError, match="/dev/full: No space left"):
        written("/dev/full")


@pytest.mark.parametrize("length", [240, 250, 255])
def test_names_may_be_as_long_as_the_disk_allows(length: int, tmp_path: Path) -> None:
    file = tmp_path / f"{'x' * (length - 4)}.txt"
    written(file)
    assert file.read_text(encoding="utf-8") == "Anna left."


@pytest.mark.parametrize("name", ["x" * 300, "zero\0byte", "x" * 300 + "/out.txt"])
def test_names_that_no_file_can_have(name: str, tmp_path: Path) -> None:
    with pytest.raises(IncorefError):
        written(tmp_path / name)
    with pytest.raises(IncorefError):
        written(f"{tmp_path}/new/{name}/")
    with pytest.raises(IncorefError):
        list(corpora.read(tmp_path / name))
    with pytest.raises(IncorefError):
        corpora.write(
            [Document(name.replace("\0", ""), "x", ()), Document("y" * 300, "y", ())], f"{tmp_path}/many/", "text"
        )
    assert not list(tmp_path.iterdir())


def test_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "out" / "b.txt").mkdir(parents=True)
    (tmp_path / "out" / "a.txt").write_text("as it was", encoding="utf-8")
    (tmp_path / "file").touch()
    with pytest.raises(IncorefError, match="Is a directory"):
        corpora.write([Document("a", "x", ()), Document("b", "y", ())], tmp_path / "out", "text")
    assert (tmp_path / "out" / "a.txt").read_text(encoding="utf-8") == "as it was"
    for target in (tmp_path / "file" / "out.txt", f"{tmp_path}/file/"):
        with pytest.raises(IncorefError, match=r"Not a directory|File exists"):
            written(target)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.txt", "b.txt", "file", "out"]


NOT_ROOT = """
import os, sys
from incoref import corpora
from incoref.errors import IncorefError
from incoref.types import Document
os.setuid(65534)
for path in sys.argv[1:]:
    try:
        corpora.write([Document("d", "Anna left.", ())], path, "text")
        print("written")
    except IncorefError as error:
        print(error)
"""


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become somebody else")
def test_folders_and_files_that_may_not_be_written_to() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "mine.txt").write_text("as it was", encoding="utf-8")
        (folder / "mine.txt").chmod(0o444)
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)
        (folder / "open" / "mine.txt").write_text("as it was", encoding="utf-8")
        (folder / "open" / "shared.txt").write_text("as it was", encoding="utf-8")
        (folder / "open" / "shared.txt").chmod(0o666)
        targets = ["new.txt", "mine.txt", "many/", "open/mine.txt", "open/shared.txt", "open/"]
        done = subprocess.run(
            [sys.executable, "-c", NOT_ROOT, *(f"{folder}/{target}" for target in targets)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stdout.splitlines() == [
            f"{folder}/new.txt: Permission denied",
            f"{folder}/mine.txt: Permission denied",
            f"{folder}/many: Permission denied",
            f"{folder}/open/mine.txt: Permission denied",
            "written",
            "written",
        ], done.stderr
        shared = (folder / "open" / "shared.txt").stat()
        assert (shared.st_uid, stat.S_IMODE(shared.st_mode)) == (0, 0o666)
        assert (folder / "open" / "shared.txt").read_text(encoding="utf-8") == "Anna left."
        assert (folder / "mine.txt").read_text(encoding="utf-8") == "as it was"


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
from incoref import corpora
from incoref.errors import IncorefError
from incoref.types import Document
for name in ("new.txt", "old.txt", "hard.txt", "many/"):
    try:
        corpora.write([Document("d", "Anna left. " * 500_000, ())], f"{sys.argv[1]}/{name}", "text")
    except IncorefError as error:
        print(error)
print(sorted(path.name for path in Path(sys.argv[1]).rglob("*")))
"""


def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """A file that may not grow beyond a limit is as good as a disk of that size."""
    for name in ("old.txt", "other.txt"):
        (tmp_path / name).write_text("as it was", encoding="utf-8")
    (tmp_path / "hard.txt").hardlink_to(tmp_path / "other.txt")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=False
    )
    *faults, names = done.stdout.splitlines()
    assert len(faults) == 4, done.stderr
    assert all("File too large" in fault for fault in faults)
    assert names == "['hard.txt', 'old.txt', 'other.txt']"
    assert {path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {"as it was"}


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
        assert "1 × document names" in map(str, corpora.write(written, path, "text"))
    names = {loss.what for loss in corpora.write(named[1:], tmp_path / "ferry.txt")}
    assert "document names" not in names
