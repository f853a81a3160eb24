"""Sizes and saving of the paper's model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from incoref.errors import FormatError, IncorefError
from incoref.learning.paper.authors_names import authors_weights
from incoref.learning.paper.checkpoint import import_checkpoint, load_paper_model, save_paper_model
from incoref.learning.paper.config import Mode, PaperConfig, Setting
from incoref.learning.paper.definition import run
from incoref.learning.paper.model import PaperModel
from paper_models import random_document, tiny_config, tiny_model


def millions(*modules: nn.Module) -> float:
    return sum(parameter.numel() for module in modules for parameter in module.parameters()) / 1e6


def test_the_full_model_has_the_papers_parameter_counts() -> None:
    with torch.device("meta"):
        model = PaperModel(PaperConfig())
    detector, clusterer = model.detector, model.clusterer
    assert millions(model.encoder) == pytest.approx(117, abs=0.5)
    assert millions(clusterer.hidden, clusterer.output) == pytest.approx(21, abs=0.5)
    assert millions(detector.hidden, detector.output) == pytest.approx(1, abs=0.05)
    assert millions(detector.stack_cell) == pytest.approx(0.8, abs=0.05)
    assert millions(model) == pytest.approx(140, abs=1)


@pytest.mark.parametrize("mode", Mode)
def test_a_saved_model_loads_as_it_was(mode: Mode, tmp_path: Path) -> None:
    model = tiny_model(tiny_config(mode, Setting.K_SENTENCE, k=3, window=40))
    save_paper_model(tmp_path / "model", model)
    loaded = load_paper_model(tmp_path / "model")
    assert loaded.config == model.config
    torch.testing.assert_close(dict(loaded.named_parameters()), dict(model.named_parameters()), rtol=0, atol=0)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(IncorefError, match=r"config\.json"):
        load_paper_model(tmp_path)
    save_paper_model(tmp_path, tiny_model(tiny_config(Mode.PAPER, Setting.SENT_INC)))
    (tmp_path / "config.json").write_text('{"mode": "neither"}')
    with pytest.raises(FormatError, match="configuration"):
        load_paper_model(tmp_path)


@pytest.mark.parametrize("use_speakers", [True, False])
def test_an_authors_checkpoint_becomes_a_model_folder(use_speakers: bool, tmp_path: Path) -> None:
    config = tiny_config(Mode.REFERENCE, Setting.SENT_INC, cache=12, use_speakers=use_speakers, new_score=0.25)
    model = tiny_model(config)
    torch.save(authors_weights(model), tmp_path / "model_best.bin")
    imported = import_checkpoint(tmp_path / "model_best.bin", setting=Setting.SENT_INC, cache=12)
    save_paper_model(tmp_path / "out", imported)
    loaded = load_paper_model(tmp_path / "out")
    document = random_document(3, config, 6)
    with torch.no_grad():
        wanted, found = run(model, document, gold=False), run(loaded, document, gold=False)
    assert found.clusters == wanted.clusters
    torch.testing.assert_close(found.action_scores, wanted.action_scores)
    torch.testing.assert_close(found.cluster_scores, wanted.cluster_scores)
    torch.testing.assert_close(authors_weights(loaded), authors_weights(model), rtol=0, atol=0)


def test_what_is_not_a_checkpoint_of_theirs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model_x.bin"
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(FormatError, match="state dict"):
        import_checkpoint(path, setting=Setting.SENT_INC)
    torch.save({"weight": torch.zeros(2)}, path)
    with pytest.raises(FormatError, match="encoder"):
        import_checkpoint(path, setting=Setting.SENT_INC)
    torch.save({"epoch": 3}, path)
    with pytest.raises(FormatError, match="state dict"):
        import_checkpoint(path, setting=Setting.SENT_INC)
    weights = authors_weights(tiny_model(tiny_config(Mode.REFERENCE, Setting.SENT_INC)))
    del weights["mention_attn.bias"]
    torch.save(weights | {"extra": torch.zeros(1)}, path)
    with pytest.raises(IncorefError, match=r"mention_attn\.bias is missing; extra is not part"):
        import_checkpoint(path, setting=Setting.SENT_INC)
