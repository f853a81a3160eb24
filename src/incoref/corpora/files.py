"""File access: decoding text with located errors, listing directories in order, and atomic writes.

Files compressed with gzip or zstd are read transparently. Knows nothing about documents and formats, except that
e-mail declares its own encoding.
"""

from __future__ import annotations

import errno
import gzip
import importlib
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from incoref.corpora import mail
from incoref.errors import FormatError, IncorefError, MissingExtra

UTF8 = "utf-8"

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_NO_TEXT = (
    (re.compile(rb"%PDF-"), "a PDF"),
    (re.compile(rb"PK\x03\x04"), "a zip archive (as .docx, .odt and exported chats are)"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), "a file of an old office program"),
    (re.compile(rb"\{\\rtf"), "RTF"),
    (re.compile(rb"\x89PNG|\xff\xd8\xff"), "a picture"),
    (re.compile(rb"ID3[\x02-\x04]|OggS\x00|RIFF.{4}WAVE|.{4}ftyp", re.DOTALL), "a recording"),
)
"""Signatures of files that are easily mistaken for text."""
_UNFINISHED = ".incoref-"
"""Prefix of incomplete files. It is not added to the target's name, which may already have the maximum length."""

_HEAD = 4096
"""Number of bytes examined to detect the encoding."""
_OF_WINDOWS = frozenset(range(0x80, 0xA0))
"""Bytes that are letters and quotation marks in cp1252 but control characters in Latin-1."""


def read_text(path: Path, encoding: str = UTF8) -> str:
    """Read text with ``\\n`` line ends and no byte order mark; an empty or wrongly encoded file is an error."""
    _check_name(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IncorefError(f"{path}: {error.strerror or error}") from error
    text = decoded(decompressed(data, path), path, encoding)
    if not text.strip():
        raise FormatError("the file is empty", path=path)
    return with_usual_line_ends(text)


def with_usual_line_ends(text: str) -> str:
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")


def is_compressed(data: bytes) -> bool:
    return data.startswith((_GZIP, _ZSTD))


def decompressed(data: bytes, path: Path | str) -> bytes:
    """Decompress gzip or zstd data; return anything else unchanged."""
    if not is_compressed(data):
        return data
    try:
        if data.startswith(_GZIP):
            return gzip.decompress(data)
        return _from_zstd(data)
    except (OSError, EOFError, zlib.error) as error:
        kind = "gzip" if data.startswith(_GZIP) else "zstd"
        raise FormatError(f"compressed by {kind}, but damaged or cut off: {error}", path=path) from error


def _from_zstd(data: bytes) -> bytes:
    """Decompress with the standard library from Python 3.14 on, with the package zstandard before."""
    if sys.version_info >= (3, 14):
        zstd = importlib.import_module("compression.zstd")
        try:
            return bytes(zstd.decompress(data))
        except zstd.ZstdError as error:
            raise EOFError(str(error)) from error
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtra("zstandard", "zstd", "Reading a file compressed by zstd") from error
    try:
        frames = []
        while data:
            frame = zstandard.ZstdDecompressor().decompressobj()
            frames.append(frame.decompress(data))
            if not frame.eof:
                raise EOFError("its end is missing")
            data = frame.unused_data
        return b"".join(frames)
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from error


def decoded(data: bytes, path: Path | str, encoding: str = UTF8, line: int = 1) -> str:
    """Decode bytes and strip a byte order mark; ``line`` is the line number of the first byte."""
    for beginning, what in _NO_TEXT:
        if line == 1 and beginning.match(data):
            raise FormatError(f"this is {what}, not text: save it as text first", path=path)
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig"):
        return _from_utf8(data, path, line)
    check_encoding(encoding)
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        at = error.start if isinstance(error, UnicodeDecodeError) else 0
        raise FormatError(f"not {encoding} at byte {at}: {error}", path=path) from error


def check_encoding(name: str) -> None:
    try:
        b" ".decode(name, "replace")  # for empty bytes, Python doesn't look up the name
    except LookupError as error:
        raise IncorefError(
            f"there is no encoding {name!r}; usual ones are utf-8, utf-16, latin-1 and cp1252"
        ) from error


def _from_utf8(data: bytes, path: Path | str, line: int) -> str:
    wide = _wide(data)
    if wide is not None:
        name = "UTF-32" if wide == "utf-32" else "UTF-16"
        raise FormatError(f"this is {name}, not UTF-8: {_way_out(wide)}", path=path, line=line)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if mail.fits(data[:_HEAD].decode("latin-1")):
            # E-mail declares its own encoding, and its parts may have different ones.
            return data.decode("utf-8", "surrogateescape")
        line += data.count(b"\n", 0, error.start)
        high = {byte for byte in data if byte >= 0x80}
        likely = "cp1252" if high & _OF_WINDOWS else "latin-1"
        fault = f"not UTF-8 at byte {error.start} (0x{data[error.start]:02x}), perhaps {likely}: {_way_out(likely)}"
        raise FormatError(fault, path=path, line=line) from error


def _way_out(encoding: str) -> str:
    for_iconv = {"latin-1": "ISO-8859-1", "utf-16-le": "UTF-16LE", "utf-16-be": "UTF-16BE"}.get(encoding, encoding)
    return f"--encoding {encoding} reads it (resolve, stream, convert), or: iconv -f {for_iconv.upper()} -t UTF-8"


def _wide(data: bytes) -> str | None:
    """Detect UTF-16 or UTF-32 by the byte order mark, and UTF-16 also because every other byte is zero."""
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    head = data[: _HEAD - _HEAD % 2]
    half = len(head) // 2
    for name, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if half >= 4 and zeros.count(0) > 0.7 * half and others.count(0) < 0.1 * half:
            return name
    return None


def is_directory(path: Path) -> bool:
    """Whether the path is an existing directory; false for invalid file names."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def files_in(directory: Path, wanted: Callable[[Path], bool]) -> list[Path]:
    """The wanted files of a directory and its subdirectories, sorted by path; hidden ones are skipped."""
    return sorted(
        path
        for path in directory.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(directory).parts)
        and wanted(path)
    )


@contextmanager
def _faults_of_files(path: Path) -> Iterator[None]:
    """Raise file errors as ``IncorefError``."""
    try:
        yield
    except OSError as error:
        raise IncorefError(f"{path}: {error.strerror or error}") from error
    except UnicodeEncodeError as error:
        character = ascii(error.object[error.start])
        raise IncorefError(f"{path}: UTF-8 has no place for {character}, half a character in the text") from error


def write_file(path: Path, pieces: Iterable[str]) -> None:
    """Write all pieces or nothing: the complete content replaces the file, whose permissions and links are kept.

    A special file, such as a pipe or a device, is written once all pieces have been collected.
    """

    def write(file: BinaryIO) -> None:
        for piece in pieces:
            with _faults_of_files(path):
                file.write(piece.encode())

    _write(path, write)


def write_data(path: Path, data: bytes) -> None:
    """Write bytes atomically, as ``write_file`` does with text."""

    def write(file: BinaryIO) -> None:
        with _faults_of_files(path):
            file.write(data)

    _write(path, write)


def write_directory(path: Path, files: Iterable[tuple[str, str]]) -> None:
    """Write named files into a directory only once all of them are complete; other files there are left alone."""
    _check_name(path)
    with _faults_of_files(path):
        is_there = is_directory(path)
        made = _make_directory(path.parent)
    try:
        with _faults_of_files(path):
            # Next to a new directory, but inside an existing one: its parent may not be writable.
            workplace = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=path if is_there else path.parent))
        try:
            names = []
            for name, content in files:
                with _faults_of_files(path / name):
                    (workplace / name).write_text(content, encoding="utf-8", newline="\n")
                names.append(name)
            targets = {name: Path(os.path.realpath(path / name)) for name in names}
            for name, target in targets.items():
                with _faults_of_files(path / name):
                    _check(target)
            with _faults_of_files(path):
                path.mkdir(exist_ok=True)
            for name, target in targets.items():
                with _faults_of_files(path / name):
                    _put(workplace / name, target)
        finally:
            shutil.rmtree(workplace, ignore_errors=True)
    except BaseException:
        _remove_empty(made)
        raise


def _write(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Let ``write`` fill a temporary file next to the target, then move it into place."""
    _check_name(path)
    if _is_written_through(path):
        whole = io.BytesIO()
        write(whole)
        with _faults_of_files(path):
            _write_through(path, whole.getvalue())
        return
    with _faults_of_files(path):
        target = Path(os.path.realpath(path))
        _check(target)
        made = _make_directory(target.parent)
    try:
        with _faults_of_files(path):
            descriptor, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=target.parent)
        unfinished = Path(name)
        try:
            file = os.fdopen(descriptor, "wb")
            try:
                write(file)
            finally:
                with _faults_of_files(path):
                    file.close()
            with _faults_of_files(path):
                _give_usual_rights(unfinished)
                _put(unfinished, target)
        finally:
            unfinished.unlink(missing_ok=True)
    except BaseException:
        _remove_empty(made)
        raise


