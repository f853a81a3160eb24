"""Recipes: steps in order, what is done is not done again, stopping and going on, faults."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from incoref import corpora
from incoref.errors import IncorefError
from incoref.learning.recipe import Cook, Recipe, Step
from incoref.learning.train.progress import Report, StepReport
from incoref.learning.train.trainer import Stopped
from tiny_training import write_streaming_run

RECIPE = """
config = "config.toml"
settings = ["training.epochs=1"]

[[steps]]
[steps.run]
name = "first"

[[steps]]
[steps.run]
name = "second"
start = "first"
settings = ["training.seed=2"]

[[steps]]
[steps.export]
name = "model"
of = ["first", "second"]
model = "tiny-1"
fp32 = true

[[steps]]
[steps.evaluate]
name = "model"
corpora = [{ name = "dev", path = "dev.conll", scheme = "ontonotes" }]
"""
TITLES = ["run first", "run second", "export model", "evaluate model"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_streaming_run(tmp_path)
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(recipe: str = RECIPE) -> list[str]:
    """The steps that making the recipe had to do."""
    Path("recipe.toml").write_text(recipe, encoding="utf-8")
    done: list[Step] = []
    Cook(Recipe.load(Path("recipe.toml")), Path("out")).make(done.append)
    return [step.title for step in done]


def test_steps_are_done_once_and_again_when_something_before_them_changes(folder: Path) -> None:
    assert made() == TITLES
    assert made() == []
    assert json.loads(Path("out/model/config.json").read_text(encoding="utf-8"))["name"] == "tiny-1"
    assert made(RECIPE.replace('"tiny-1"', '"tiny-2"')) == TITLES[2:]
    evaluation = Recipe.load(Path("recipe.toml")).steps[-1].evaluate
    assert evaluation is not None
    scores = Cook(Recipe.load(Path("recipe.toml")), Path("out")).scores(evaluation)
    assert 0 <= scores["dev"]["conll_f1"] <= 100 and 0 <= scores["dev"]["mentions"]["f1"] <= 100


def test_a_run_learns_from_texts_that_an_earlier_export_has_labelled(folder: Path) -> None:
    Path("texts.jsonl").write_text(
        "".join(
            json.dumps({"doc_key": f"text{number}", "sentences": [["Anna", "saw", "her", "."]] * 4}) + "\n"
            for number in range(3)
        ),
        encoding="utf-8",
    )
    recipe = RECIPE.replace(
        "[steps.evaluate]",
        """[steps.label]
name = "labels"
models = ["model"]
paths = ["texts.jsonl"]
sample = { words = 20, stretch = 9 }

[[steps]]
[steps.run]
name = "student"
start = "first"
train = [{ path = "labels" }]

[[steps]]
[steps.evaluate]""",
    )
    steps = [*TITLES[:3], "label labels", "run student", TITLES[3]]
    assert made(recipe) == steps
    assert made(recipe) == []
    labelled = list(corpora.read(Path("out/labels")))
    assert [len(text.sentences) for text in labelled] == [2, 2, 2]
    trained_on = {json.loads(line).get("document") for line in Path("out/student/log.jsonl").read_text().splitlines()}
    assert {text.id for text in labelled} <= trained_on
    with pytest.raises(IncorefError, match="an earlier run began here with other texts"):
        made(recipe.replace("stretch = 9", "stretch = 5"))
    with pytest.raises(IncorefError, match=r"sample\.stretches: Extra inputs are not permitted"):
        made(recipe.replace("stretch =", "stretches ="))


def test_an_export_takes_the_weights_after_single_epochs(folder: Path) -> None:
    recipe = RECIPE.replace('settings = ["training.epochs=1"]', 'settings = ["training.average_epochs=2"]')
    recipe = recipe.replace(
        "[steps.evaluate]",
        '[steps.export]\nname = "single"\nof = ["first@1"]\nfp32 = true\n\n[[steps]]\n[steps.evaluate]',
    )
    assert made(recipe.replace('of = ["first", "second"]', 'of = ["first@1", "first@2"]\nshares = [3, 1]'))[2:4] == [
        "export model",
        "export single",
    ]
    heads = {name: load_file(Path("out") / name / "head.safetensors") for name in ("model", "single")}
    both = [load_file(Path(f"out/first/epochs/{epoch}.safetensors")) for epoch in (1, 2)]
    name = "detector.output.weight"
    assert np.allclose(heads["single"][name], both[0][name], atol=1e-6)
    assert np.allclose(heads["model"][name], 0.75 * both[0][name] + 0.25 * both[1][name], atol=1e-6)
    assert not np.allclose(both[0][name], both[1][name], atol=1e-6)
    with pytest.raises(IncorefError, match=r"3\.safetensors: no such weights; training\.average_epochs"):
        made(recipe.replace('of = ["first@1"]', 'of = ["first@3"]'))


def test_a_recipe_that_was_stopped_goes_on(folder: Path) -> None:
    steps: list[Report] = []
    cook = Cook(Recipe.load(Path("recipe.toml")), Path("out"))
    with pytest.raises(Stopped):
        cook.make(report=steps.append, stop=lambda: len(steps) > 1)
    before = [report.step for report in steps if isinstance(report, StepReport)]
    after: list[Report] = []
    cook.make(report=after.append)
    went_on = [report.step for report in after if isinstance(report, StepReport)]
    assert went_on[0] == before[-1] + 1
    assert [state.done for state in cook.states()] == [True] * 4


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        (
            'of = ["first", "second"]',
            'of = ["first", "third"]',
            "export model: 'third' is not made by an earlier",
        ),
        ('name = "second"', 'name = "first"', "run first: an earlier step has this name"),
        (
            'of = ["first", "second"]',
            'of = ["first", "second"]\nshares = [1]',
            "shares has one positive number for each",
        ),
        ("[steps.run]", "[steps.walk]", "steps.0"),
        ('[steps.evaluate]\nname = "model"', '[steps.evaluate]\nname = "x"', "evaluate x: 'x' is not made"),
    ],
)
def test_faults_are_named(folder: Path, before: str, after: str, fault: str) -> None:
    Path("recipe.toml").write_text(RECIPE.replace(before, after), encoding="utf-8")
    with pytest.raises(IncorefError, match=fault):
        Recipe.load(Path("recipe.toml"))


def test_a_changed_run_that_has_begun_is_not_overwritten(folder: Path) -> None:
    made()
    with pytest.raises(IncorefError, match="started with another configuration"):
        made(RECIPE.replace("training.seed=2", "training.seed=3"))


@pytest.mark.parametrize("name", ["en", "en-base"])
def test_the_recipes_of_the_english_models_are_in_order(name: str) -> None:
    recipe = Recipe.load(Path(__file__).parents[3] / "recipes" / f"{name}.toml")
    assert [step.title for step in recipe.steps][-2:] == ["export model", "evaluate model"]
