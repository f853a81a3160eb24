"""Input to resolve: files in any format, compressed or not, directories, standard input.

For every input other than plain text, a line on standard error names the detected format.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from incoref.cli._console import STDIN, note
from incoref.errors import FormatError, IncorefError

if TYPE_CHECKING:
    from incoref.corpora import Format
    from incoref.corpora.turns import Turn
    from incoref.session.updates import Message
    from incoref.types import Document

Encoding = Annotated[
    str, typer.Option("--encoding", metavar="NAME", help="Text encoding: utf-8, utf-16, latin-1, cp1252, …")
]

PLAIN = "text"
_MOST_NAMES = 5


class Input(NamedTuple):
    """One text to resolve: plain, or a document with its own sentences and speakers."""

    id: str
    content: Document | str


def shown(name: str) -> str:
    return "standard input" if name == STDIN else name


def expanded(names: Iterable[str]) -> list[str]:
    """The named files, with directories replaced by their files in path order; a note lists those left out."""
    from incoref.corpora import files_of, is_of_no_format
    from incoref.corpora.files import files_in, is_directory

    names_of_files: list[str] = []
    for name in names:
        if name != STDIN and is_directory(Path(name)):
            names_of_files += map(str, files_of(Path(name), annotated_alone=False))
            others = [str(file.relative_to(name)) for file in files_in(Path(name), is_of_no_format)]
            if others:
                named = ", ".join(others[:_MOST_NAMES]) + (", …" if len(others) > _MOST_NAMES else "")
                note(f"{name}: skipped files without the suffix of a known format: {named}")
        else:
            names_of_files.append(name)
    return names_of_files


def inputs(name: str, format: str | None, speakers: bool | None, encoding: str) -> Iterator[Input]:
    """The texts in a file."""
    from incoref.corpora.files import decoded, decompressed

    text = decoded(decompressed(_bytes_of(name), shown(name)), shown(name), encoding)
    id = "stdin" if name == STDIN else name
    known = _format_of(text, name, format, speakers)
    if known is None:
        yield Input(id, text)
        return
    try:
        documents = _read_as(text, name, known)
    except FormatError as error:
        raise error if format or speakers else _with_way_out(error) from error
    for document in documents:
        yield Input(id if len(documents) == 1 else document.id, document)


def _format_of(text: str, name: str, format: str | None, speakers: bool | None) -> Format | None:
    """The format of a text; none for plain text."""
    from incoref.corpora import FORMATS
    from incoref.corpora._registry import format_named

    if format is not None:
        known = format_named(format)
        if known.read is None:
            raise IncorefError(f"the format {known.name} can be written but not read")
    elif speakers:
        known = FORMATS["transcript"]
    elif not text.strip():
        return None
    else:
        known = _recognised(text, name)
        if speakers is False and known.name == "transcript":
            return None
    return None if known.name == PLAIN else known


def _recognised(text: str, name: str) -> Format:
    """The detected format; if none fits, an error that says what to do."""
    from incoref.corpora import guess
    from incoref.corpora.files import with_usual_line_ends

    try:
        return guess(with_usual_line_ends(text), shown(name))
    except FormatError as error:
        raise _with_way_out(error) from error


def _with_way_out(error: FormatError) -> FormatError:
    """The same error, with the advice to read the text as plain text."""
    return FormatError(f"{error.fault}; --from text reads it as it is", path=error.path, line=error.line)


def _read_as(text: str, name: str, known: Format) -> list[Document]:
    """The documents in a text, summarised in one line on standard error."""
    from incoref.corpora import read_as
    from incoref.corpora.files import with_usual_line_ends

    text = with_usual_line_ends(text)
    assert known.read is not None
    try:
        documents = list(known.read(text, "stdin") if name == STDIN else read_as(known, text, Path(name)))
    except FormatError as error:
        raise FormatError(error.fault, path=shown(STDIN) if name == STDIN else error.path, line=error.line) from error
    note(f"{shown(name)}: read as {known.name} ({known.about.removesuffix(' (reading)')}): {_told(documents, known)}")
    return documents


def _told(documents: list[Document], known: Format) -> str:
    speakers = {sentence.speaker for document in documents for sentence in document.sentences} - {None}
    parts = [_counted(len(documents), "document")] if len(documents) > 1 else []
    parts.append(_counted(sum(len(document.sentences) for document in documents), "sentence"))
    if speakers or not known.annotated:
        parts.append(_counted(len(speakers), "speaker"))
    return ", ".join(parts) + ("; its annotation is ignored" if known.annotated else "")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _bytes_of(name: str) -> bytes:
    if name == STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except (OSError, ValueError) as error:
        raise IncorefError(f"{name}: {getattr(error, 'strerror', None) or error}") from error


def message_of(turn: Turn) -> Message:
    """A turn as a message for a session, with its id and time."""
    from incoref.session.updates import Message

    return Message(turn.text, turn.speaker, turn.id, turn.time)
