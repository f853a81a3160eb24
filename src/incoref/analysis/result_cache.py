"""What has been computed is kept, so that a repeated call goes on where the last one stopped.

One file of JSON lines, a result each, under a digest of all that the result depends on. A line that a kill cut short
counts as absent. Knows nothing of what is computed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from incoref.errors import IncorefError
from incoref.types import Document

Item = TypeVar("Item")
Progress = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and of how much."""


def _tell_nobody(what: str, done: int, total: int) -> None: ...


class Keeper:
    """Computes what is not there yet."""

    def __init__(self, path: Path, *, again: bool = False, progress: Progress = _tell_nobody) -> None:
        """``again`` computes everything anew; the new results are what is found from then on."""
        self._path, self._progress = path, progress
        self._kept: dict[str, dict[str, Any]] = {} if again else _read(path)
        self._dates: set[str] = set()

    def each(
        self,
        what: str,
        items: Sequence[Item],
        depends_on: Callable[[Item], Sequence[Any]],
        compute: Callable[[Item], Any],
    ) -> list[Any]:
        """The result of each item, which is a JSON value that depends on nothing but ``depends_on``."""
        found = []
        for done, item in enumerate(items):
            self._progress(what, done, len(items))
            key = digest(what, *depends_on(item))
            if key not in self._kept:
                value = json.loads(json.dumps(compute(item)))  # the same value now as when it is read back
                self._kept[key] = {"key": key, "what": what, "date": today(), "value": value}
                self._write(self._kept[key])
            found.append(self._kept[key]["value"])
            self._dates.add(self._kept[key]["date"])
        self._progress(what, len(items), len(items))
        return found

    @property
    def measured(self) -> str:
        """When the results were computed that have been asked for: a day, or the first and the last."""
        days = sorted(self._dates) or [today()]
        return days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"

    def _write(self, line: dict[str, Any]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as file:
                if file.tell() and not _ends_in_line_break(file):
                    file.write(b"\n")
                file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        except OSError as error:
            raise IncorefError(f"{self._path}: {error.strerror or error}") from error


def _ends_in_line_break(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def _read(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    kept = {}
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            result = json.loads(line)
            if result.keys() >= {"key", "date", "value"}:
                kept[result["key"]] = result
        except (ValueError, AttributeError):
            continue  # cut short
    return kept


def digest(*parts: Any) -> str:
    """Of JSON values."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def text_digest(document: Document) -> str:
    """Of what a system sees of a document: words, sentences, speakers; not of its annotation."""
    return digest([[s.speaker, [token.text for token in s.tokens]] for s in document.sentences])
