"""Documents at the edge of what there is: no words, one word, no mentions, sentences longer than a segment, ties."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from baseline_runs import SYSTEMS, write_baseline_run
from incoref.learning.config import Configuration
from incoref.learning.train.baseline import BaselineTraining
from incoref.model.subwords import Utterance
from incoref.types import Document
from tiny_models import WORDS, document


def text(*lengths: int, word: str | None = None, clusters: tuple[tuple[tuple[int, int], ...], ...] = ()) -> Document:
    """Sentences of these lengths, of many words or of one again and again."""
    return document(
        [Utterance(tuple(word or WORDS[i % len(WORDS)] for i in range(n)), "Anna") for n in lengths],
        [list(cluster) for cluster in clusters],
    )


EDGES = {
    "no words": text(),
    "one word": text(1),
    "one word, mentioned": text(1, clusters=(((0, 0),),)),
    "two words": text(2, clusters=(((0, 0), (1, 1)),)),
    "one sentence": text(7, clusters=(((0, 1), (3, 3)), ((5, 5),))),
    "no mentions": text(5, 6, 4),
    "sentences of one word": text(*[1] * 9, clusters=(((0, 0), (8, 8)),)),
    "a sentence longer than a segment": text(3, 80, 2, clusters=(((0, 0), (40, 44), (84, 84)),)),
    "one word again and again": text(8, 8, 8, 8, word="dog", clusters=(((0, 0), (8, 8), (31, 31)),)),
    "everything is mentioned": text(4, 4, clusters=tuple(((n, n), (n + 4, n + 4)) for n in range(4))),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_they_are_read_and_learned_from(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_baseline_run(tmp_path, name)
    monkeypatch.chdir(tmp_path)
    training = BaselineTraining(Configuration.load(Path("config.toml")), torch.device("cpu"))
    model = training.model
    with torch.no_grad():
        for parameter in model.system.parameters():
            parameter.normal_(std=0.5)
    for edge, example in EDGES.items():
        model.eval()
        found = model.predict(example)
        spans = [span for cluster in found.clusters for span in cluster]
        assert len(spans) == len(set(spans)), edge
        assert all(0 <= first < end <= len(example.tokens) for first, end in spans), edge
        assert found.comparisons >= 0, edge
        model.train()
        if not example.tokens:
            continue  # training refuses them
        pieces, _ = model.read_annotated(example)
        for terms in model.training_losses(pieces, np.random.default_rng(0)):
            total = torch.stack(list(terms.values())).sum()
            assert math.isfinite(total.item()), edge
            total.backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        assert all(gradient.isfinite().all() for gradient in gradients), edge
        model.zero_grad()
