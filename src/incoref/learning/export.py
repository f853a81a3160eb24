"""A trained model to the folder that the running side loads: ONNX encoder, heads, tokenizer, golden texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np
import onnx
from safetensors.numpy import save_file

from incoref.learning.calibration import Calibration, calibrate
from incoref.learning.checkpoints import load_model
from incoref.learning.config import Configuration, CorpusConfig
from incoref.learning.data import load, sentences_of
from incoref.learning.golden import write_golden
from incoref.learning.onnx_graph import encoder_graph
from incoref.learning.preparation import read
from incoref.learning.quantisation import inputs_of
from incoref.model import Temperatures
from incoref.modelfile import Model, ModelConfig
from incoref.subwords import SubwordTokenizer
from incoref.types import Document
from incoref.windows import WindowSizes

_TEXTS, _SENTENCES = 6, 30
"""Of each training corpus, for the rounding of weights."""


def export(
    trained: Path, out: Path, *, name: str, quantise: bool = True, corpora: Configuration | None = None
) -> Calibration | None:
    """Write the model folder of a checkpoint (a run's ``best``).

    With ``corpora``, its temperatures are fitted on their development part, and int8 weights are rounded for what the
    encoder reads in some texts of their training part.
    """
    model, config = load_model(trained)
    sizes = WindowSizes(config.encoder.window, config.encoder.tail)
    tokenizer = SubwordTokenizer.load(trained / "tokenizer.json")
    calibration, inputs = None, None
    if corpora is not None:
        calibration = calibrate(model, [(load(corpus), corpus.scheme) for corpus in corpora.dev], tokenizer, sizes)
        if quantise:
            readings = [read(text, tokenizer, sizes) for text in _texts(corpora.train)]
            inputs = inputs_of(model.encoder, [partial(model.word_vectors, reading) for reading in readings])
    out.mkdir(parents=True, exist_ok=True)
    onnx.save(encoder_graph(model.encoder, quantise, inputs), out / "encoder.onnx")
    precision = np.float16 if quantise else np.float32
    heads = {name: np.ascontiguousarray(value.astype(precision)) for name, value in model.head_weights().items()}
    save_file(heads, out / "head.safetensors")
    shutil.copy(trained / "tokenizer.json", out / "tokenizer.json")
    described = ModelConfig(
        name=name,
        names=model.names,
        window=sizes,
        temperatures=calibration.temperatures if calibration else Temperatures(),
        k=config.training.k[0],
        description=f"{config.encoder.path.name}, {model.encoder.sizes.layers} layers, "
        f"{'int8' if quantise else 'fp32'}; trained on {', '.join(str(c.scheme) for c in config.train)}",
    )
    (out / "config.json").write_text(json.dumps(described.to_json(), indent=1) + "\n", encoding="utf-8")
    write_golden(Model.load(out))
    return calibration


def _texts(corpora: Iterable[CorpusConfig]) -> list[Document]:
    """The beginnings of some documents of each corpus."""
    found = [load(corpus.model_copy(update={"limit": _TEXTS})) for corpus in corpora]
    return [sentences_of(document, 0, _SENTENCES) for documents in found for document in documents]
