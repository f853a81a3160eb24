"""A trained model against its exports: the shipped weights on OntoGUM dev, or what the environment names.

    INCOREF_CHECKPOINT=runs/en/best INCOREF_CORPUS=corpora/ontogum/dev pytest tests/parity/test_exported_model.py

The fp32 export must take every action and make every cluster as the model in PyTorch does; int8 weights may cost at
most 0.2 F1, which only a checkpoint that was not rounded yet can tell.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from incoref import corpora
from incoref.evaluation.metrics import Scorer, token_clusters
from incoref.learning.config import Configuration, CorpusConfig, EncoderConfig
from incoref.learning.export.export import export
from incoref.learning.nets.streaming import HeadSizes, StreamingModel
from incoref.learning.train.checkpoints import load_model, save_model
from incoref.learning.train.prediction import predict
from incoref.learning.train.warm_start import earlier_model, first_encoder, take_over
from incoref.model.folder import ModelConfig
from incoref.model.named import DEFAULT_MODEL
from incoref.model.subwords import SubwordTokenizer
from incoref.resolver import load
from incoref.types import Document

CHECKPOINT, CORPUS = os.environ.get("INCOREF_CHECKPOINT"), os.environ.get("INCOREF_CORPUS")

Clusters = list[list[tuple[int, int]]]


@pytest.fixture(scope="module")
def documents(request: pytest.FixtureRequest) -> list[Document]:
    return list(corpora.read(CORPUS or request.getfixturevalue("shared") / "corpora" / "ontogum" / "dev"))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if CHECKPOINT:
        return Path(CHECKPOINT)
    earlier = earlier_model(DEFAULT_MODEL)
    names = earlier.names
    capitals = ModelConfig.load(DEFAULT_MODEL / "config.json").capitals
    model = StreamingModel(first_encoder(DEFAULT_MODEL, None, capitals), names, HeadSizes())
    take_over(model, earlier, DEFAULT_MODEL)
    corpus = (CorpusConfig(path=Path("none")),)
    config = Configuration(encoder=EncoderConfig(path=DEFAULT_MODEL), train=corpus, dev=corpus, types=names.types)
    folder = tmp_path_factory.mktemp("shipped") / "checkpoint"
    save_model(folder, model, config, names)
    return folder


@pytest.fixture(scope="module")
def trained(documents: list[Document], checkpoint: Path) -> list[Clusters]:
    model, config = load_model(checkpoint)
    tokenizer = SubwordTokenizer.load(checkpoint / "tokenizer.json", model.encoder.sizes.capitals)
    return list(predict(model, documents, tokenizer, config.encoder.sizes, model.names.schemes[0]))


def exported(documents: list[Document], checkpoint: Path, folder: Path, quantise: bool) -> list[Clusters]:
    export([checkpoint], folder, name="exported", quantise=quantise)
    return [token_clusters(document) for document in load(folder).pipe(documents, singletons=True)]


def f1(documents: list[Document], found: list[Clusters]) -> float:
    scorer = Scorer(drop_singletons=True)
    for document, clusters in zip(documents, found, strict=True):
        scorer.add(token_clusters(document), clusters)
    return scorer.result().conll_f1


@pytest.mark.slow
def test_fp32_decides_as_in_training(
    documents: list[Document], checkpoint: Path, trained: list[Clusters], tmp_path: Path
) -> None:
    found = exported(documents, checkpoint, tmp_path, False)
    for document, ours, theirs in zip(documents, found, trained, strict=True):
        assert [sorted(cluster) for cluster in ours] == [sorted(cluster) for cluster in theirs], document.id


@pytest.mark.skipif(not CHECKPOINT, reason="needs INCOREF_CHECKPOINT: a trained model that was not rounded")
def test_int8_costs_little(
    documents: list[Document], checkpoint: Path, trained: list[Clusters], tmp_path: Path
) -> None:
    loss = f1(documents, trained) - f1(documents, exported(documents, checkpoint, tmp_path, True))
    assert np.isfinite(loss)
    assert loss <= 0.2
