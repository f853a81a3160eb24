"""Reads rows from files: JSON lines, plain or compressed, Parquet, Arrow, and text files. Lines are left unparsed.

The same files always yield the same rows in the same order, which resuming a run relies on.
"""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from incoref.corpora.files import files_in
from incoref.errors import IncorefError, MissingExtra

STDIN = "-"
_LINES, _TABLES, _TEXTS = (".jsonl", ".ndjson", ".json"), (".parquet", ".arrow", ".feather", ".ipc"), (".txt",)
_PACKED = (".gz", ".zst")
KNOWN = "JSON lines (.jsonl, .ndjson, .json; or .gz, .zst), Parquet, Arrow (.arrow, .feather, .ipc) or text (.txt)"
_PIECE = 1 << 16
_TABLE_ROWS = 256
"""Rows of a table held in memory at once."""


@dataclass(frozen=True, slots=True)
class Raw:
    """An unparsed row of a file."""

    place: str
    """File and line, or file and row."""
    value: bytes | dict[str, Any] | Path
    """A line of JSON, a row of a table, or the path of a text file."""
    size: int
    """Approximate size in bytes."""
    offset: int
    """Approximate position of its end in the file, in the units of ``Source.size``."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of rows, or standard input."""

    name: str
    size: int
    """Size in bytes, or in rows for a table; 0 for standard input."""

    @property
    def kind(self) -> str:
        suffix = _suffix(self.name)
        return "lines" if self.name == STDIN or suffix in _LINES else "table" if suffix in _TABLES else "text"

    def rows(self) -> Iterator[Raw]:
        match self.kind:
            case "lines":
                return self._lines()
            case "table":
                return self._table_rows()
            case _:
                return iter((Raw(self.name, Path(self.name), self.size, self.size),))

    def _lines(self) -> Iterator[Raw]:
        with _faults(self.name), _opened(self.name) as (file, packed):
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield Raw(f"{self.name}:{number}", line, len(line), packed.tell() if packed else 0)

    def _table_rows(self) -> Iterator[Raw]:
        number = 0
        with _faults(self.name):
            for batch in _batches(Path(self.name)):
                for row in batch.to_pylist():
                    number += 1
                    yield Raw(f"{self.name}:{number}", row, _bytes_of(row), number)

    def schema(self) -> Any:
        """The Arrow schema of a table; None for other files."""
        if self.kind != "table":
            return None
        with _faults(self.name):
            return _table(Path(self.name))[0]


def sources_of(names: Sequence[str]) -> list[Source]:
    """Expand names of files and folders into files, in order; files in a folder are sorted by path."""
    sources: list[Source] = []
    for name in names:
        path = Path(name)
        if name == STDIN:
            sources.append(Source(STDIN, 0))
        elif path.is_dir():
            inside = files_in(path, lambda file: _suffix(file.name) in (*_LINES, *_TABLES, *_TEXTS))
            if not inside:
                raise IncorefError(f"{name}: nothing to read in this folder; it may hold {KNOWN}")
            sources += [_source(file) for file in inside]
        elif not path.exists():
            raise IncorefError(f"{name}: no such file or folder")
        elif _suffix(name) not in (*_LINES, *_TABLES, *_TEXTS):
            raise IncorefError(f"{name}: its suffix isn't supported; use {KNOWN}")
        else:
            sources.append(_source(path))
    return sources


def _source(path: Path) -> Source:
    if _suffix(path.name) in _TABLES:
        with _faults(str(path)):
            return Source(str(path), _table(path)[1])
    return Source(str(path), path.stat().st_size)


def _suffix(name: str) -> str:
    """The suffix of a file name, ignoring compression, in lower case."""
    path = Path(name.lower())
    if path.suffix in _PACKED and Path(path.stem).suffix in _LINES:
        return Path(path.stem).suffix
    return path.suffix


