"""Pretrained encoders of every family: the vectors of transformers, in training, in ONNX, and after a whole run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel, RobertaConfig, RobertaModel

from incoref.errors import IncorefError
from incoref.learning.config import Configuration
from incoref.learning.export.export import export
from incoref.learning.nets.encoder import BlockCausalEncoder, relative_bucket
from incoref.learning.nets.families import FAMILIES, pretrained_encoder
from incoref.learning.onnx.attention import kv_cache_graph, stateless_graph
from incoref.learning.train.checkpoints import load_model
from incoref.learning.train.trainer import Trainer
from incoref.learning.train.warm_start import first_encoder
from incoref.model.encoders import load_encoder
from incoref.model.folder import Model
from incoref.model.selftest import check
from incoref.model.windows import WindowSizes
from tiny_training import write_streaming_run

SMALL = {
    "vocab_size": 50,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
}
MODELS = {"bert": BertModel, "mpnet": MPNetModel, "roberta": RobertaModel}
CONFIGS = {
    "bert": BertConfig(**SMALL, max_position_embeddings=200),
    "mpnet": MPNetConfig(**SMALL, max_position_embeddings=202),
    "roberta": RobertaConfig(**SMALL, max_position_embeddings=202, type_vocab_size=1),
}
START = 2


@pytest.fixture(params=sorted(FAMILIES))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Random weights as transformers saves them; large ones, so that nothing is lost in rounding."""
    torch.manual_seed(1)
    model = MODELS[request.param](CONFIGS[request.param], add_pooling_layer=False)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "LayerNorm" not in name:
                value.normal_(0, 0.4)
            elif name.endswith("bias"):
                value.normal_(0, 0.1)
    model.eval().save_pretrained(tmp_path)
    return tmp_path


def reference(folder: Path, ids: torch.Tensor) -> torch.Tensor:
    kind = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"]
    model = MODELS[kind].from_pretrained(folder, add_pooling_layer=False).eval()
    places = torch.arange(len(ids)) + FAMILIES[kind].first_position
    with torch.inference_mode():
        vectors = model(input_ids=ids[None], position_ids=places[None]).last_hidden_state[0]
    return vectors * FAMILIES[kind].output_scale


def windows_of(encoder: BlockCausalEncoder, windows: list[torch.Tensor]) -> list[torch.Tensor]:
    lengths = [len(ids) for ids in windows]
    positions = torch.cat([torch.arange(length) for length in lengths])
    blocks = [torch.zeros(length) for length in lengths]
    with torch.inference_mode():
        return list(encoder(torch.cat(windows), positions, lengths, blocks).split(lengths))


def test_vectors_are_those_of_transformers(folder: Path) -> None:
    """Several windows at once, of lengths that group and that do not."""
    encoder = pretrained_encoder(folder).eval()
    windows = [torch.randint(3, 50, (length,)) for length in (5, 180, 5, 40)]
    for ids, ours in zip(windows, windows_of(encoder, windows), strict=True):
        torch.testing.assert_close(ours, reference(folder, ids), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", ["kv_cache", "stateless"])
def test_the_graph_gives_the_vectors_of_training(folder: Path, tmp_path: Path, kind: str) -> None:
    encoder = pretrained_encoder(folder).eval()
    graph = kv_cache_graph(encoder, quantise=False) if kind == "kv_cache" else stateless_graph(encoder, START)
    onnx.save(graph, tmp_path / "encoder.onnx")
    running = load_encoder(tmp_path / "encoder.onnx", kind, WindowSizes(200, 20, kind == "kv_cache"), START)
    blocks = [torch.randint(3, 50, (length,)) for length in (5, 100, 5, 40)]
    state = running.start()
    for number, block in enumerate(blocks):
        found, state = running.encode(block.numpy(), state)
        window = blocks[: number + 1] if kind == "kv_cache" else [block]
        ids = torch.cat([torch.tensor([START]), *window])
        numbers = np.repeat([-1, *range(len(window))], [1, *map(len, window)])
        with torch.inference_mode():
            expected = encoder(ids, torch.arange(len(ids)), [len(ids)], [torch.from_numpy(numbers)])
        np.testing.assert_allclose(found, expected[-len(block) :].numpy(), atol=2e-4)


@pytest.mark.parametrize("cache", ["true", "false"])
def test_an_mpnet_trains_exports_runs_and_trains_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    path = write_streaming_run(tmp_path)
    vocabulary = json.loads((tmp_path / "encoder" / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    config = MPNetConfig(**{**SMALL, "vocab_size": vocabulary}, max_position_embeddings=50)
    MPNetModel(config, add_pooling_layer=False).save_pretrained(tmp_path / "encoder")
    monkeypatch.chdir(tmp_path)
    Trainer(Configuration.load(path, [f"encoder.cache={cache}"]), tmp_path / "run").run()
    export([tmp_path / "run" / "best"], tmp_path / "model", name="mpnet")
    model = Model.load(tmp_path / "model")
    assert model.config.encoder == ("kv_cache" if cache == "true" else "stateless")
    assert check(model) > 0
    encoder = first_encoder(tmp_path / "model", None)
    assert encoder.sizes.relative_buckets == 32
    assert encoder.sizes.epsilon == pytest.approx(config.layer_norm_eps)
    trained, _ = load_model(tmp_path / "run" / "best")
    for name, value in trained.encoder.state_dict().items():
        if "relative" in name or "position" in name:
            torch.testing.assert_close(encoder.state_dict()[name], value, msg=name)


def test_an_unknown_family_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "modernbert"}', encoding="utf-8")
    with pytest.raises(IncorefError, match="'modernbert' are not supported; there are bert, mpnet, roberta"):
        pretrained_encoder(tmp_path)


def test_weights_that_lack_something_are_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}), encoding="utf-8")
    with pytest.raises(IncorefError, match=r"don't fit config.json .*layer\.2"):
        pretrained_encoder(folder)


def test_buckets_cover_both_directions() -> None:
    buckets = relative_bucket(torch.arange(-511, 512), 32)
    assert sorted(set(buckets.tolist())) == [*range(16), *range(17, 32)]
    assert buckets[511 - 7 : 511 + 8].tolist() == [7, 6, 5, 4, 3, 2, 1, 0, 17, 18, 19, 20, 21, 22, 23]
