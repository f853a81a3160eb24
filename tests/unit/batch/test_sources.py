"""Rows come out of every kind of file, in the same order each time."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import zstandard

from incoref.batch.sources import Raw, sources_of
from incoref.errors import IncorefError

LINES = b'{"id": "a", "text": "Anna left."}\n\n{"id": "b", "text": "She left."}\n'
ROWS = [{"id": "a", "text": "Anna left."}, {"id": "b", "text": "She left."}]


def rows_of(*names: Path) -> list[Raw]:
    return [raw for source in sources_of([str(name) for name in names]) for raw in source.rows()]


def values(raws: list[Raw]) -> list[object]:
    return [json.loads(raw.value) if isinstance(raw.value, bytes) else raw.value for raw in raws]


def write(path: Path) -> Path:
    table = pa.Table.from_pylist(ROWS)
    match path.suffix:
        case ".gz":
            path.write_bytes(gzip.compress(LINES[:20]) + gzip.compress(LINES[20:]))
        case ".zst":
            pack = zstandard.ZstdCompressor().compress
            path.write_bytes(pack(LINES[:20]) + pack(LINES[20:]))
        case ".parquet":
            pq.write_table(table, path)
        case ".feather":
            pyarrow.feather.write_feather(table, path)
        case ".arrow":
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
                stream.write_table(table)
        case _:
            path.write_bytes(LINES)
    return path


@pytest.mark.parametrize("name", "a.jsonl a.ndjson a.jsonl.gz a.jsonl.zst a.parquet a.feather a.arrow".split())
def test_all_kinds_of_files_give_the_same_rows(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name)
    found = rows_of(path)
    assert values(found) == ROWS
    second = 3 if path.suffixes[0] in (".jsonl", ".ndjson") else 2
    assert [raw.place for raw in found] == [f"{path}:1", f"{path}:{second}"]


def test_a_folder_gives_its_files_by_name(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.txt", "a/b.jsonl", ".hidden.txt", "notes.pdf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(LINES)
    assert [raw.place.removeprefix(f"{tmp_path}/") for raw in rows_of(tmp_path)] == [
        "a/b.jsonl:1",
        "a/b.jsonl:3",
        "a/c.txt",
        "b.txt",
    ]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("none.jsonl", "no such file"),
        ("a.pdf", "its suffix isn't supported"),
        ("empty", "nothing to read in this folder"),
        ("cut.jsonl.gz", "can't be read"),
        ("cut.jsonl.zst", "can't be read"),
        ("no.parquet", "can't be read"),
        ("no.arrow", "can't be read"),
    ],
)
def test_faults_name_the_file(tmp_path: Path, name: str, fault: str) -> None:
    path = tmp_path / name
    if name == "empty":
        path.mkdir()
    elif name.startswith("cut"):
        whole = write(tmp_path / f"whole{''.join(path.suffixes)}").read_bytes()
        path.write_bytes(whole[:-9])
    elif not name.startswith("none"):
        path.write_bytes(b"nothing of the kind")
    with pytest.raises(IncorefError, match=fault) as raised:
        rows_of(path)
    assert name in str(raised.value)
