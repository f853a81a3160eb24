"""Our implementation against the outputs of the authors' program, number by number."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from incoref.learning.paper.authors_names import authors_weights
from incoref.learning.paper.checkpoint import import_checkpoint, load_paper_model, save_paper_model
from incoref.learning.paper.chunks import plan
from incoref.learning.paper.document import with_gold
from incoref.learning.paper.reference import check_reference, read_reference_documents, read_reference_model
from incoref.model.transitions import replay

FOLDERS = (
    "part-inc",
    "part-inc-segments",
    "sent-inc",
    "sent-inc-long",
    "sent-inc-no-speakers",
    "k3-sentence",
    "k5-sentence",
    "k20-sentence",
)


@pytest.mark.parametrize("name", FOLDERS)
def test_every_number_of_every_document_is_reproduced(name: str, shared: Path) -> None:
    rows = check_reference(shared / "reference-outputs" / name)
    assert [row for row in rows if not row.passed] == []


@pytest.mark.parametrize("name", FOLDERS)
def test_our_oracle_gives_the_authors_gold_actions(name: str, shared: Path) -> None:
    folder = shared / "reference-outputs" / name
    config = read_reference_model(folder).config
    for document in read_reference_documents(folder, config):
        assert plan(document.lengths, config)
        spans = replay(document.actions, sum(document.buffer_lengths))
        again, dropped = with_gold(document, dict(zip(spans, document.entity_of, strict=True)), config)
        assert not dropped
        assert again.actions == document.actions
        assert again.entity_of == document.entity_of


@pytest.mark.parametrize("name", ("sent-inc", "sent-inc-no-speakers"))
def test_the_weights_make_the_round_trip_through_a_checkpoint(name: str, shared: Path, tmp_path: Path) -> None:
    folder = shared / "reference-outputs" / name
    weights = load_file(folder / "model.safetensors")
    torch.save(weights, tmp_path / "model_best.bin")
    wanted = read_reference_model(folder)
    cache = wanted.config.cache
    imported = import_checkpoint(tmp_path / "model_best.bin", setting=wanted.config.setting, cache=cache)
    save_paper_model(tmp_path / "model", imported)
    loaded = authors_weights(load_paper_model(tmp_path / "model"))
    assert loaded.keys() == weights.keys()
    for weight, value in weights.items():
        assert torch.equal(loaded[weight], value), weight
