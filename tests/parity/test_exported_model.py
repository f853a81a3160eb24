"""A trained model against its exports, on a corpus: only where the environment names them.

    INCOREF_CHECKPOINT=runs/en/best INCOREF_CORPUS=corpora/ontogum/dev pytest tests/parity/test_exported_model.py

The fp32 export must take every action and make every cluster as the model in PyTorch does; int8 weights may cost at
most 0.2 F1.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from incoref import corpora
from incoref.evaluation.metrics import Scorer, token_clusters
from incoref.learning.checkpoints import load_model
from incoref.learning.export import export
from incoref.learning.prediction import predict
from incoref.modelfile import Model
from incoref.reading import predict as predict_document
from incoref.subwords import SubwordTokenizer
from incoref.types import Document

CHECKPOINT, CORPUS = os.environ.get("INCOREF_CHECKPOINT"), os.environ.get("INCOREF_CORPUS")
pytestmark = pytest.mark.skipif(
    not (CHECKPOINT and CORPUS), reason="needs INCOREF_CHECKPOINT and INCOREF_CORPUS: a trained model and documents"
)

Clusters = list[list[tuple[int, int]]]


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return list(corpora.read(str(CORPUS)))


@pytest.fixture(scope="module")
def trained(documents: list[Document]) -> list[Clusters]:
    model, config = load_model(Path(str(CHECKPOINT)))
    tokenizer = SubwordTokenizer.load(Path(str(CHECKPOINT)) / "tokenizer.json")
    sizes = config.encoder.sizes
    return list(predict(model, documents, tokenizer, sizes, model.names.schemes[0]))


def exported(documents: list[Document], folder: Path, quantise: bool) -> list[Clusters]:
    export(Path(str(CHECKPOINT)), folder, name="exported", quantise=quantise)
    model = Model.load(folder)
    found = (predict_document(model, document) for document in documents)
    return [[[mention.tokens for mention in entity.mentions] for entity in text.entities] for text in found]


def f1(documents: list[Document], found: list[Clusters]) -> float:
    scorer = Scorer(drop_singletons=True)
    for document, clusters in zip(documents, found, strict=True):
        scorer.add(token_clusters(document), clusters)
    return scorer.result().conll_f1


def test_fp32_decides_as_in_training(documents: list[Document], trained: list[Clusters], tmp_path: Path) -> None:
    for document, ours, theirs in zip(documents, exported(documents, tmp_path, False), trained, strict=True):
        assert ours == theirs, document.id


def test_int8_costs_little(documents: list[Document], trained: list[Clusters], tmp_path: Path) -> None:
    loss = f1(documents, trained) - f1(documents, exported(documents, tmp_path, True))
    assert np.isfinite(loss)
    assert loss <= 0.2
