"""A folder of shards: one run at a time, and each shard whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from incoref.batch.shards import Record, Shards
from incoref.errors import IncorefError

SETTINGS = {"inputs": ["a"], "shard_rows": 10}


def finish(shards: Shards, number: int, *errors: str) -> None:
    unfinished = shards.unfinished(number)
    unfinished.write_text(f"{number}\n")
    shards.finish(number, unfinished, Record(1, 1, 2, 3, tuple({"reason": error} for error in errors)))


def test_a_shard_is_known_once_it_is_whole(tmp_path: Path) -> None:
    shards = Shards(tmp_path / "out", ".jsonl")
    with shards.claimed(SETTINGS):
        shards.unfinished(0).write_text("half of i")
        assert shards.record(0) is None
        finish(shards, 0, "odd")
        assert shards.record(0) == Record(1, 1, 2, 3, ({"reason": "odd"},))
        assert shards.part(0).read_text() == "0\n"
        unfinished = shards.unfinished(1)
        unfinished.write_text("half of i")
    with shards.claimed(SETTINGS):
        assert not unfinished.exists()
        finish(shards, 2)
        finish(shards, 1, "b", "c")
        shards.write_errors()
    lines = (tmp_path / "out" / "errors.jsonl").read_text().splitlines()
    assert [json.loads(line)["reason"] for line in lines] == ["odd", "b", "c"]


def test_a_run_that_was_told_something_else_does_not_go_on(tmp_path: Path) -> None:
    shards = Shards(tmp_path / "out", ".jsonl")
    with shards.claimed(SETTINGS):
        pass
    with (
        pytest.raises(IncorefError, match="with other shard_rows; give the same again"),
        shards.claimed({**SETTINGS, "shard_rows": 20}),
    ):
        pass


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with (
        pytest.raises(IncorefError, match="not empty, and not from an earlier run"),
        Shards(tmp_path, "").claimed({}),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_one_run_at_a_time(tmp_path: Path) -> None:
    shards = Shards(tmp_path, ".jsonl")
    with shards.claimed(SETTINGS):
        with pytest.raises(IncorefError, match="another run is writing here"), shards.claimed(SETTINGS):
            pass
        assert shards.record(0) is None


def test_a_worker_that_outlives_its_run_does_not_publish_what_the_next_run_has_not_finished(tmp_path: Path) -> None:
    shards = Shards(tmp_path, ".jsonl")
    with shards.claimed(SETTINGS):
        left_behind = shards.unfinished(0)
        left_behind.write_text("0\n")
    with shards.claimed(SETTINGS):
        shards.unfinished(0).write_text("half of i")
        with pytest.raises(FileNotFoundError):
            shards.finish(0, left_behind, Record(1, 1, 2, 3))
        assert shards.record(0) is None
        assert not shards.part(0).exists()
        finish(shards, 0)
    assert shards.part(0).read_text() == "0\n"


def test_an_input_that_has_become_shorter_is_noticed(tmp_path: Path) -> None:
    shards = Shards(tmp_path, ".jsonl")
    with shards.claimed(SETTINGS):
        finish(shards, 0)
        shards.check_end(1)
        with pytest.raises(IncorefError, match="more rows than the input"):
            shards.check_end(0)
