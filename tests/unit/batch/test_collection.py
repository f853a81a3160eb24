"""A run in this process: shards, resuming, errors, progress. Killed processes are in tests/e2e/test_batch.py."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.batch import run
from incoref.batch.collection import Progress, shards_of
from incoref.batch.sources import Raw, Source
from incoref.errors import IncorefError
from incoref.resolver import Resolver

TEXT = "Anna met Carl. She saw the dog. The dog saw Anna."


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    rows: list[Any] = [{"id": f"d{n}", "text": TEXT * (1 + n % 3), "n": n} for n in range(25)]
    rows[7] = {"id": "bad"}
    rows[24] = {"id": "worse", "text": 1}
    return write_lines(tmp_path / "in.jsonl", rows)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_every_row_is_answered_once_in_order(rule_resolver: Resolver, lines: Path, tmp_path: Path) -> None:
    summary = run(lines, tmp_path / "out", model=rule_resolver, shard_rows=10)
    found = [
        json.loads(line)
        for part in sorted((tmp_path / "out").glob("part-*"))
        for line in part.read_text().splitlines()
    ]
    assert [row["id"] for row in found] == [f"d{n}" for n in range(25) if n not in (7, 24)]
    expected = rule_resolver.resolve(TEXT)
    assert found[0]["text"] == TEXT
    assert [entity["name"] for entity in found[0]["entities"]] == [entity.name for entity in expected.entities]
    assert found[3]["n"] == 3
    errors = [json.loads(line) for line in (tmp_path / "out" / "errors.jsonl").read_text().splitlines()]
    assert [(error["id"], error["place"]) for error in errors] == [("bad", f"{lines}:8"), ("worse", f"{lines}:25")]
    assert (summary.documents, summary.errors, summary.shards, summary.resumed) == (23, 2, 3, 0)
    assert summary.words == sum(len(rule_resolver.resolve(row["text"]).tokens) for row in found)


def test_a_run_that_goes_on_does_only_what_is_left(rule_resolver: Resolver, lines: Path, tmp_path: Path) -> None:
    run(lines, tmp_path / "whole", model=rule_resolver, shard_rows=4)

    class Interrupted(Exception):
        pass

    def interrupt(progress: Progress) -> None:
        if progress.documents >= 10:
            raise Interrupted

    with pytest.raises(Interrupted):
        run(lines, tmp_path / "out", model=rule_resolver, shard_rows=4, tell=interrupt)
    assert 0 < len(list((tmp_path / "out").glob("part-*"))) < 7
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("part-*")}
    summary = run(lines, tmp_path / "out", model=rule_resolver, shard_rows=4)
    assert 0 < summary.resumed < summary.documents == 23
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in times} == times


def test_a_finished_run_is_finished(rule_resolver: Resolver, lines: Path, tmp_path: Path) -> None:
    first = run(lines, tmp_path / "out", model=rule_resolver)
    again = run(lines, tmp_path / "out", model=rule_resolver)
    assert (again.documents, again.resumed, again.new_words) == (first.documents, first.documents, 0)


def test_parquet_in_and_out(rule_resolver: Resolver, tmp_path: Path) -> None:
    rows = [{"id": n, "text": TEXT, "score": n / 2} for n in range(300)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "out", to="parquet", model=rule_resolver, fields=["entities", "resolved"])
    table = pq.read_table(tmp_path / "out" / "part-00000.parquet")
    assert table.column_names == ["id", "entities", "resolved", "score"]
    found = table.to_pylist()
    assert [row["id"] for row in found] == [str(n) for n in range(300)]
    mention = found[-1]["entities"][0]["mentions"][1]
    assert TEXT[mention["start"] : mention["end"]] == mention["text"]
    assert found[5]["score"] == 2.5


def test_a_folder_of_texts(rule_resolver: Resolver, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.txt").write_text(TEXT)
    (folder / "b.txt").write_bytes(b"caf\xe9")
    summary = run(folder, tmp_path / "out", model=rule_resolver)
    assert (summary.documents, summary.errors) == (1, 1)
    (found,) = (json.loads(line) for line in (tmp_path / "out" / "part-00000.jsonl").read_text().splitlines())
    assert (found["id"], found["text"]) == (str(folder / "a.txt"), TEXT)


def test_too_many_errors_stop_a_run(rule_resolver: Resolver, lines: Path, tmp_path: Path) -> None:
    with pytest.raises(
        IncorefError, match=r"1 rows can't be read as documents, more than the 0 .*: no column 'text'"
    ):
        run(lines, tmp_path / "out", model=rule_resolver, shard_rows=5, max_errors=0)
    assert (tmp_path / "out" / "errors.jsonl").read_text().count("\n") == 1
    assert run(lines, tmp_path / "out", model=rule_resolver, shard_rows=5, max_errors=2).errors == 2


def test_progress_ends_at_the_whole(rule_resolver: Resolver, lines: Path, tmp_path: Path) -> None:
    heard: list[tuple[int, float | None]] = []
    run(
        lines,
        tmp_path / "out",
        model=rule_resolver,
        shard_rows=5,
        tell=lambda progress: heard.append((progress.documents, progress.share)),
    )
    shares = [share for _, share in heard if share is not None]
    assert shares == sorted(shares)
    assert heard[-1] == (25, 1.0)


def test_an_empty_file_does_not_hide_how_far_a_run_is(rule_resolver: Resolver, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, text in (("a.txt", TEXT), ("b.txt", ""), ("c.txt", TEXT)):
        (folder / name).write_text(text)
    shares: list[float | None] = []
    run(folder, tmp_path / "out", model=rule_resolver, shard_rows=1, tell=lambda told: shares.append(told.share))
    assert shares[-1] == 1.0
    assert 0.5 in shares


def test_time_left_follows_from_what_this_run_has_done(rule_resolver: Resolver, lines: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(lines, out, model=rule_resolver, shard_rows=5)
    for number in (3, 4):
        (out / f"part-{number:05}.jsonl").unlink()
    heard: list[Progress] = []
    run(lines, out, model=rule_resolver, shard_rows=5, tell=lambda told: heard.append(replace(told)))
    halfway = next(told for told in heard if told.share is not None and 0.7 < told.share < 1)
    assert 0.5 < halfway.skipped_share < 0.7
    # A fifth of the input is done in this run, and a fifth is left.
    assert halfway.seconds_left == pytest.approx(halfway.seconds, rel=0.5)
    assert heard[-1].seconds_left == 0


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"to": "xml"}, "no format 'xml'"),
        ({"fields": ["chains"]}, "no fields chains"),
        ({"fields": []}, "no fields at all"),
        ({"workers": 0}, "workers is 0"),
        ({"workers": 2, "threads": 2}, "each has one thread"),
        ({"genre": "opera"}, "no genre 'opera'"),
        ({"inputs": []}, "nothing to read"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    rule_resolver: Resolver, lines: Path, tmp_path: Path, given: dict[str, Any], fault: str
) -> None:
    inputs = given.pop("inputs", [lines])
    with pytest.raises(IncorefError, match=fault):
        run(inputs, tmp_path / "out", model=rule_resolver, **given)
    assert not (tmp_path / "out").exists()


@given(st.lists(st.integers(1, 1 << 25), max_size=40), st.integers(1, 9))
def test_shards_have_all_rows_once_and_are_bounded(sizes: list[int], most: int) -> None:
    class Made(Source):
        def rows(self) -> Any:
            return (Raw(str(n), b"", size, 0) for n, size in enumerate(sizes))

    found = list(shards_of([Made("x.jsonl", 1)], most))
    assert [raw.place for _, rows, _ in found for raw in rows] == [str(n) for n in range(len(sizes))]
    assert [number for number, _, _ in found] == list(range(len(found)))
    for _, rows, _ in found:
        assert len(rows) <= most
        assert len(rows) == 1 or sum(raw.size for raw in rows) <= 1 << 24
