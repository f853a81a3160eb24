"""Training of a system that the paper compares with: its examples, losses, predictions and checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from incoref.learning.baselines.encoders import is_xlnet, pretrained_xlnet, word_table
from incoref.learning.baselines.pieces import Pieces
from incoref.learning.baselines.system import Baseline, save_baseline
from incoref.learning.config import Configuration, CorpusConfig
from incoref.learning.data import sources
from incoref.learning.train import checkpoints
from incoref.learning.train.trainable import Clusters, ExampleFacts, Loss
from incoref.learning.train.warm_start import encoder_folder, first_encoder
from incoref.model.subwords import WRITING, SubwordTokenizer
from incoref.types import Document

_NO_GENRE = "unknown"


@dataclass(frozen=True, slots=True)
class BaselineExample:
    pieces: Pieces
    facts: ExampleFacts


class BaselineTraining:
    """Implements ``Trainable``."""

    def __init__(self, config: Configuration, device: torch.device) -> None:
        self._config, training, system = config, config.training, config.baseline
        assert system is not None
        folder = encoder_folder(config.encoder.path)
        self._tokenizer_file = folder / "tokenizer.json"
        tokenizer = SubwordTokenizer.load(self._tokenizer_file, config.encoder.capitals)
        self.sources = sources.sources(config.train, together=False)
        if "genres" in type(system).model_fields and "genres" not in system.model_fields_set:
            genres = (_NO_GENRE, *sources.genres(self.sources))
            system = system.model_copy(update={"genres": genres})
        torch.manual_seed(training.seed)
        first = pretrained_xlnet if is_xlnet(folder) else first_encoder
        encoder = first(folder, config.encoder.layers, config.encoder.capitals)
        self.model = Baseline(encoder, system, tokenizer).to(device)
        self.model.bf16, self.model.recompute = training.bf16, training.recompute
        if training.freeze_encoder:
            encoder.requires_grad_(False)
        elif training.freeze_embeddings:
            word_table(encoder).requires_grad_(False)
        self._examples: dict[int, BaselineExample] = {}

    @property
    def parts(self) -> Mapping[str, Iterable[nn.Parameter]]:
        return {"encoder": self.model.encoder.parameters(), "rest": self.model.system.parameters()}

    def example(self, source: int, rng: np.random.Generator) -> BaselineExample:
        if source in self._examples:
            return self._examples[source]
        [annotated] = sources.stretch_of(self.sources[source], rng)
        document = annotated.document
        pieces, dropped = self.model.read_annotated(document)
        ids = pieces.ids
        facts = ExampleFacts(
            name=document.id,
            tokens=len(document.tokens),
            subwords=len(ids),
            unknown=sum(id % WRITING == self.model.tokenizer.unknown for id in ids),
            mentions=sum(map(len, pieces.clusters)),
            dropped=dropped,
        )
        example = BaselineExample(pieces, facts)
        if self.sources[source].longest is None:
            self._examples[source] = example
        return example

    def facts(self, example: BaselineExample) -> ExampleFacts:
        return example.facts

    def losses(self, example: BaselineExample, epoch: int, rng: np.random.Generator) -> Iterator[Loss]:
        for terms in self.model.training_losses(example.pieces, rng):
            yield Loss(torch.stack(list(terms.values())).sum(), terms)

    def predict(self, documents: Iterable[Document], corpus: CorpusConfig) -> Iterator[Clusters]:
        self.model.eval()
        for document in documents:
            yield self.model.predict(document).clusters

    def unknown(self, documents: Iterable[Document], corpus: CorpusConfig) -> Iterator[str]:
        known = getattr(self.model.config, "genres", None)
        genres = Counter(document.genre for document in documents)
        for genre, count in genres.items():
            if known is not None and genre is not None and genre not in known:
                yield f"genre '{genre}' of {count} documents is not known and counts as {known[0]}"

    def save(self, folder: Path) -> None:
        def write(place: Path) -> None:
            save_baseline(place, self._config.kind, self.model, self._tokenizer_file)
            (place / "training.json").write_text(self._config.model_dump_json(indent=1), encoding="utf-8")

        checkpoints.replace_folder(folder, write)
