"""Training runs small enough for tests: random encoders in folders, corpora in files, configurations."""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

from incoref import corpora
from incoref.learning.config import Configuration
from incoref.learning.nets.encoder import BlockCausalEncoder, EncoderSizes
from incoref.learning.paper.xlnet import new_xlnet
from incoref.learning.train.trainer import Trainer
from tiny_models import SIZES, WORDS, random_document
from tiny_models import tokenizer as bert_tokenizer

GENRES = ("bc", "nw")


def write_bert(folder: Path, positions: int = SIZES.size) -> None:
    """Write an encoder folder in the layout of the BERT family, with random weights."""
    folder.mkdir(parents=True)
    tokenizer = bert_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    sizes = EncoderSizes(tokenizer.get_vocab_size(), width=16, layers=2, heads=2, inner=24, positions=positions)
    torch.manual_seed(0)
    encoder = BlockCausalEncoder(sizes)
    with torch.no_grad():
        encoder.embeddings.word_embeddings.weight.normal_(std=0.5)
    weights = encoder.state_dict() | {"embeddings.token_type_embeddings.weight": torch.zeros(2, sizes.width)}
    save_file(weights, folder / "model.safetensors")
    described = {
        "vocab_size": sizes.vocabulary,
        "hidden_size": sizes.width,
        "num_hidden_layers": sizes.layers,
        "num_attention_heads": sizes.heads,
        "intermediate_size": sizes.inner,
        "max_position_embeddings": sizes.positions,
        "hidden_dropout_prob": sizes.dropout,
        "layer_norm_eps": sizes.epsilon,
    }
    (folder / "config.json").write_text(json.dumps(described), encoding="utf-8")


def write_xlnet(folder: Path) -> None:
    """Write an XLNet folder in transformers' layout, with random weights and a whole-word tokenizer."""
    folder.mkdir(parents=True)
    symbols = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"]
    letters = sorted(set("".join(WORDS)))
    pieces = [*symbols, *(f"▁{word}" for word in WORDS if len(word) < 6), "▁", *letters]
    tokenizer = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(dict.fromkeys(pieces))], 0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    sizes = {"vocab_size": tokenizer.get_vocab_size(), "d_model": 12, "n_layer": 2, "n_head": 3, "d_inner": 16}
    new_xlnet({**sizes, "dropout": 0.1}).save_pretrained(folder)


def write_corpus(path: Path, documents: int, seed: int = 0, sentences: int = 4) -> None:
    """Write random documents with OntoNotes-style ids."""
    made = [
        random_document(sentences, seed + i, f"{GENRES[i % len(GENRES)]}/text/00/text_{seed + i:04}")
        for i in range(documents)
    ]
    corpora.write(made, path, "conll-2012")


STREAMING = """
types = ["person", "place"]

[encoder]
cache = true
path = "encoder"
window = 48
tail = 14

[heads]
stack = 8
history = 6
action = 5
feature = 4
detector_hidden = 20
projection = 12
clusterer_hidden = 14
new_hidden = 6

[training]
epochs = 2

[[train]]
path = "train.conll"

[[train]]
path = "more.conll"
share = 0.7
longest = 20

[[dev]]
path = "dev.conll"
drop_singletons = true
"""

PAPER = """
kind = "paper"
encoder = "encoder"

[paper]
mode = "{mode}"
setting = "{setting}"
k = 2
window = 40
backprop_sentences = 2
stack_size = 7
history_size = 5
feature_size = 3
detector_hidden = 11
clusterer_hidden = 9
max_width = 5
genres = ["bc", "nw"]

[training]
epochs = 2
encoder_rate = 2e-5
head_rate = 1e-4
head_warmup = 0.0

[[train]]
path = "train.conll"

[[dev]]
path = "dev.conll"
drop_singletons = true
"""


def write_streaming_run(folder: Path, extra: str = "") -> Path:
    """Create a folder with an encoder, corpora and ``config.toml`` for a streaming model."""
    write_bert(folder / "encoder")
    write_corpus(folder / "train.conll", 4)
    write_corpus(folder / "more.conll", 2, seed=50, sentences=6)
    write_corpus(folder / "dev.conll", 2, seed=90)
    return _configuration(folder, STREAMING, extra)


def write_paper_run(folder: Path, extra: str = "", mode: str = "paper", setting: str = "sent-inc") -> Path:
    """Create a folder with an encoder, corpora and ``config.toml`` for a paper model."""
    write_xlnet(folder / "encoder")
    write_corpus(folder / "train.conll", 4)
    write_corpus(folder / "dev.conll", 2, seed=90)
    return _configuration(folder, PAPER.format(mode=mode, setting=setting), extra)


def _configuration(folder: Path, text: str, training: str) -> Path:
    """Write ``config.toml``; ``training`` contains more lines for the section of that name."""
    path = folder / "config.toml"
    path.write_text(text.replace("[training]\n", f"[training]\n{training}\n"), encoding="utf-8")
    return path


def train(folder: Path, out: Path, resume: bool = False) -> None:
    """Run the configuration in a folder, in a process that tests start and kill."""
    os.chdir(folder)
    Trainer(Configuration.load(Path("config.toml")), out).run(resume=resume)


def losses(out: Path) -> list[tuple[int, str, float]]:
    """Return the steps in a possibly unfinished run's log: number, document, loss."""
    log = out / "log.jsonl"
    whole_lines = log.read_text(encoding="utf-8").split("\n")[:-1] if log.is_file() else []
    lines = [json.loads(line) for line in whole_lines]
    return [(line["step"], line["document"], line["loss"]) for line in lines if line["kind"] == "step"]
