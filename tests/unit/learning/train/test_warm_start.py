"""Starting from a model folder: the graph's weights come back as the encoder's, rounded or not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper

from incoref.learning.data.examples import annotate, tokenise
from incoref.learning.nets.streaming import HeadSizes, StreamingModel
from incoref.learning.onnx.attention import head_count, kv_cache_graph
from incoref.learning.train.warm_start import EarlierModel, earlier_model, encoder_folder, first_encoder, take_over
from incoref.model.subwords import SubwordTokenizer
from incoref.model.windows import WindowSizes
from tiny_models import NAMES, SIZES, TinyModels, random_document, tokenizer
from tiny_networks import HEADS, random_model


def started(folder: Path, capitals: bool = False) -> StreamingModel:
    model = random_model(seed=9, capitals=capitals)
    earlier = earlier_model(folder)
    assert earlier.names == NAMES
    take_over(model, earlier, folder)
    return model


def test_a_model_folder_in_full_precision_gives_the_model_back(tiny: TinyModels) -> None:
    reading = tokenise(random_document(10, seed=3), SubwordTokenizer(tokenizer()), SIZES)
    model = started(tiny.fp32)
    with torch.no_grad():
        torch.testing.assert_close(model.word_vectors(reading), tiny.torch.word_vectors(reading), rtol=0, atol=1e-5)
    for name, value in tiny.torch.head_weights().items():
        np.testing.assert_array_equal(model.head_weights()[name], value)


def test_a_rounded_model_exported_again_is_the_same(tiny: TinyModels) -> None:
    graphs = [onnx.load(tiny.int8 / "encoder.onnx"), kv_cache_graph(started(tiny.int8).encoder, quantise=True)]
    first, again = ({t.name: numpy_helper.to_array(t) for t in graph.graph.initializer} for graph in graphs)
    assert first.keys() == again.keys()
    rounded = [name for name, value in first.items() if value.dtype == np.int8]
    assert rounded
    for name in rounded:
        np.testing.assert_array_equal(again[name], first[name], err_msg=name)
    for name in first.keys() - rounded:
        np.testing.assert_allclose(again[name], first[name], rtol=1e-5, err_msg=name)


def test_a_model_that_reads_blocks_alone_gives_the_model_back(tiny: TinyModels) -> None:
    alone = WindowSizes(SIZES.size, SIZES.tail, cache=False)
    reading = tokenise(random_document(10, seed=3), SubwordTokenizer(tokenizer(), capitals=True), alone)
    with torch.no_grad():
        expected = tiny.stateless_torch.word_vectors(reading)
        for name, most in (("fp32", 1e-5), ("int8", 0.05)):
            error = started(tiny.stateless[name].folder, capitals=True).word_vectors(reading) - expected
            assert error.norm() < most * expected.norm(), name


def test_a_model_that_was_not_told_of_capitals_can_learn_of_them(tiny: TinyModels) -> None:
    model = StreamingModel(first_encoder(tiny.fp32, None, capitals=True), NAMES, HeadSizes(**HEADS.model_dump()))
    take_over(model.eval(), earlier_model(tiny.fp32), tiny.fp32)
    text = random_document(10, seed=3)
    told, not_told = (tokenise(text, SubwordTokenizer(tokenizer(), capitals), SIZES) for capitals in (True, False))
    with torch.no_grad():
        torch.testing.assert_close(
            model.word_vectors(told), tiny.torch.word_vectors(not_told), rtol=0, atol=1e-5, msg="it begins as before"
        )
    model.word_vectors(told).square().sum().backward()
    learned = model.encoder.embeddings.writing_embeddings.weight.grad
    assert learned is not None
    assert learned[0].abs().max() == 0
    assert learned[1:3].abs().min(dim=1).values.max() > 0


def test_features_that_an_earlier_model_did_not_know_change_nothing_at_first() -> None:
    unknown, model = ("name", "opened"), random_model()
    features = model.clusterer.pair_features
    weights = model.state_dict()
    vectors, *blocks = weights["clusterer.hidden.linear.weight"].split(
        [3 * HEADS.projection, *[features.size] * len(features.tables)], dim=1
    )
    known = [block for block, name in zip(blocks, features.tables, strict=True) if name not in unknown]
    for block, name in zip(blocks, features.tables, strict=True):
        if name in unknown:
            block.zero_()
            weights[f"clusterer.class_bias.tables.{name}"].zero_()
    others = {name: value for name, value in weights.items() if not set(unknown) & set(name.split("."))}
    others["clusterer.hidden.linear.weight"] = torch.cat([vectors, *known], dim=1)
    kept = tuple(name for name in model.pair_features if name not in unknown)
    earlier = EarlierModel(NAMES, kept, others)
    fresh = StreamingModel(random_model(seed=9).encoder, NAMES, HeadSizes(**HEADS.model_dump())).eval()
    take_over(fresh, earlier, Path("earlier"))
    text = random_document(10, seed=3)
    reading = tokenise(text, SubwordTokenizer(tokenizer()), SIZES)
    annotation = annotate(text, reading, NAMES.schemes[0], {})
    with torch.no_grad():
        expected, found = (m.scores(m.word_vectors(reading), annotation, 0).pairs for m in (model, fresh))
    assert len(expected)
    torch.testing.assert_close(found, expected)
    another = StreamingModel(random_model(seed=8).encoder, NAMES, HeadSizes(**HEADS.model_dump()))
    take_over(another, earlier, Path("earlier"))
    for name in unknown:  # or there would be no mean of runs with other seeds
        table = f"clusterer.pair_features.tables.{name}.weight"
        assert torch.equal(another.state_dict()[table], fresh.state_dict()[table])


@pytest.mark.parametrize("scorer", ["detector", "clusterer"])
def test_of_a_larger_hidden_layer_the_units_that_weigh_most_are_kept(tiny: TinyModels, scorer: str) -> None:
    earlier = earlier_model(tiny.fp32)
    weights = earlier.weights
    out = weights[f"{scorer}.output.weight"]
    out[:] = 0.01
    rows = [3, 5, 20]
    out[:, rows] = torch.tensor([2.0, -3.0, 4.0])
    torch.manual_seed(1)
    sizes = HeadSizes(**{**HEADS.model_dump(), f"{scorer}_hidden": len(rows)})
    model = StreamingModel(random_model().encoder, NAMES, sizes)
    take_over(model, earlier, tiny.fp32)
    found = model.get_submodule(scorer).state_dict()
    assert found["output.weight"].tolist() == [[2.0, -3.0, 4.0]] * len(out)
    for name in ("hidden.linear.weight", "hidden.linear.bias"):
        torch.testing.assert_close(found[name], weights[f"{scorer}.{name}"][rows])


def test_an_encoder_can_come_from_a_model_folder(tiny: TinyModels) -> None:
    encoder = first_encoder(tiny.fp32, None).eval()
    reading = tokenise(random_document(10, seed=3), SubwordTokenizer(tokenizer()), SIZES)
    model = started(tiny.fp32)
    with torch.no_grad():
        expected = model.word_vectors(reading)
        model.encoder = encoder
        torch.testing.assert_close(model.word_vectors(reading), expected, rtol=0, atol=1e-6)
    assert len(first_encoder(tiny.fp32, 1).encoder.layer) == 1


def test_the_shipped_model_has_a_name() -> None:
    names, _, weights = earlier_model(Path("en"))
    assert "ontonotes" in names.schemes
    encoder = first_encoder(encoder_folder(Path("en")), None)
    assert encoder.sizes.vocabulary == 30522
    for name, value in encoder.state_dict().items():
        assert torch.equal(weights[f"encoder.{name}"], value), name


def test_earlier_graphs_say_in_their_attention_how_many_heads_they_have() -> None:
    node = helper.make_node("MultiHeadAttention", ["query"], ["out"], domain="com.microsoft", scale=1.0, num_heads=7)
    assert head_count(helper.make_graph([node], "encoder", [], [])) == 7