@contextmanager
def _faults(name: str) -> Iterator[None]:
    """Raise errors of reading as ``IncorefError`` that names the file."""
    try:
        yield
    except IncorefError:
        raise
    except Exception as error:  # EOFError and the errors of zlib, zstandard and Arrow have no common base
        if isinstance(error, OSError | EOFError) or type(error).__module__.partition(".")[0] in (
            "zlib",
            "zstandard",
            "compression",
            "pyarrow",
        ):
            raise IncorefError(f"{name}: can't be read: {error}") from error
        raise


@contextmanager
def _opened(name: str) -> Iterator[tuple[IO[bytes], IO[bytes] | None]]:
    """Open a file for reading lines; also give the underlying file, whose position tells how much was read."""
    if name == STDIN:
        yield sys.stdin.buffer, None
        return
    with Path(name).open("rb") as packed:
        match Path(name.lower()).suffix:
            case ".gz":
                with gzip.GzipFile(fileobj=packed) as file:
                    yield file, packed  # type: ignore[misc]  # can be read like one
            case ".zst":
                yield _zstandard(packed), packed
            case _:
                yield packed, packed


def _zstandard(packed: IO[bytes]) -> IO[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdFile(packed)  # type: ignore[no-any-return]
    return io.BufferedReader(_Zstandard(packed))


class _Zstandard(io.RawIOBase):
    """The decompressed content of a Zstandard file of one or several frames; a truncated file is an error."""

    def __init__(self, packed: IO[bytes]) -> None:
        try:
            from zstandard import ZstdDecompressor
        except ImportError as error:
            raise MissingExtra("zstandard", "zstd", "reading .zst files") from error
        self._packed, self._frames = packed, ZstdDecompressor()
        self._frame = self._frames.decompressobj()
        self._begun = False
        self._content = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._content:
            packed = self._packed.read(_PIECE)
            if not packed:
                if self._begun:
                    raise EOFError("the file ends in the middle")
                return 0
            parts = []
            while packed:
                self._begun = True
                parts.append(self._frame.decompress(packed))
                packed = b""
                if self._frame.eof:
                    packed, self._begun = self._frame.unused_data, False
                    self._frame = self._frames.decompressobj()
            self._content = b"".join(parts)
        count = min(len(buffer), len(self._content))
        buffer[:count], self._content = self._content[:count], self._content[count:]
        return count


def arrow() -> Any:
    """Import pyarrow, which reads and writes tables."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra("pyarrow", "parquet", "reading and writing Parquet and Arrow") from error
    return pyarrow


def _table(path: Path) -> tuple[Any, int]:
    """The schema of a table and its number of rows, without converting the rows."""
    pa = arrow()
    if path.suffix.lower() == ".parquet":
        with pa.parquet.ParquetFile(path) as file:
            return file.schema_arrow, file.metadata.num_rows
    with _ipc(path) as reader:
        return reader.schema, sum(batch.num_rows for batch in _ipc_batches(reader))


def _batches(path: Path) -> Iterator[Any]:
    """Yield a table's rows in small batches."""
    if path.suffix.lower() == ".parquet":
        with arrow().parquet.ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=_TABLE_ROWS)
        return
    with _ipc(path) as reader:
        for batch in _ipc_batches(reader):
            for start in range(0, batch.num_rows, _TABLE_ROWS):
                yield batch.slice(start, _TABLE_ROWS)


@contextmanager
def _ipc(path: Path) -> Iterator[Any]:
    """Open an Arrow IPC file, which allows random access (Feather), or else an Arrow stream."""
    pa = arrow()
    with pa.memory_map(str(path)) as file:
        try:
            reader = pa.ipc.open_file(file)
        except pa.ArrowInvalid:
            file.seek(0)
            reader = pa.ipc.open_stream(file)
        yield reader


def _ipc_batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "get_batch"):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)


def _bytes_of(row: Any) -> int:
    match row:
        case dict():
            return sum(map(_bytes_of, row.values()))
        case list():
            return sum(map(_bytes_of, row))
        case str() | bytes():
            return len(row)
        case _:
            return 8
