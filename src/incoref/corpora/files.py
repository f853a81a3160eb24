"""Files in and out: decoded text with its faults placed, a directory's files in order, and all-or-nothing writing.

Knows no format and no document.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from incoref.errors import FormatError, IncorefError


def read_text(path: Path) -> str:
    """The file's text with ``\\n`` line ends and no byte order mark; an empty file or invalid UTF-8 is an error."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IncorefError(f"{path}: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"not valid UTF-8 (byte 0x{data[error.start]:02x}); convert the file to UTF-8 first", path=path, line=line
        ) from error
    if not text.strip():
        raise FormatError("the file is empty", path=path)
    return text.replace("\r\n", "\n") if "\r" in text else text


def files_in(directory: Path, wanted: Callable[[Path], bool]) -> list[Path]:
    """The wanted files of a directory and its sub-directories, sorted by path; hidden ones are left out."""
    return sorted(
        path
        for path in directory.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(directory).parts)
        and wanted(path)
    )


@contextmanager
def _faults_of_files(path: Path) -> Iterator[None]:
    """What can go wrong with a file, as an error of ours."""
    try:
        yield
    except OSError as error:
        raise IncorefError(f"{path}: {error.strerror or error}") from error
    except UnicodeEncodeError as error:
        character = ascii(error.object[error.start])
        raise IncorefError(f"{path}: UTF-8 has no place for {character}, half a character in the text") from error


def write_file(path: Path, pieces: Iterable[str]) -> None:
    """Write all pieces or nothing: a temporary file beside the target takes its place only when complete."""
    with _faults_of_files(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(descriptor)
    unfinished = Path(name)
    try:
        with _faults_of_files(path):
            with unfinished.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(pieces)
            _give_usual_rights(unfinished)
            unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def write_directory(path: Path, files: Iterable[tuple[str, str]]) -> None:
    """Write named files into a directory, all or none of them; files already there keep their place."""
    with _faults_of_files(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        with _faults_of_files(path):
            names = []
            for name, content in files:
                (workplace / name).write_text(content, encoding="utf-8", newline="\n")
                names.append(name)
            path.mkdir(exist_ok=True)
            for name in names:
                (workplace / name).replace(path / name)
    finally:
        shutil.rmtree(workplace)


def _give_usual_rights(path: Path) -> None:
    """``mkstemp`` makes files that only their owner may read; give this one what a plain ``open`` would."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
