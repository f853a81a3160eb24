"""Training of the paper's model: its examples, losses, predictions and checkpoints."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from incoref.learning.config import Configuration, CorpusConfig
from incoref.learning.data import sources
from incoref.learning.nets.pretrained import pretrained_folder
from incoref.learning.paper.checkpoint import save_paper_model
from incoref.learning.paper.config import XLNET_BASE, inverse_frequency
from incoref.learning.paper.definition import run
from incoref.learning.paper.document import PaperDocument
from incoref.learning.paper.model import Limits, PaperModel
from incoref.learning.paper.reading import read_paper, with_annotation, word_clusters
from incoref.learning.paper.xlnet import load_xlnet
from incoref.learning.paper.xlnet_cache import CachedReader, CachedXLNet
from incoref.learning.train import checkpoints
from incoref.learning.train.trainable import Clusters, ExampleFacts, Loss
from incoref.model.subwords import SubwordTokenizer
from incoref.model.transitions import Action
from incoref.types import Document

_ENCODER_FIELDS = (*XLNET_BASE, "ff_activation", "layer_norm_eps")


@dataclass(frozen=True, slots=True)
class PaperExample:
    document: PaperDocument
    facts: ExampleFacts


class PaperTraining:
    """Implements ``Trainable``."""

    def __init__(self, config: Configuration, device: torch.device) -> None:
        self._config, training, paper = config, config.training, config.paper_or_default
        folder = pretrained_folder(config.encoder.path)
        self._tokenizer_file = folder / "tokenizer.json"
        self._tokenizer = SubwordTokenizer.load(self._tokenizer_file)
        self.sources = sources.sources(config.train, together=False)
        self._limits = Limits(recompute_above=0) if training.recompute else Limits()
        self._examples: dict[int, PaperExample] = {}
        self._paper = paper
        if "action_weights" not in paper.model_fields_set:
            paper = paper.model_copy(update={"action_weights": inverse_frequency(self._action_counts())})
        encoder = load_xlnet(str(folder))
        sizes = {name: getattr(encoder.config, name) for name in _ENCODER_FIELDS}
        torch.manual_seed(training.seed)
        self.model = PaperModel(paper.model_copy(update={"xlnet": sizes}))
        self.model.encoder.load_state_dict(encoder.state_dict())
        self.model.to(device)
        self.model.bf16 = training.bf16
        if training.freeze_embeddings:
            self.model.encoder.word_embedding.requires_grad_(False)

    def _action_counts(self) -> tuple[int, ...]:
        counts: Counter[Action] = Counter()
        for source in range(len(self.sources)):
            example = self.example(source, np.random.default_rng((self._config.training.seed, 2, 0)))
            counts.update(example.document.actions)
        return tuple(counts[action] for action in Action)

    @property
    def parts(self) -> Mapping[str, Iterable[nn.Parameter]]:
        named = list(self.model.named_parameters())  # shared parameters appear once
        return {
            "encoder": [parameter for name, parameter in named if name.startswith("encoder.")],
            "rest": [parameter for name, parameter in named if not name.startswith("encoder.")],
        }

    def example(self, source: int, rng: np.random.Generator) -> PaperExample:
        if source in self._examples:
            return self._examples[source]
        [annotated] = sources.stretch_of(self.sources[source], rng)
        document = annotated.document
        reading = read_paper(document, self._tokenizer, self._paper)
        made, dropped = with_annotation(reading, document, self._paper)
        facts = ExampleFacts(
            name=document.id,
            tokens=len(document.tokens),
            subwords=sum(made.lengths),
            unknown=sum(sentence.count(self._tokenizer.unknown) for sentence in made.sentences),
            mentions=len(made.entity_of),
            dropped=dropped,
        )
        example = PaperExample(made, facts)
        if self.sources[source].longest is None:
            self._examples[source] = example
        return example

    def facts(self, example: PaperExample) -> ExampleFacts:
        return example.facts

    def losses(self, example: PaperExample, epoch: int, rng: np.random.Generator) -> Iterator[Loss]:
        for losses in self.model.losses(example.document, self._limits):
            yield Loss(losses.total, {"mentions": losses.detection, "links": losses.clustering})

    @torch.inference_mode()
    def predict(self, documents: Iterable[Document], corpus: CorpusConfig) -> Iterator[Clusters]:
        self.model.eval()
        encoder = CachedXLNet(self.model.encoder)
        for document in documents:
            reading = read_paper(document, self._tokenizer, self._paper)
            outcome = run(self.model, reading.document, gold=False, reader=CachedReader(encoder))
            yield word_clusters(reading, outcome.clusters)

    def unknown(self, documents: Iterable[Document], corpus: CorpusConfig) -> Iterator[str]:
        genres = Counter(document.genre for document in documents if document.genre not in self._paper.genres)
        for genre, count in genres.items():
            yield f"genre '{genre}' of {count} documents is not among paper.genres"

    def save(self, folder: Path) -> None:
        def write(place: Path) -> None:
            save_paper_model(place, self.model)
            shutil.copy(self._tokenizer_file, place / "tokenizer.json")
            described = self._config.model_dump_json(indent=1)
            (place / "training.json").write_text(described, encoding="utf-8")

        checkpoints.replace_folder(folder, write)
