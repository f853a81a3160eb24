"""``incoref convert`` and ``incoref corpus stats``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from incoref import corpora
from incoref.cli import app, main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "formats"
FERRY = str(EXAMPLES / "ferry.conllu")
FIGURES = {
    "documents": 1,
    "sentences": 3,
    "tokens": 23,
    "mentions": 10,
    "clusters": 5,
    "singletons": 1,
    "nested": 2,
    "crossing": 0,
    "duplicated": 0,
    "across_sentences": 0,
    "speakers": 2,
}


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int | str | None:
    """The exit code of the tool as it is installed."""
    monkeypatch.setattr(sys, "argv", ["incoref", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_convert_names_what_is_lost(tmp_path: Path) -> None:
    target = tmp_path / "ferry.conll"
    result = CliRunner().invoke(app, ["convert", FERRY, str(target)])
    assert result.exit_code == 0
    assert "10 × mention types" in result.stderr
    assert result.stdout == ""
    assert target.read_bytes() == (EXAMPLES / "ferry.conll").read_bytes()


def test_convert_without_loss_is_silent(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["convert", FERRY, str(tmp_path / "out"), "--to", "incoref"])
    assert (result.exit_code, result.output) == (0, "")
    assert list(corpora.read(tmp_path / "out")) == list(corpora.read(FERRY))


@pytest.mark.parametrize(
    ("source", "target"), [("ferry.conllu", "ferry.conllua"), ("ferry.conllu", "ferry.jsonlines")]
)
def test_examples_are_up_to_date(source: str, target: str, tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["convert", str(EXAMPLES / source), str(tmp_path / target)]).exit_code == 0
    assert (tmp_path / target).read_bytes() == (EXAMPLES / target).read_bytes()


def test_a_fault_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "bad.conll"
    source.write_text("#begin document (d); part 000\nd\t0\t0\ta\t(1\n#end document\n", encoding="utf-8")
    assert run("convert", str(source), str(tmp_path / "out.conllu"), monkeypatch=monkeypatch) == 1
    assert f"{source}:2: " in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["bad.conll"]


def test_stats_as_json() -> None:
    paths = [FERRY, str(EXAMPLES / "ferry.conll")]
    result = CliRunner().invoke(app, ["corpus", "stats", *paths, "--json"])
    figures = json.loads(result.stdout)
    assert figures["paths"] == dict.fromkeys(paths, FIGURES)
    assert figures["total"] == {name: 2 * figure for name, figure in FIGURES.items()}


def test_stats_as_a_table() -> None:
    result = CliRunner().invoke(app, ["corpus", "stats", FERRY], env={"COLUMNS": "200"})
    assert result.stdout.split("\n")[1].split() == [FERRY, *map(str, FIGURES.values())]
