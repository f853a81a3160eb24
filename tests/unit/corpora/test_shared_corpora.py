"""The shared corpora read as their README says they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from incoref.cli import app
from incoref.corpora import read, statistics
from incoref.corpora.conllu import read as read_conllu
from incoref.corpora.conllu import write as write_conllu
from incoref.corpora.conllua import read as read_conllua
from incoref.corpora.conllua import write as write_conllua
from incoref.corpora.losses import Losses

FIGURES = {
    "ontogum/train": (177, 10224, 177, 23320, 5311, 7),
    "ontogum/dev": (30, 1575, 28, 3818, 857, 2),
    "ontogum/test": (30, 1464, 28, 3581, 858, 1),
    "gum/train": (177, 10224, 177, 49649, 25758, 18750),
    "gum/dev": (30, 1575, 28, 7897, 3940, None),
    "gum/test": (30, 1464, 28, 7927, 4319, None),
    "litbank": (100, 8562, 211, 29103, 7927, 5763),
    "craft/train.conll": (60, 18951, 493, 66329, 13790, None),
    "craft/dev.conll": (7, 2780, 68, 9712, 2061, None),
}
"""Documents, sentences, thousands of tokens, mentions, clusters, singletons; None where the README says nothing."""


@pytest.mark.parametrize("path", FIGURES)
def test_figures_are_those_of_the_readme(path: str, shared: Path) -> None:
    found = statistics(read(shared / "corpora" / path))
    documents, sentences, thousands, mentions, clusters, singletons = FIGURES[path]
    assert (found.documents, found.sentences, round(found.tokens / 1000)) == (documents, sentences, thousands)
    assert (found.mentions, found.clusters) == (mentions, clusters)
    assert singletons is None or found.singletons == singletons


def test_figures_of_mudoco(shared: Path) -> None:
    files = sorted((shared / "corpora" / "mudoco").glob("*.jsonlines"))
    train = [statistics(read(file)) for file in files if ".train." in file.name]
    evaluation = [statistics(read(file)) for file in files if ".eval." in file.name]
    assert (sum(s.documents for s in train), sum(s.sentences for s in train)) == (5901, 30967)
    assert (sum(s.documents for s in evaluation), sum(s.sentences for s in evaluation)) == (691, 3710)
    assert (sum(s.mentions for s in train), sum(s.clusters for s in train)) == (53651, 18414)


def test_nested_mentions_of_craft(shared: Path) -> None:
    found = statistics(read(shared / "corpora" / "craft" / "train.conll"))
    assert round(100 * found.nested / found.mentions) == 29
    assert found.crossing and found.across_sentences


def test_figures_of_the_command(shared: Path) -> None:
    path = str(shared / "corpora" / "litbank")
    printed = CliRunner().invoke(app, ["corpus", "stats", path, "--json"])
    figures = json.loads(printed.stdout)
    assert figures["total"]["documents"] == 100
    assert figures["paths"] == {path: figures["total"]}


@pytest.mark.parametrize("part", ["dev", "test"])
def test_gum_comes_back_byte_for_byte(part: str, shared: Path) -> None:
    for file in sorted((shared / "corpora" / "gum" / part).iterdir()):
        text = file.read_text(encoding="utf-8")
        losses = Losses()
        assert "".join(write_conllu(read_conllu(text, file), losses)) == text
        assert not losses.report()


def test_gum_comes_back_byte_for_byte_through_conllua(shared: Path) -> None:
    for file in sorted((shared / "corpora" / "gum" / "dev").iterdir()):
        losses = Losses()
        between = "".join(write_conllua(read(file), losses))
        assert "".join(write_conllu(read_conllua(between, "between"), losses)) == file.read_text(encoding="utf-8")
        assert not losses.report()


def test_genres_and_speakers_of_gum(shared: Path) -> None:
    documents = {document.id: document for document in read(shared / "corpora" / "ontogum" / "dev")}
    document = documents["GUM_conversation_risk"]
    assert document.genre == "conversation"
    assert {sentence.speaker for sentence in document.sentences} == {"Jennifer", "Dan"}
    assert {d.genre for d in documents.values()} >= {"news", "fiction", "vlog"}


def test_text_of_gum_is_as_it_was_written(shared: Path) -> None:
    (document,) = read(shared / "corpora" / "gum" / "dev" / "GUM_bio_byron.conllu")
    first = document.sentences[1]
    assert "Byron's" in document.text
    assert "  " not in document.text[first.start : first.end]


def test_cases_of_the_scorer_are_read(shared: Path) -> None:
    for file in sorted((shared / "scorer-cases").glob("TC-*")):
        (document,) = read(file)
        assert document.tokens
