"""A trained baseline through the command line: train, evaluate, predict, analyses under both protocols."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from baseline_runs import write_baseline_run
from incoref import corpora
from incoref.cli import app
from incoref.errors import IncorefError
from tiny_models import TinyModels


@pytest.fixture(params=["c2f", "icoref-inc"])
def trained(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_baseline_run(tmp_path, request.param)
    monkeypatch.chdir(tmp_path)
    run("train", "config.toml", "--out", "run", "--set", "training.head_rate=0.02")
    return tmp_path


def run(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments))
    if found.exception is not None:
        raise found.exception
    return found.output


def test_it_is_evaluated_and_writes_its_answers(trained: Path) -> None:
    scored = json.loads(run("evaluate", "dev.conll", "--model", "run/best", "--json"))
    run("predict", "dev.conll", "--model", "run/best", "-o", "answers.conll")
    again = json.loads(run("score", "dev.conll", "answers.conll", "--json"))
    assert again["conll_f1"] == pytest.approx(scored["conll_f1"])
    for document in corpora.read(trained / "answers.conll"):
        assert document.tokens
    with pytest.raises(IncorefError, match="doesn't take --setting"):
        run("evaluate", "dev.conll", "--model", "run/best", "--setting", "k=2")


def test_it_takes_part_in_analyses_under_both_protocols(trained: Path) -> None:
    assert "run/best" in run("analyse", "scores", "dev.conll", "-s", "run/best")
    assert "run/best" in run("analyse", "over-time", "dev.conll", "-s", "run/best")
    printed = run("analyse", "incrementalise", "dev.conll", "--system", "run/best")
    assert "as first said" in printed


def test_whole_documents_and_sentence_by_sentence_in_one_table(trained: Path, tiny: TinyModels) -> None:
    run("analyse", "protocols", "dev.conll", "-s", "theirs: run/best", "-s", f"ours: {tiny.fp32}@sent-inc")
    found = json.loads((trained / "analyses" / "protocols.json").read_text(encoding="utf-8"))
    scores, work = ({row["cells"][0]: row["cells"][1:] for row in table["rows"]} for table in found["tables"])
    assert scores["ours, whole document"] == scores["ours, sentence by sentence"]
    if "icoref" in (trained / "config.toml").read_text(encoding="utf-8"):
        assert scores["theirs, whole document"] == scores["theirs, sentence by sentence"]
    plain = json.loads(run("evaluate", "dev.conll", "--model", "run/best", "--json", "--drop-singletons"))
    assert scores["theirs, whole document"][3] == pytest.approx(plain["conll_f1"])
    for spans, _, comparisons, _, rate, _ in work.values():
        assert spans > 0 and comparisons >= 0 and rate > 0
    assert work["theirs, whole document"][-1] > 50
    assert work["theirs, sentence by sentence"][0] >= work["theirs, whole document"][0]
    limited = ["-s", "theirs: run/best", "--incremental-limit"]
    run("analyse", "protocols", "dev.conll", *limited, "theirs=1", "--name", "one")
    found = json.loads((trained / "analyses" / "one.json").read_text(encoding="utf-8"))
    titles = [row["cells"][0] for row in found["tables"][0]["rows"]]
    assert titles[0] == "theirs, whole document"
    if "icoref" not in (trained / "config.toml").read_text(encoding="utf-8"):
        assert [title.split(",")[1] for title in titles[1:]] == [
            " whole document (shortest 1 of 2 documents",
            " sentence by sentence (shortest 1 of 2 documents",
        ]
        run("analyse", "protocols", "dev.conll", *limited, "theirs=0", "--name", "none")
        found = json.loads((trained / "analyses" / "none.json").read_text(encoding="utf-8"))
        assert [row["cells"][0] for row in found["tables"][0]["rows"]] == ["theirs, whole document"]
    with pytest.raises(IncorefError, match=r"name systems that can be run"):
        run("analyse", "protocols", "dev.conll", "-s", "dev.conll")