def _check_name(path: Path) -> None:
    if "\0" in str(path):
        raise IncorefError(f"{str(path)!r}: a file's name has no zero byte")


def _is_written_through(path: Path) -> bool:
    """Whether the path is a pipe, a device or similar, or a name of standard output such as ``/dev/stdout``."""
    if str(path.absolute()).startswith(("/dev/", "/proc/")):
        return True
    with suppress(OSError):
        mode = path.stat().st_mode
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
    return False


def _write_through(path: Path, data: bytes) -> None:
    # Append: if standard output is redirected to a file, earlier output must survive.
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]


def _check(target: Path) -> None:
    """Reject directories and read-only files, as writing in place would."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _put(unfinished: Path, target: Path) -> None:
    """Move a complete file into place, keeping the permissions of the file it replaces."""
    try:
        before = target.stat()
    except FileNotFoundError:
        unfinished.replace(target)
        return
    if before.st_nlink > 1 or not _is_made_alike(unfinished, before):
        _overwrite(target, unfinished.read_bytes())
    else:
        unfinished.replace(target)


def _is_made_alike(file: Path, before: os.stat_result) -> bool:
    """Give a file the owner and permissions in ``before``; false if that is not allowed."""
    now = file.stat()
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.chown(file, before.st_uid, before.st_gid)
        except OSError:
            return False
    file.chmod(stat.S_IMODE(before.st_mode))
    return True


def _overwrite(target: Path, data: bytes) -> None:
    """Overwrite a file in place, keeping hard links and owner. Space is allocated first, in case the disk is full."""
    with target.open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        if hasattr(os, "posix_fallocate") and len(data) > size:
            try:
                os.posix_fallocate(file.fileno(), 0, len(data))
            except OSError:
                file.truncate(size)
                raise
        file.write(data)
        file.truncate()


def _make_directory(path: Path) -> list[Path]:
    """Create a directory and its parents; return the new ones, innermost first."""
    missing = []
    for directory in (path, *path.parents):
        if directory.exists():
            break
        missing.append(directory)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        _remove_empty(missing)
        raise
    return missing


def _remove_empty(made: list[Path]) -> None:
    for directory in made:
        with suppress(OSError):
            directory.rmdir()


def _give_usual_rights(path: Path) -> None:
    """Set the permissions that ``open`` gives a new file; files from ``mkstemp`` are private to their owner."""
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)
