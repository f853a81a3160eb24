"""Read, write and count annotated corpora and other text formats.

``read(path)`` yields the documents of a file or directory one at a time; ``write(documents, path, format)`` writes
them atomically and reports what the format can't express. Each format has its own module, which converts between
text and documents and never touches files; ``docs/formats.md`` describes the formats.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from incoref.corpora import slack
from incoref.corpora._registry import FORMATS, Format, format_named, format_of_suffix, guess
from incoref.corpora._stats import Statistics, statistics
from incoref.corpora.files import (
    UTF8,
    files_in,
    is_directory,
    read_text,
    with_usual_line_ends,
    write_directory,
    write_file,
)
from incoref.corpora.losses import NAMES, Loss, Losses
from incoref.corpora.turns import COMPRESSED, Turn, turns_of
from incoref.corpora.turns import documents as documents_of
from incoref.errors import IncorefError
from incoref.types import Document

__all__ = ["FORMATS", "Format", "Loss", "Statistics", "files_of", "guess", "heard", "read", "statistics", "write"]

_SUFFIXES = tuple(suffix for format in FORMATS.values() if format.read for suffix in format.suffixes)
_NOT_IN_FILE_NAME = re.compile(r'[/\\:*?"<>|\x00-\x1f]+')


def read(path: Path | str, format: str | None = None, encoding: str = UTF8) -> Iterator[Document]:
    """Yield the documents of a file, or of all files in a directory, sorted by path.

    If no format is given, it is detected for each file from its content. In a directory, files are selected by
    suffix; plain text and conversations are read only if there are no annotated files. Files may be compressed with
    gzip or zstd.
    """
    path = Path(path)
    known = format_named(format) if format is not None else None
    if known is not None and known.read is None:
        raise IncorefError(f"the format {known.name} can be written but not read")
    for file in files_of(path, known) if is_directory(path) else [path]:
        text = read_text(file, encoding)
        yield from _without_garbage_collection(read_as(known or guess(text, file), text, file))


def read_as(known: Format, text: str, file: Path) -> Iterator[Document]:
    """Yield the documents in a file's text; for Slack, take user names from the export's ``users.json``."""
    if known.name == "slack":
        for folder in (file.parent, file.parent.parent):
            users = folder / slack.USERS
            if users.is_file():
                names = slack.names_of_users(read_text(users), users)
                return documents_of(slack.conversations(text, file, names))
    assert known.read is not None
    return known.read(text, file)


def heard(text: str, path: Path | str) -> tuple[Format, list[Turn]]:
    """Detect the format of a text and return it with the turns; plain text is one turn without a speaker."""
    text = with_usual_line_ends(text)
    known = guess(text, path)
    if known.listen is not None:
        return known, [turn for conversation in known.listen(text, path) for turn in conversation.turns]
    if known.name == "text":
        return known, [Turn(text)]
    assert known.read is not None
    return known, [turn for document in known.read(text, path) for turn in turns_of(document)]


def files_of(directory: Path, known: Format | None = None, *, annotated_alone: bool = True) -> list[Path]:
    """The files of a directory in the given format, or in any format.

    Without a format, annotated files take precedence: if there are any, only they are returned, unless
    ``annotated_alone`` is false.
    """
    suffixes = known.suffixes if known else _SUFFIXES
    files = files_in(
        directory, lambda file: _name_of(file).endswith(suffixes) and file.name not in slack.NOT_MESSAGES
    )
    if known is None and annotated_alone:
        annotated = tuple(suffix for format in FORMATS.values() if format.annotated for suffix in format.suffixes)
        files = [file for file in files if _name_of(file).endswith(annotated)] or files
    if not files:
        raise IncorefError(f"{directory}: no file whose name ends in {', '.join(sorted(set(suffixes)))}")
    return files


def is_of_no_format(file: Path) -> bool:
    """Whether a file in a directory is skipped because no format has its suffix."""
    return not _name_of(file).endswith(_SUFFIXES)


def _name_of(file: Path) -> str:
    """The file name in lower case, without a compression suffix."""
    name = file.name.lower()
    return next((name.removesuffix(ending) for ending in COMPRESSED if name.endswith(ending)), name)


def _without_garbage_collection(documents: Iterator[Document]) -> Iterator[Document]:
    """Pause the garbage collector while reading: it takes a quarter of the time, and documents have no cycles."""
    while True:
        enabled = gc.isenabled()
        gc.disable()
        try:
            document = next(documents, None)
        finally:
            if enabled:
                gc.enable()
        if document is None:
            return
        yield document


def write(documents: Iterable[Document], path: Path | str, format: str | None = None) -> list[Loss]:
    """Write documents to one file, or to a directory with one file per document; return what was lost.

    The path is a directory if it exists as one, or if it is a string that ends in a slash; brat always needs one.
    If anything fails, no partial output is left behind. Without a format, the path's suffix decides.
    """
    to_directory = isinstance(path, str) and path.endswith("/")
    path = Path(path)
    known = format_named(format) if format is not None else format_of_suffix(path)
    if known is None:
        can_write = [name for name, format in FORMATS.items() if format.write or format.write_files]
        raise IncorefError(f"{path}: name the format to write; there are: {', '.join(can_write)}")
    if known.write is None and known.write_files is None:
        raise IncorefError(f"the format {known.name} can be read but not written")
    losses = Losses()
    if known.write_files is not None:
        write_directory(path, known.write_files(_named(documents), losses))
    elif known.write is not None and (to_directory or is_directory(path)):
        write_directory(path, _files(_named(documents), known, losses))
    elif known.write is not None:
        write_file(path, known.write(_only_one(documents, path, losses) if known.one_a_file else documents, losses))
    return losses.report()


def _files(named: Iterable[tuple[str, Document]], known: Format, losses: Losses) -> Iterator[tuple[str, str]]:
    """Yield the name and content of one file per document."""
    assert known.write is not None
    for name, document in named:
        if known.one_a_file:
            losses.add(NAMES, int(name != document.id))
        yield name + known.suffixes[0], "".join(known.write([document], losses))


def _named(documents: Iterable[Document]) -> Iterator[tuple[str, Document]]:
    """Give each document a unique, safe file name."""
    used: set[str] = set()
    for document in documents:
        plain = _NOT_IN_FILE_NAME.sub("_", document.id).strip(" .") or "document"
        name = plain if plain not in used else next(n for i in count(2) if (n := f"{plain}-{i}") not in used)
        used.add(name)
        yield name, document


def _only_one(documents: Iterable[Document], path: Path, losses: Losses) -> Iterator[Document]:
    for number, document in enumerate(documents):
        if number:
            raise IncorefError(f"{path}: a file of plain text holds one document; name a directory for several")
        losses.add(NAMES, int(path.stem != document.id))
        yield document
