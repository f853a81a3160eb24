"""Cache results, so that a repeated call resumes where the last one stopped.

The cache is a JSON Lines file with one result per line, keyed by a digest of everything that the result depends on,
including the code; each line records its provenance. A truncated line, as left by a killed process, is ignored.
Independent of what is computed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from incoref.analysis.provenance import Provenance, code_digest, combined, here, machine
from incoref.errors import IncorefError
from incoref.types import Document

Item = TypeVar("Item")
Progress = Callable[[str, int, int], None]
"""Receives the current task, the number of items done and the total."""


def _no_progress(what: str, done: int, total: int) -> None: ...


class ResultCache:
    """Computes the results that are not in the file yet."""

    def __init__(self, path: Path, *, again: bool = False, progress: Progress = _no_progress) -> None:
        """``again`` recomputes everything; later calls reuse the new results."""
        self._path, self._progress = path, progress
        self._results: dict[str, dict[str, Any]] = {} if again else _read_results(path)
        self._used: dict[str, Provenance] = {}

    def each(
        self,
        what: str,
        items: Sequence[Item],
        depends_on: Callable[[Item], Sequence[Any]],
        compute: Callable[[Item], Any],
        *,
        timed: bool = False,
    ) -> list[Any]:
        """Return the result for each item: a JSON value that depends only on ``depends_on`` and the code.

        ``timed`` results also depend on the machine, and are measured again on a different one.
        """
        results = []
        for done, item in enumerate(items):
            self._progress(what, done, len(items))
            key = digest(what, code_digest(), machine() if timed else None, *depends_on(item))
            if key not in self._results:
                value = json.loads(json.dumps(compute(item)))  # so that new and cached values are equal
                self._results[key] = {"key": key, "what": what, "made": here().to_json(), "value": value}
                self._write(self._results[key])
            results.append(self._results[key]["value"])
            self._used[key] = Provenance.from_json(self._results[key]["made"])
        self._progress(what, len(items), len(items))
        return results

    @property
    def provenance(self) -> Provenance:
        """The combined provenance of all results requested so far."""
        return combined(list(self._used.values()) or [here()])

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


def _read_results(path: Path) -> dict[str, dict[str, Any]]:
    if not path.is_file():
        return {}
    results = {}
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            result = json.loads(line)
            if result.keys() >= {"key", "made", "value"}:
                results[result["key"]] = result
        except (ValueError, AttributeError):
            continue  # truncated
    return results


def digest(*parts: Any) -> str:
    """Return a digest of JSON values."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def text_digest(document: Document) -> str:
    """Return a digest of a document's words, sentences and speakers, without its annotation."""
    return digest([[s.speaker, [token.text for token in s.tokens]] for s in document.sentences])
