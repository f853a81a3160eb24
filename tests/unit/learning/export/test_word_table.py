"""An encoder too large for one file: its word embeddings lie beside it, and nothing else changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx

from incoref.learning.export.export import save_encoder
from incoref.learning.train.warm_start import earlier_model
from incoref.model.folder import WORD_TABLE, Model
from tiny_models import TinyModels


def test_word_embeddings_in_a_file_of_their_own(tiny: TinyModels, tmp_path: Path) -> None:
    whole, divided = tiny.int8, Path(shutil.copytree(tiny.int8, tmp_path / "model"))
    save_encoder(onnx.load(whole / "encoder.onnx"), divided, largest=1000)
    sizes = [(divided / name).stat().st_size for name in ("encoder.onnx", WORD_TABLE)]
    assert sum(sizes) < (whole / "encoder.onnx").stat().st_size + 500 and min(sizes) > 100
    one, other = Model.load(whole), Model.load(divided)
    words = ("Anna", "called", "Ben")
    assert np.array_equal(one.vector_of(words).vector, other.vector_of(words).vector)
    assert one.fingerprint != other.fingerprint
    for name, value in earlier_model(whole).weights.items():
        assert value.equal(earlier_model(divided).weights[name]), name
    save_encoder(onnx.load(divided / "encoder.onnx"), divided)
    assert not (divided / WORD_TABLE).exists()
    assert Model.load(divided).vector_of(words).vector.tolist() == one.vector_of(words).vector.tolist()
