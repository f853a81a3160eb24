"""Export a trained model to a folder for run time: ONNX encoder, heads, tokenizer, golden texts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx.external_data_helper import set_external_data
from safetensors.numpy import save_file

from incoref.learning.config import CorpusConfig
from incoref.learning.data.sources import load
from incoref.learning.export.calibration import Calibration, calibrate
from incoref.learning.export.quantisation_ranges import evened, input_ranges
from incoref.learning.export.selftest_texts import golden_documents, write_golden
from incoref.learning.onnx.attention import kv_cache_graph, stateless_graph
from incoref.learning.onnx.products import products_graph
from incoref.learning.train.checkpoints import model_folder
from incoref.learning.train.warm_start import load_mean
from incoref.model.folder import WORD_TABLE, Model, ModelConfig
from incoref.model.matmul import Floats, Times, plain_product
from incoref.model.step import HeadNames, Heads, Temperatures
from incoref.model.subwords import SubwordTokenizer


def export(
    trained: Sequence[Path],
    out: Path,
    *,
    name: str,
    quantise: bool = True,
    development: Sequence[CorpusConfig] = (),
    shares: Sequence[float] | None = None,
) -> Calibration | None:
    """Write the model folder of a checkpoint (a run's ``best``), or of its mean with others and with model folders.

    Temperatures are fitted on the development corpora, if there are any.
    """
    model, config = load_mean(trained, shares)
    capitals, tokenizer_file = model.encoder.sizes.capitals, model_folder(trained[0]) / "tokenizer.json"
    sizes, tokenizer = config.encoder.sizes, SubwordTokenizer.load(tokenizer_file, capitals)
    corpora = [(load(corpus), corpus.scheme) for corpus in development]
    calibration = calibrate(model, corpora, tokenizer, sizes) if corpora else None
    out.mkdir(parents=True, exist_ok=True)
    if sizes.cache:
        graph = kv_cache_graph(model.encoder, quantise)
    elif not quantise:
        graph = stateless_graph(model.encoder, tokenizer.start)
    else:
        texts = [document for documents, _ in corpora for document in documents] or golden_documents()
        encoder, ranges = evened(model.encoder, input_ranges(model, texts, tokenizer, sizes))
        graph = stateless_graph(encoder, tokenizer.start, ranges)
    save_encoder(graph, out)
    precision = np.float16 if quantise else np.float32
    heads = {name: np.ascontiguousarray(value.astype(precision)) for name, value in model.head_weights().items()}
    save_file(heads, out / "head.safetensors", {"layout": json.dumps(model.layout())})
    onnx.save(products_graph(head_matrices(heads, model.names, model.pair_features), quantise), out / "head.onnx")
    shutil.copy(tokenizer_file, out / "tokenizer.json")
    described = ModelConfig(
        name=name,
        names=model.names,
        encoder="kv_cache" if sizes.cache else "stateless",
        window=sizes,
        temperatures=calibration.temperatures if calibration else Temperatures(),
        k=config.training.k[0],
        capitals=capitals,
        description=f"{config.encoder.path.name}, {model.encoder.sizes.layers} layers, "
        f"{'int8' if quantise else 'fp32'}; trained on {', '.join(str(c.scheme) for c in config.train)}",
    )
    (out / "config.json").write_text(json.dumps(described.to_json(), indent=1) + "\n", encoding="utf-8")
    write_golden(Model.load(out))
    for file in out.iterdir():  # safetensors and onnx write files that only their owner can read
        file.chmod((out / "config.json").stat().st_mode)
    return calibration


def save_encoder(graph: onnx.ModelProto, folder: Path, largest: int = 90 << 20) -> None:
    """Write the graph; if its file would exceed ``largest`` bytes, word embeddings get a file of their own."""
    (folder / WORD_TABLE).unlink(missing_ok=True)
    if graph.ByteSize() > largest:
        table = next(tensor for tensor in graph.graph.initializer if tensor.name == "words.table")
        set_external_data(table, WORD_TABLE)
    onnx.save(graph, folder / "encoder.onnx")


def head_matrices(
    weights: Mapping[str, npt.NDArray[Any]], names: HeadNames, pair_features: Sequence[str]
) -> dict[str, Floats]:
    """Return the matrices of the run-time products, by name, from the heads' weights as they are stored."""
    matrices: dict[str, Floats] = {}

    def product(name: str, matrix: Floats) -> Times:
        matrices[name] = matrix
        return plain_product(name, matrix)

    Heads.from_weights(weights, names, product=product, pair_features=pair_features)
    return matrices
