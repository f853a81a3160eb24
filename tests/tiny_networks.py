"""PyTorch networks for the small test models: random weights, checkpoints, exports to model folders.

``tiny_models`` creates them on demand.
"""

from __future__ import annotations

from pathlib import Path

import torch

from incoref.learning.config import Configuration, CorpusConfig, EncoderConfig, HeadsConfig
from incoref.learning.data.examples import annotate, tokenise
from incoref.learning.export.export import export
from incoref.learning.nets.encoder import WRITING_TABLE, BlockCausalEncoder, EncoderSizes
from incoref.learning.nets.streaming import HeadSizes, StreamingModel
from incoref.learning.train.checkpoints import save_model
from incoref.model.step import HeadNames
from incoref.model.subwords import SubwordTokenizer
from tiny_models import LONG, NAMES, SIZES, random_document, tokenizer

HEADS = HeadsConfig(
    stack=12, history=6, action=5, feature=4, detector_hidden=40, projection=16, clusterer_hidden=24, new_hidden=8
)


def random_model(seed: int = 3, names: HeadNames = NAMES, capitals: bool = False) -> StreamingModel:
    """Create a two-layer model of width 32, with random heads scaled so that all actions and choices occur."""
    torch.manual_seed(seed)
    sizes = EncoderSizes(
        vocabulary=tokenizer().get_vocab_size(),
        width=32,
        layers=2,
        heads=4,
        inner=64,
        positions=LONG.size,
        capitals=capitals,
    )
    model = StreamingModel(BlockCausalEncoder(sizes), names, HeadSizes(**HEADS.model_dump())).eval()
    text = random_document(12, seed)
    reading = tokenise(text, SubwordTokenizer(tokenizer()), SIZES)
    annotation = annotate(text, reading, names.schemes[0], {})
    new = model.clusterer.new_entity
    assert new is not None
    with torch.no_grad():
        for name, value in model.named_parameters():
            if name.endswith(WRITING_TABLE):
                value[1:].normal_()
            elif "LayerNorm" not in name and not name.startswith("encoder.embeddings"):
                value.normal_(0, 0.2)
        scores = model.scores(model.word_vectors(reading), annotation, 0)
        assert isinstance(scores.new, torch.Tensor)
        for layer, output, mean in (
            (model.detector.output, scores.actions, torch.tensor([1.0, 0.0, 0.0, -1.0])),
            (model.clusterer.output, scores.pairs[:, None], torch.zeros(1)),
            (new[2], scores.new[:, None], torch.full((1,), 3.0)),
        ):
            assert isinstance(layer, torch.nn.Linear)
            spread = 2 / output.std(dim=0)
            layer.bias.copy_(mean - spread * (output.mean(dim=0) - layer.bias))
            layer.weight *= spread[:, None]
    return model


def write_checkpoint(folder: Path, *, stateless: bool) -> None:
    """Write a random model like a training run: with a key–value cache, or stateless with capitalisation input."""
    source = folder.with_name(f"{folder.name}-pretrained")
    source.mkdir(parents=True)
    tokenizer().save(str(source / "tokenizer.json"))
    corpus = CorpusConfig(path=folder / "none")
    encoder = EncoderConfig(path=source, window=SIZES.size, tail=SIZES.tail, cache=not stateless, capitals=stateless)
    config = Configuration(encoder=encoder, heads=HEADS, train=(corpus,), dev=(corpus,), types=NAMES.types)
    save_model(folder, random_model(capitals=stateless), config, NAMES)


def write_model_folder(checkpoint: Path, folder: Path, *, quantise: bool) -> None:
    """Export a checkpoint to a model folder."""
    export([checkpoint], folder, name="tiny", quantise=quantise)
