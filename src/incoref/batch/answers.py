"""Parses rows into texts, resolves them, and formats the answers. Reads no files except plain text."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from incoref.batch.sources import Raw
from incoref.errors import IncorefError
from incoref.outputs.jsonable import document_json
from incoref.resolver import Resolver, Text
from incoref.session.resolved_text import resolved_text
from incoref.session.updates import Message
from incoref.types import Document

FIELDS = ("text", "sentences", "entities", "resolved")
DEFAULT_FIELDS = ("text", "sentences", "entities")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a row to use; all others are passed through."""

    text: str = "text"
    """A text, or a list of texts for the turns of a conversation."""
    id: str = "id"
    """A row without an id gets its file and line as id."""
    speaker: str | None = None
    """The speaker of the text, or a list of the speakers of each turn."""

    def __post_init__(self) -> None:
        if len({self.text, self.id, self.speaker}) < 3:
            raise IncorefError("text, id and speaker need columns of their own")


@dataclass(frozen=True, slots=True)
class Row:
    """A document to resolve."""

    id: str | int
    place: str
    text: Text
    others: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that can't be read as a document, and why."""

    id: str | int | None
    place: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "place": self.place, "reason": self.reason}


def parsed(raw: Raw, columns: Columns) -> Row | BadRow:
    """Parse a row into a document to resolve."""
    value = raw.value
    if isinstance(value, Path):
        try:
            return Row(raw.place, raw.place, value.read_bytes().decode("utf-8-sig"), {})
        except (OSError, UnicodeDecodeError) as error:
            return BadRow(raw.place, raw.place, f"the file can't be read as UTF-8 text: {error}")
    if isinstance(value, bytes):
        try:
            value = json.loads(value, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            return BadRow(None, raw.place, f"not JSON: {error}")
    if not isinstance(value, dict):
        return BadRow(None, raw.place, f"a row is a JSON object, not {_kind(value)}")
    given = value.get(columns.id)
    id = raw.place if given is None else given
    if not isinstance(id, str | int) or isinstance(id, bool):
        return BadRow(None, raw.place, f"its id in '{columns.id}' is neither a string nor a whole number")
    try:
        text = _text(value, columns)
    except IncorefError as error:
        return BadRow(id, raw.place, str(error))
    ours = {columns.text, columns.id, columns.speaker}
    return Row(id, raw.place, text, {name: item for name, item in value.items() if name not in ours})


def _no_number(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _text(row: Mapping[str, Any], columns: Columns) -> Text:
    if columns.text not in row:
        raise IncorefError(f"no column '{columns.text}'; it has {', '.join(map(str, row)) or 'none'}")
    text = row[columns.text]
    speaker = row.get(columns.speaker) if columns.speaker else None
    if isinstance(text, str):
        if speaker is None:
            return text
        if not isinstance(speaker, str):
            raise IncorefError(f"the speaker of a text is a string, not {_kind(speaker)}")
        return [Message(text, speaker)]
    if not isinstance(text, list) or not all(isinstance(turn, str) for turn in text):
        raise IncorefError(f"'{columns.text}' is neither a string nor a list of strings, but {_kind(text)}")
    speakers = [speaker] * len(text) if speaker is None or isinstance(speaker, str) else speaker
    if not isinstance(speakers, list) or len(speakers) != len(text):
        raise IncorefError(f"'{columns.speaker}' must have one speaker for each of the {len(text)} turns")
    if not all(one is None or isinstance(one, str) for one in speakers):
        raise IncorefError(f"'{columns.speaker}' has speakers that aren't strings")
    return [Message(turn, one) for turn, one in zip(text, speakers, strict=True)]


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__


@dataclass(frozen=True, slots=True)
class Resolved:
    """A row with its resolved document."""

    row: Row
    document: Document

    def to_json(self, fields: Sequence[str]) -> dict[str, Any]:
        """The id, the chosen fields and then the other columns, as JSON."""
        ours = self.fields(fields)
        return {**ours, **{name: plain(value) for name, value in self.row.others.items() if name not in ours}}

    def to_row(self, fields: Sequence[str]) -> dict[str, Any]:
        """The id, the chosen fields and the other columns with their original values."""
        return {**self.row.others, **self.fields(fields)}

    def fields(self, fields: Sequence[str]) -> dict[str, Any]:
        """The id and the chosen fields, which take precedence over other columns of the same name."""
        whole = document_json(self.document)
        values: dict[str, Any] = {"id": self.row.id}
        for field in FIELDS:
            if field in fields:
                values[field] = resolved_text(self.document) if field == "resolved" else whole[field]
        return values


def plain(value: Any) -> Any:
    """Convert a table value to JSON: dates to text, bytes to base64, NaN and infinity to null."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if isfinite(value) else None
        case Mapping():
            return {str(name): plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case bytes():
            return b64encode(value).decode("ascii")
        case _:
            return value.isoformat() if hasattr(value, "isoformat") else str(value)


def resolved(
    resolver: Resolver, rows: Iterable[Raw], columns: Columns, *, singletons: bool, options: Mapping[str, Any]
) -> Iterator[Resolved | BadRow]:
    """Yield the answers to rows, in order; documents are processed in batches."""
    waiting: deque[Row | BadRow] = deque()

    def texts() -> Iterator[Text]:
        for raw in rows:
            row = parsed(raw, columns)
            waiting.append(row)
            if isinstance(row, Row):
                yield row.text

    def bad_ones() -> Iterator[BadRow]:
        while waiting and isinstance(waiting[0], BadRow):
            yield waiting.popleft()  # type: ignore[misc]  # checked in the condition

    for outcome in resolver.outcomes(texts(), singletons=singletons, **options):
        yield from bad_ones()
        row = waiting.popleft()
        assert isinstance(row, Row)
        yield BadRow(row.id, row.place, str(outcome)) if isinstance(outcome, IncorefError) else Resolved(row, outcome)
    yield from bad_ones()
