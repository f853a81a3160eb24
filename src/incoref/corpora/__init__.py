"""Annotated corpora and the formats they come in: reading, writing, guessing the format.

``read(path)`` gives the documents of a file or directory, one after the other. A module a format turns text into
documents and back and knows nothing of files; this one knows files and which formats there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from incoref.corpora._files import files_in, read_text
from incoref.corpora._registry import FORMATS, format_named, guess
from incoref.errors import IncorefError
from incoref.types import Document

__all__ = ["FORMATS", "guess", "read"]


def read(path: Path | str, format: str | None = None) -> Iterator[Document]:
    """The documents of a file, or of a directory's files in order of their paths.

    Without a format, each file's is guessed from its content.
    """
    path = Path(path)
    known = format_named(format) if format else None
    files = [path]
    if path.is_dir():
        files = files_in(path, lambda file: file.name.lower().endswith(SUFFIXES))
        if not files:
            raise IncorefError(f"{path}: no file of a known format in this directory")
    for file in files:
        text = read_text(file)
        yield from (known or guess(text, file)).read(text, file)


SUFFIXES = (".conll", "_conll", ".conllu", ".conllua", ".jsonlines", ".jsonl", ".key", ".response")
