"""Answers as Arrow tables: the columns of the Parquet files that ``incoref batch`` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from incoref.batch.answers import FIELDS, BadRow, Columns, plain, resolved
from incoref.batch.sources import Raw, arrow
from incoref.errors import IncorefError
from incoref.resolver import Resolver

OTHERS = "columns"
"""Column for the other fields of rows without a schema (JSON lines), as JSON."""
ERROR = "error"
_GROUP = 128
"""Documents per row group, which are held in memory."""


def schema_of(given: Any, columns: Columns, fields: Sequence[str]) -> Any:
    """The output schema for input rows with this schema, which is None for JSON lines and text."""
    pa = arrow()
    own = [pa.field("id", pa.string()), *_fields(fields)]
    if given is None:
        return pa.schema([*own, pa.field(OTHERS, pa.string())])
    ours = {columns.text, columns.id, columns.speaker, *(field.name for field in own)}
    return pa.schema([*own, *(field for field in given if field.name not in ours)])


def schema_in_an_engine(given: Any, columns: Columns, fields: Sequence[str]) -> Any:
    """The output schema for a table from Ray or Spark: its columns without text and speaker, then ours.

    ``error`` says why a row isn't a document.
    """
    pa = arrow()
    own = [*_fields(fields), pa.field(ERROR, pa.string())]
    ours = {columns.text, columns.speaker, *(field.name for field in own)}
    return pa.schema([*(field for field in given if field.name not in ours), *own])


def answered(
    resolver: Resolver, table: Any, columns: Columns, fields: Sequence[str], *, singletons: bool, options: Any
) -> Any:
    """Resolve the rows of a table and return a table with ``schema_in_an_engine``, one row per input row."""
    schema = schema_in_an_engine(table.schema, columns, fields)
    rows = table.to_pylist()
    raws = (Raw(f"row {number}", row, 0, 0) for number, row in enumerate(rows))
    answers = []
    for row, answer in zip(
        rows, resolved(resolver, raws, columns, singletons=singletons, options=options), strict=True
    ):
        of_ours = {ERROR: answer.reason} if isinstance(answer, BadRow) else answer.fields(fields)
        of_ours.pop("id", None)
        answers.append({**dict.fromkeys(schema.names), **row, **dict.fromkeys(fields), ERROR: None, **of_ours})
    return _table(answers, schema)


def _fields(fields: Sequence[str]) -> list[Any]:
    pa = arrow()
    place = [("start", pa.int64()), ("end", pa.int64())]
    mention = pa.struct(
        [
            *place,
            ("text", pa.string()),
            ("sentence", pa.int32()),
            ("confidence", pa.float64()),
            ("mention_confidence", pa.float64()),
        ]
    )
    names = [(name, pa.string()) for name in ("id", "name", "type", "speaker")]
    kinds = {
        "text": pa.string(),
        "sentences": pa.list_(pa.struct([*place, ("speaker", pa.string())])),
        "entities": pa.list_(pa.struct([*names, ("mentions", pa.list_(mention))])),
        "resolved": pa.string(),
    }
    return [pa.field(field, kinds[field]) for field in FIELDS if field in fields]


def common_schema(schemas: Sequence[tuple[str, Any]]) -> Any:
    """The schema that all named inputs share, None if they have none; different schemas are an error."""
    if not schemas:
        return None
    first_name, first = schemas[0]
    for name, schema in schemas[1:]:
        if (first is None) != (schema is None) or (first is not None and not first.equals(schema)):
            raise IncorefError(
                f"{name}: other columns than {first_name}; give tables with other columns a run of their own"
            )
    return first


class TableWriter:
    """Writes answers to a Parquet file, one row group at a time."""

    def __init__(self, path: Path, schema: Any, *, others_as_json: bool) -> None:
        self._schema, self._others_as_json = schema, others_as_json
        self._file = arrow().parquet.ParquetWriter(path, schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def write(self, answer: Mapping[str, Any]) -> None:
        row = {**answer, "id": str(answer["id"])}
        if self._others_as_json:
            others = {name: plain(value) for name, value in answer.items() if name not in self._schema.names}
            row[OTHERS] = json.dumps(others, ensure_ascii=False) if others else None
        self._rows.append(row)
        if len(self._rows) == _GROUP:
            self._flush()

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._rows:
            self._file.write_table(_table(self._rows, self._schema))
            self._rows = []


def _table(rows: list[dict[str, Any]], schema: Any) -> Any:
    table = arrow().Table
    try:
        return table.from_pylist(rows, schema=schema)
    except UnicodeEncodeError:  # an unpaired surrogate, which Arrow can't store
        return table.from_pylist(list(map(_whole_characters, rows)), schema=schema)


def _whole_characters(value: Any) -> Any:
    """Replace unpaired surrogates by question marks, which keeps offsets valid."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {name: _whole_characters(item) for name, item in value.items()}
        case list():
            return list(map(_whole_characters, value))
        case _:
            return value
