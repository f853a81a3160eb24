"""The comparison of all systems, from the recipe that trains them to its sections in the report, on tiny data."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from incoref import corpora
from incoref.analysis.report import read_plan
from incoref.cli import app
from incoref.errors import IncorefError
from incoref.learning.config import Configuration
from incoref.learning.recipe import Recipe
from tiny_training import write_bert, write_corpus

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "recipes" / "comparison.toml"
CONFIGS = [ROOT / "configs" / f"comparison-{corpus}.toml" for corpus in ("ontogum", "litbank")]
CONFIG = """
encoder = "encoder"

[training]
epochs = 1

[[train]]
path = "train.conll"

[[dev]]
path = "dev.conll"
"""


def run(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments))
    if found.exception is not None:
        raise found.exception
    return found.output


def sections(report: str) -> dict[str, str]:
    """A report's sections by their titles."""
    parts = (part.partition("\n") for part in re.split("^## ", report, flags=re.MULTILINE)[1:])
    return {title: text.strip() for title, _, text in parts}


def test_all_systems_have_one_budget() -> None:
    runs = [step.run for step in Recipe.load(RECIPE).steps if step.run]
    for place in CONFIGS:
        read = [Configuration.load(place, run.settings) for run in runs]
        assert {config.kind for config in read} == {"streaming", "c2f", "s2e", "icoref", "longdoc", "corefqa"}
        assert len({(config.encoder, config.training.epochs, config.train) for config in read}) == 1
        devs = {config.dev for config in read if config.kind != "corefqa"}
        limited = {tuple(corpus.model_copy(update={"limit": 4}) for corpus in dev) for dev in devs}
        assert len(devs) == 1
        assert limited == {config.dev for config in read if config.kind == "corefqa"}
    for planned in read_plan(ROOT / "configs" / "results.toml").analyses:
        if planned.name.startswith("comparison-") and planned.name != "comparison-over-time":
            compared = {Path(word.rpartition(": ")[2]).parts[2] for word in planned.words if ": runs/" in word}
            assert compared == {run.name.replace("ours", "ours-model") for run in runs}


def test_from_recipe_to_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_bert(tmp_path / "encoder", positions=512)
    write_corpus(tmp_path / "train.conll", 2)
    for number, place in enumerate(("dev.conll", "corpora/ontogum/test/a.conll")):
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        write_corpus(tmp_path / place, 2, seed=90 + number)
    shutil.copytree("corpora/ontogum", "corpora/gum")
    Path("config.toml").write_text(CONFIG, encoding="utf-8")
    run("recipe", str(RECIPE), "--config", "config.toml", "--out", "runs/comparison-ontogum")
    plan = run("recipe", str(RECIPE), "--config", "config.toml", "--out", "runs/comparison-ontogum", "--plan")
    assert "–" not in plan and plan.count("done") == len(Recipe.load(RECIPE).steps)

    before = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    Path("results.md").write_text(before, encoding="utf-8")
    only = ["--only", "comparison-over-time", "--only", "comparison-ontogum"]
    run("report", str(ROOT / "configs" / "results.toml"), "--markdown", "results.md", *only)
    after = Path("results.md").read_text(encoding="utf-8")
    old, new = sections(before), sections(after)
    planned = read_plan(ROOT / "configs" / "results.toml").analyses
    made = {each.name: each.title for each in planned if each.name in only}
    assert list(new) == [each.title for each in planned if each.title in new] + ["How it was measured"]
    assert new.keys() == old.keys() | set(made.values())
    title = made["comparison-ontogum"]
    measured = "How it was measured"
    assert all(new[name] == text for name, text in old.items() if name not in (measured, *made.values()))
    assert new[measured].count("\n| ") == len(new) - 1  # a row a section
    for system in ("c2f", "s2e", "CorefQA", "ICoref-inc", "longdoc, 20 cells, LRU", "ours, Sent-Inc"):
        assert f"\n| {system}, whole document | " in new[title]
        assert f"\n| {system}, sentence by sentence" in new[title]
    assert Path("results/comparison-ontogum.png").is_file()
    with pytest.raises(IncorefError, match="no analysis 'comparison'; it has ontogum, "):
        run("report", str(ROOT / "configs" / "results.toml"), "--only", "comparison")
    with pytest.raises(IncorefError, match="make the whole report first"):
        run("report", str(ROOT / "configs" / "results.toml"), "--only", "speed", "--out", "nothing")


def test_singletons_of_another_annotation_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_corpus(tmp_path / "all.conll", 1)
    [document] = corpora.read(tmp_path / "all.conll")
    first, *rest = document.entities
    alone = [replace(first, id=f"{number}", mentions=(m,)) for number, m in enumerate(first.mentions, 90)]
    for name, entities in (("linked", rest), ("all", [*rest, *alone])):
        corpora.write([replace(document, entities=tuple(entities))], tmp_path / f"{name}.conll", "conll-2012")
    figures = []
    for more in ([], ["--singletons-from", "all.conll"]):
        run("analyse", "protocols", "linked.conll", "-s", "ours: default", *more)
        table = json.loads(Path("analyses/protocols.json").read_text(encoding="utf-8"))
        figures.append(table["values"]["ours, whole document"])
    assert figures[0]["without singletons"] == figures[1]["without singletons"]
    assert figures[0]["with singletons"] != figures[1]["with singletons"]
    with pytest.raises(IncorefError, match="there is no system 'c2f'; there are ours"):
        run("analyse", "protocols", "linked.conll", "-s", "ours: default", "--incremental-limit", "c2f=1")
    with pytest.raises(IncorefError, match="write it as SYSTEM=N"):
        run("analyse", "protocols", "linked.conll", "-s", "ours: default", "--incremental-limit", "ours")
