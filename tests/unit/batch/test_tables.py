"""Answers as Parquet."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incoref.batch.answers import FIELDS, Columns
from incoref.batch.tables import TableWriter, common_schema, schema_of
from incoref.errors import IncorefError

ANSWER = {"id": 3, "text": "half \ud800", "sentences": [], "entities": [], "resolved": "half \ud800", "n": 1}


def test_half_a_character_becomes_a_question_mark(tmp_path: Path) -> None:
    schema = schema_of(None, Columns(), FIELDS)
    with TableWriter(tmp_path / "a.parquet", schema, others_as_json=True) as table:
        table.write(ANSWER)
    (row,) = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert row["text"] == "half ?"
    assert (row["id"], json.loads(row["columns"])) == ("3", {"n": 1})


def test_other_columns_are_json_whatever_numbers_they_hold(tmp_path: Path) -> None:
    schema = schema_of(None, Columns(), FIELDS)
    with TableWriter(tmp_path / "a.parquet", schema, others_as_json=True) as table:
        table.write({**ANSWER, "n": float("inf"), "deep": [{"m": float("-inf"), "k": 2.5}]})
    (row,) = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert row["columns"] == '{"n": null, "deep": [{"m": null, "k": 2.5}]}'


def test_columns_of_tables_keep_their_types() -> None:
    given = pa.schema(
        [("text", pa.string()), ("id", pa.int64()), ("when", pa.timestamp("us")), ("entities", pa.int8())]
    )
    schema = schema_of(given, Columns(), ("entities",))
    assert schema.names == ["id", "entities", "when"]
    assert schema.field("when").type == pa.timestamp("us")


def test_tables_of_one_run_have_the_same_columns() -> None:
    one, other = pa.schema([("text", pa.string())]), pa.schema([("text", pa.large_string())])
    assert common_schema([("a", one), ("b", one)]) == one
    assert common_schema([]) is None
    for schemas in ([("a", one), ("b", other)], [("a", None), ("b", other)]):
        with pytest.raises(IncorefError, match="b: other columns than a"):
            common_schema(schemas)
