"""Spark's ``mapInArrow``, without Spark; tests/e2e/test_engines.py runs it on executors."""

from __future__ import annotations

import pickle

import pyarrow as pa

from incoref.integrations.spark import Resolve
from tiny_models import TinyModels


def test_rows_are_answered_in_batches_with_all_other_columns(tiny: TinyModels) -> None:
    resolver = Resolve("body", model=str(tiny.int8), fields=["text", "entities"], singletons=True)
    resolve = pickle.loads(pickle.dumps(resolver))
    rows = [{"id": n, "body": "Anna met Carl. She left." if n % 4 else None, "lang": "en"} for n in range(10)]
    batches = pa.Table.from_pylist(rows).to_batches(max_chunksize=3)
    found = [row for batch in resolve(iter(batches)) for row in batch.to_pylist()]
    assert [(row["id"], row["lang"]) for row in found] == [(n, "en") for n in range(10)]
    assert all((row["error"] is None) == (row["id"] % 4 > 0) for row in found)
    assert found[1]["text"] == rows[1]["body"]
    assert found[1]["entities"]
    assert found[0]["entities"] is None
