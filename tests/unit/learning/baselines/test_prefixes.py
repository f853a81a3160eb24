"""Growing prefixes read with a reader that keeps what it can give what reading each of them afresh gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from baseline_runs import SYSTEMS, write_baseline_run
from incoref.analysis.incrementalise import prefix
from incoref.learning.baselines.corefqa import CorefQA
from incoref.learning.baselines.icoref import Guidance, ICoref
from incoref.learning.baselines.system import Baseline, PrefixReader
from incoref.learning.config import Configuration
from incoref.learning.train.baseline import BaselineTraining
from tiny_models import random_document


@pytest.fixture(params=SYSTEMS)
def model(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Baseline:
    return random_model(request.param, tmp_path, monkeypatch)


def random_model(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Baseline:
    write_baseline_run(folder, name)
    monkeypatch.chdir(folder)
    made = BaselineTraining(Configuration.load(Path("config.toml")), torch.device("cpu")).model.eval()
    with torch.no_grad():
        for parameter in made.system.parameters():
            parameter.normal_(std=0.5)
        if isinstance(made.system, CorefQA):
            made.system.mention_score.output.bias.add_(3)  # else hardly anything links
    return made


@pytest.mark.parametrize("seed", range(2))
def test_prefixes_are_read_as_if_each_were_the_only_one(model: Baseline, seed: int) -> None:
    text = random_document(12, seed)
    reader = PrefixReader(model)
    found = [reader.predict(prefix(text, end)) for end in range(1, 13)]
    alone = [model.predict(prefix(text, end)) for end in range(1, 13)]
    assert [each.clusters for each in found] == [each.clusters for each in alone]
    assert [(each.spans, each.comparisons) for each in found] == [(each.spans, each.comparisons) for each in alone]
    assert any(each.clusters for each in found)


def test_another_document_may_follow(model: Baseline) -> None:
    reader = PrefixReader(model)
    for text in (random_document(6, 1), random_document(6, 2), replace(random_document(6, 2), genre="nw")):
        for end in range(1, 7):
            assert reader.predict(prefix(text, end)) == model.predict(prefix(text, end))


def test_complete_segments_are_encoded_once(model: Baseline, monkeypatch: pytest.MonkeyPatch) -> None:
    text = random_document(12, 3)

    def read(reader: PrefixReader | Baseline) -> int:
        """The sub-words that go through the encoder."""
        read = 0

        def count(_: object, given: tuple[torch.Tensor, ...], __: object) -> None:
            nonlocal read
            read += len(given[0])

        watch = model.encoder.register_forward_hook(count)
        for end in range(1, 13):
            reader.predict(prefix(text, end))
        watch.remove()
        return read

    several = len(model.pieces_of(text).windows) > 1
    assert read(PrefixReader(model)) < read(model) if several else True


def test_segments_learned_from_together_have_the_gradients_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model("icoref-inc", tmp_path, monkeypatch).double()
    assert isinstance(model.system, ICoref)
    text, _ = model.read_annotated(random_document(9, 5))
    guidance = Guidance(text.gold, learning=True)
    gradients = []
    for together in (False, True):
        model.zero_grad()
        if together:
            for terms in model.training_losses(text, None):  # type: ignore[arg-type]  # nothing is drawn
                (terms["links"] + terms["mentions"]).backward()
        else:
            for segment in model.system.segments(model.encode, text, guidance, detach=True):
                segment.loss.backward()
        gradients.append({name: value.grad for name, value in model.named_parameters() if value.grad is not None})
    one, other = gradients
    assert one.keys() == other.keys()
    for name, gradient in one.items():
        torch.testing.assert_close(gradient, other[name], rtol=1e-9, atol=1e-12)
