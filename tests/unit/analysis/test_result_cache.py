"""Results are computed once, belong to the code and machine that made them, and survive being cut off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import incoref
from incoref.analysis.provenance import Provenance, code_digest
from incoref.analysis.result_cache import ResultCache, text_digest
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
        return ResultCache(path, again=again).each("squares", numbers, lambda number: (number,), square), computed
    except KeyboardInterrupt:
        return [], computed


def test_a_repeated_call_continues(tmp_path: Path) -> None:
    path = tmp_path / "some" / "results.jsonl"
    assert squares(path, [1, 2, 3, 4], fails_at=3) == ([], 2)
    assert squares(path, [1, 2, 3, 4]) == ([1, 4, 9, 16], 2)
    assert squares(path, [4, 1]) == ([16, 1], 0)
    assert squares(path, [4, 1], again=True) == ([16, 1], 2)


@pytest.mark.parametrize("cut", [1, 10, 30])
def test_a_line_cut_short_counts_as_absent(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "results.jsonl"
    squares(path, [1, 2, 3])
    path.write_bytes(path.read_bytes()[:-cut])
    assert squares(path, [1, 2, 3]) == ([1, 4, 9], 1 if cut > 1 else 0)
    assert squares(path, [1, 2, 3]) == ([1, 4, 9], 0)


def test_progress_is_reported_from_start_to_end(tmp_path: Path) -> None:
    reported: list[tuple[str, int, int]] = []
    cache = ResultCache(tmp_path / "results.jsonl", progress=lambda *what: reported.append(what))
    cache.each("things", [7, 8], lambda item: (item,), lambda item: item)
    assert reported == [("things", 0, 2), ("things", 1, 2), ("things", 2, 2)]


def test_texts_differ_by_what_a_system_sees() -> None:
    one, other = random_document(3, 1), random_document(3, 2)
    assert text_digest(one) == text_digest(random_document(3, 1)) != text_digest(other)


def test_results_of_other_code_are_not_reused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    for code, computed in (("a", 1), ("b", 1), ("a", 0), ("b", 0)):
        monkeypatch.setattr("incoref.analysis.result_cache.code_digest", lambda code=code: code)
        assert squares(path, [3]) == ([9], computed)


def test_the_code_is_what_figures_depend_on(tmp_path: Path) -> None:
    package = Path(incoref.__file__).parent
    for copy in ("one", "other", "third"):
        for path in package.rglob("*.py"):
            target = tmp_path / copy / path.relative_to(package)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    for name in ("server/app.py", "cli/analyse.py", "client.py"):
        (tmp_path / "other" / name).write_text("changed = True\n", encoding="utf-8")
    with (tmp_path / "third" / "model" / "detector.py").open("a", encoding="utf-8") as file:
        file.write("changed = True\n")
    assert code_digest() == code_digest(tmp_path / "one") == code_digest(tmp_path / "other")
    assert code_digest(tmp_path / "third") != code_digest()


@pytest.mark.parametrize("timed", [False, True])
def test_results_carry_the_machine_and_day_that_made_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timed: bool
) -> None:
    """Those that are timed are measured again on another machine."""
    path = tmp_path / "results.jsonl"

    def made(name: str, day: str, numbers: list[int]) -> Provenance:
        monkeypatch.setattr("incoref.analysis.provenance.machine", lambda: name)
        monkeypatch.setattr("incoref.analysis.result_cache.machine", lambda: name)
        monkeypatch.setattr("incoref.analysis.provenance.today", lambda: day)
        cache = ResultCache(path)
        cache.each("squares", numbers, lambda number: (number,), lambda number: number, timed=timed)
        return cache.provenance

    first = made("laptop", "2026-01-01", [1])
    assert (first.machine, first.date, first.versions["incoref"]) == ("laptop", "2026-01-01", incoref.__version__)
    second = made("server", "2026-02-02", [1])
    assert (second.machine, second.date) == (("server", "2026-02-02") if timed else ("laptop", "2026-01-01"))
    both = made("server", "2026-03-03", [1, 2])
    assert both.machine == ("server" if timed else "laptop / server")
    assert both.date == ("2026-02-02 to 2026-03-03" if timed else "2026-01-01 to 2026-03-03")
    assert Provenance.from_json(json.loads(json.dumps(both.to_json()))) == both
