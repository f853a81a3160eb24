"""A new pair feature is one file: with no other change it is trained, exported, run, saved and restored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from incoref import Resolver
from incoref.learning.data.examples import annotate, tokenise
from incoref.learning.export.export import export
from incoref.learning.nets.streaming import HeadSizes, StreamingModel
from incoref.learning.train.checkpoints import load_model, save_model
from incoref.learning.train.warm_start import earlier_model, take_over
from incoref.model.features import REGISTRY, register, unregister
from incoref.model.folder import Model
from incoref.model.subwords import SubwordTokenizer
from tiny_models import NAMES, SIZES, TinyModels, random_document, tokenizer
from tiny_networks import HEADS, random_model
from toy_feature import LONGEST, LongWord


@pytest.fixture
def toy(tiny: TinyModels) -> Iterator[LongWord]:
    assert tiny.checkpoint.is_dir()  # made before there is a new feature: others use it, too
    feature = LongWord()
    register(feature)
    yield feature
    unregister(feature)


def test_it_is_trained_exported_run_saved_and_restored(tiny: TinyModels, toy: LongWord, tmp_path: Path) -> None:
    config = load_model(tiny.checkpoint)[1]
    model = StreamingModel(random_model().encoder, NAMES, HeadSizes(**HEADS.model_dump()))
    assert model.pair_features == (*REGISTRY,) and model.pair_features[-1] == "long_word"
    take_over(model, earlier_model(tiny.checkpoint), tiny.checkpoint)  # a model that never heard of it

    text = random_document(12, seed=2)
    reading = tokenise(text, SubwordTokenizer(tokenizer()), SIZES)
    annotation = annotate(text, reading, NAMES.schemes[0], {})
    assert set(annotation.gold.pair_classes[-1].tolist()) == {0, 1}
    table = model.clusterer.pair_features.tables["long_word"].weight
    assert model.clusterer.class_bias is not None
    bias = model.clusterer.class_bias.tables["long_word"]
    optimiser = torch.optim.SGD([table, bias, model.clusterer.hidden.linear.weight], lr=0.5)
    for _ in range(3):
        optimiser.zero_grad()
        model.scores(model.word_vectors(reading), annotation, 0).pairs.square().sum().backward()
        torch.nn.utils.clip_grad_norm_([table, bias, model.clusterer.hidden.linear.weight], 1.0)
        optimiser.step()
    assert table.grad is not None and table.grad.abs().min(dim=1).values.max() > 0
    assert bias.abs().min() > 0

    save_model(tmp_path / "best", model.eval(), config, NAMES, tiny.checkpoint / "tokenizer.json")
    export([tmp_path / "best"], tmp_path / "folder", name="toy", quantise=False)
    loaded = Model.load(tmp_path / "folder")
    assert loaded.heads.clusters.features[-1] == "long_word"

    resolver = Resolver(loaded)
    said = [" ".join(word.text for word in sentence.tokens) for sentence in text.sentences]
    session = resolver.session()
    for line in said[:8]:
        session.say(line)
    restored = resolver.restore(session.save())
    longest = session._state.memory.states[LONGEST]
    assert longest.max() >= 6 > longest.min()
    assert restored._state.memory.states[LONGEST].tolist() == longest.tolist()
    for line in said[8:]:
        assert session.say(line) == restored.say(line)
    merged = session._state.memory.states.merged(0, 1)
    assert merged[LONGEST][0] == max(longest[:2].tolist())


def test_a_model_with_it_is_refused_where_it_is_unknown(tiny: TinyModels, tmp_path: Path) -> None:
    config = load_model(tiny.checkpoint)[1]
    feature = LongWord()
    register(feature)
    try:
        model = StreamingModel(random_model().encoder, NAMES, HeadSizes(**HEADS.model_dump())).eval()
        save_model(tmp_path / "best", model, config, NAMES, tiny.checkpoint / "tokenizer.json")
        with pytest.raises(ValueError, match="already a pair feature named 'long_word'"):
            register(LongWord())
    finally:
        unregister(feature)
    with pytest.raises(Exception, match="'long_word', which is not registered"):
        load_model(tmp_path / "best")
