"""The output folder: shards that are written atomically, and records of those that are finished.

``part-00000.jsonl`` (or ``.parquet``) contains the answers to the first rows of the input, and so on;
``errors.jsonl`` lists the rows that can't be read as documents. ``.progress`` contains the settings of the run and a
record for each finished shard. The record is written after the shard's file, so it proves that the file is complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from incoref.corpora.files import write_file
from incoref.errors import IncorefError

_PROGRESS = ".progress"


@dataclass(frozen=True, slots=True)
class Record:
    """The counts and errors of a finished shard."""

    rows: int
    documents: int
    words: int
    entities: int
    errors: tuple[dict[str, Any], ...] = ()


class Shards:
    def __init__(self, folder: Path, suffix: str) -> None:
        self.folder, self._suffix = folder, suffix
        self._progress = folder / _PROGRESS

    def part(self, number: int) -> Path:
        return self.folder / f"part-{number:05}{self._suffix}"

    @contextmanager
    def claimed(self, settings: Mapping[str, Any]) -> Iterator[IO[bytes]]:
        """Lock the folder for a run with these settings; yields the lock file.

        The folder must be new, empty, or from an earlier run with the same settings.
        """
        try:
            known = self.folder.exists() and any(self.folder.iterdir())
            if known and not self._progress.is_dir():
                raise IncorefError(f"{self.folder}: not empty, and not from an earlier run; name another folder")
            self._progress.mkdir(parents=True, exist_ok=True)
            lock = (self._progress / "lock").open("wb")
        except OSError as error:
            raise IncorefError(f"{self.folder}: {error.strerror or error}") from error
        with lock:
            _lock(lock, self.folder)
            self._check(settings)
            for left in (*self.folder.glob(".part-*"), *self._progress.glob(".*")):
                left.unlink(missing_ok=True)  # left by a killed run
            yield lock

    def _check(self, settings: Mapping[str, Any]) -> None:
        path = self._progress / "settings.json"
        if path.exists():
            before = json.loads(path.read_text(encoding="utf-8"))
            now = json.loads(json.dumps(settings))
            changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
            if changed:
                raise IncorefError(
                    f"{self.folder}: an earlier run began here with other {', '.join(changed)}; give the same again "
                    "to go on, or name another folder"
                )
        else:
            write_file(path, [json.dumps(settings, indent=1, ensure_ascii=False) + "\n"])

    def record(self, number: int) -> Record | None:
        """The record of a shard, or None if it isn't finished."""
        try:
            data = json.loads(self._record(number).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return Record(**{**data, "errors": tuple(data["errors"])})

    def finish(self, number: int, unfinished: Path, record: Record) -> None:
        """Move a complete file into place, then write its record."""
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(self.part(number))
        write_file(self._record(number), [json.dumps(asdict(record), ensure_ascii=True) + "\n"])

    def unfinished(self, number: int) -> Path:
        """A temporary path for a shard that is being written.

        It is unique, because a worker may briefly outlive its run while the next run writes the same shard.
        """
        return self.folder / f".part-{number:05}-{token_hex(8)}{self._suffix}"

    def write_errors(self) -> None:
        """Collect the errors of all finished shards in ``errors.jsonl``, in row order."""
        errors = (error for path in sorted(self._progress.glob("part-*.json")) for error in _errors_of(path))
        write_file(self.folder / "errors.jsonl", (json.dumps(error, ensure_ascii=True) + "\n" for error in errors))

    def check_end(self, count: int) -> None:
        """Check that there are no shards beyond the end of the input."""
        if self._record(count).exists():
            raise IncorefError(f"{self.folder}: has results for more rows than the input has; use another folder")

    def _record(self, number: int) -> Path:
        return self._progress / f"part-{number:05}.json"


def _errors_of(path: Path) -> Sequence[dict[str, Any]]:
    errors: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["errors"]
    return errors


def _lock(file: IO[bytes], folder: Path) -> None:
    """Lock a file as long as it is open; the system releases the lock however the process ends."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise IncorefError(f"{folder}: another run is writing here") from error
