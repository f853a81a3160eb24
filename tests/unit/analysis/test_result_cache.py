"""What is computed is computed once, and a repeated call goes on where the last one was cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoref.analysis.result_cache import Keeper, text_digest
from tiny_models import random_document


def squares(
    path: Path, numbers: list[int], fails_at: int | None = None, again: bool = False
) -> tuple[list[int], int]:
    computed = 0

    def square(number: int) -> int:
        nonlocal computed
        if number == fails_at:
            raise KeyboardInterrupt
        computed += 1
        return number * number

    try:
        return Keeper(path, again=again).each("squares", numbers, lambda number: (number,), square), computed
    except KeyboardInterrupt:
        return [], computed


def test_a_repeated_call_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "some" / "kept.jsonl"
    assert squares(path, [1, 2, 3, 4], fails_at=3) == ([], 2)
    assert squares(path, [1, 2, 3, 4]) == ([1, 4, 9, 16], 2)
    assert squares(path, [4, 1]) == ([16, 1], 0)
    assert squares(path, [4, 1], again=True) == ([16, 1], 2)


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_a_line_cut_short_counts_as_absent(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "kept.jsonl"
    squares(path, [1, 2, 3])
    path.write_bytes(path.read_bytes()[:-cut])
    assert squares(path, [1, 2, 3]) == ([1, 4, 9], 1 if cut > 1 else 0)
    assert squares(path, [1, 2, 3]) == ([1, 4, 9], 0)


def test_progress_is_told_from_start_to_end(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    keeper = Keeper(tmp_path / "kept.jsonl", progress=lambda *what: told.append(what))
    keeper.each("things", [7, 8], lambda item: (item,), lambda item: item)
    assert told == [("things", 0, 2), ("things", 1, 2), ("things", 2, 2)]


def test_texts_differ_by_what_a_system_sees() -> None:
    one, other = random_document(3, 1), random_document(3, 2)
    assert text_digest(one) == text_digest(random_document(3, 1)) != text_digest(other)


def test_the_days_of_measuring_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.jsonl"
    for day, numbers, known in (
        ("2026-01-01", [1], "2026-01-01"),
        ("2026-02-02", [1], "2026-01-01"),
        ("2026-02-02", [1, 2], "2026-01-01 to 2026-02-02"),
    ):
        monkeypatch.setattr("incoref.analysis.result_cache.today", lambda day=day: day)
        keeper = Keeper(path)
        keeper.each("squares", numbers, lambda number: (number,), lambda number: number)
        assert keeper.measured == known
