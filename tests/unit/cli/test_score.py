"""``incoref score``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from incoref.cli import app
from incoref.cli.score import TITLES
from incoref.errors import IncorefError
from incoref.evaluation.metrics import METRICS


def conll(*documents: tuple[str, str]) -> str:
    """A CoNLL-2012 file of one-word mentions: a name, and for each word its entity or '-'."""
    lines = []
    for name, entities in documents:
        lines.append(f"#begin document ({name}); part 000")
        for number, entity in enumerate(entities.split()):
            lines.append(f"{name}\t0\t{number}\tw{number}\t{'-' if entity == '-' else f'({entity})'}")
        lines += ["", "#end document"]
    return "\n".join(lines) + "\n"


def score(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["score", *map(str, arguments)])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    key, response = tmp_path / "key.conll", tmp_path / "response.conll"
    key.write_text(conll(("a", "1 - 1 2 2 3"), ("b", "1 1 1 - -")))
    response.write_text(conll(("b", "1 1 - - -"), ("a", "1 - 1 2 2 3")))
    return key, response


def test_json_has_all_metrics(files: tuple[Path, Path]) -> None:
    data = json.loads(score(*files, "--json").stdout)
    assert list(data) == [*METRICS, "conll_f1", "documents"]
    assert data["documents"] == 2
    assert data["muc"]["recall"] == pytest.approx(75)
    assert data["mentions"] == pytest.approx({"recall": 87.5, "precision": 100, "f1": 100 * 14 / 15})


def test_every_metric_has_a_title() -> None:
    assert tuple(TITLES) == (*METRICS, "conll")


def test_a_choice_of_metrics(files: tuple[Path, Path]) -> None:
    assert list(json.loads(score(*files, "--json", "--metric", "lea", "-m", "muc").stdout)) == [
        "muc",
        "lea",
        "documents",
    ]
    assert list(json.loads(score(*files, "--json", "-m", "conll").stdout)) == ["conll_f1", "documents"]
    printed = score(*files, "-m", "b3").stdout
    assert "B³" in printed
    assert "MUC" not in printed


def test_per_document(files: tuple[Path, Path]) -> None:
    data = json.loads(score(*files, "--json", "--per-document").stdout)
    assert list(data["per_document"]) == ["a", "b"]
    assert data["per_document"]["a"]["conll_f1"] == pytest.approx(100)
    assert data["per_document"]["b"]["muc"]["recall"] == pytest.approx(50)
    printed = score(*files, "--per-document").stdout
    assert [line.split()[0] for line in printed.splitlines()[1:3]] == ["a", "b"]


def test_dropping_singletons(files: tuple[Path, Path]) -> None:
    data = json.loads(score(*files, "--json", "--drop-singletons").stdout)
    assert data["mentions"]["recall"] == pytest.approx(100 * 6 / 7)


def test_table(files: tuple[Path, Path]) -> None:
    lines = score(*files).stdout.splitlines()
    assert lines[0].split() == ["recall", "precision", "F1"]
    assert lines[1].split() == ["MUC", "75.00", "100.00", "85.71"]
    assert lines[-1] == "documents: 2"


def test_long_names_break_no_line(tmp_path: Path) -> None:
    name = "a/very/long/name" * 10
    file = tmp_path / "file.conll"
    file.write_text(conll((name, "1 1")))
    assert name in score(file, file, "--per-document").stdout.splitlines()[1]


def test_directories(tmp_path: Path, files: tuple[Path, Path]) -> None:
    for folder, file in zip(("keys", "responses"), files, strict=True):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "part.conll").write_text(file.read_text())
    assert json.loads(score(tmp_path / "keys", tmp_path / "responses", "--json").stdout)["documents"] == 2


def test_repeated_mentions_are_reported(tmp_path: Path, files: tuple[Path, Path]) -> None:
    key, response = files
    response.write_text(response.read_text().replace("(3)", "(3)|(4)"))
    result = score(key, response, "--json")
    assert "listed more than once in the response: 1;" in result.stderr
    assert json.loads(result.stdout)["mentions"]["precision"] == pytest.approx(100)


@pytest.mark.parametrize("extra_in", ["key", "response"])
def test_missing_documents_are_an_error(files: tuple[Path, Path], extra_in: str) -> None:
    key, response = files
    more = key if extra_in == "key" else response
    more.write_text(more.read_text() + conll(("c", "1 1")))
    result = score(key, response)
    assert isinstance(result.exception, IncorefError)
    other = response if extra_in == "key" else key
    assert f"{other}: 1 of 3 documents are missing" in str(result.exception)
    assert "'c'" in str(result.exception)
    assert result.stdout == ""


def test_two_documents_of_one_id_are_an_error(files: tuple[Path, Path]) -> None:
    key, response = files
    key.write_text(key.read_text() + key.read_text())
    assert "two documents with the id 'a'" in str(score(key, response).exception)


def test_an_unknown_metric_is_an_error(files: tuple[Path, Path]) -> None:
    assert "unknown metric 'bleu'" in str(score(*files, "--metric", "bleu").exception)
