"""Training of the default model: its examples, losses, predictions and checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from torch import nn

from incoref.errors import IncorefError
from incoref.learning.config import Configuration, CorpusConfig
from incoref.learning.data import sources
from incoref.learning.data.examples import Annotation, Example, annotate, tokenise, without_capitals, without_words
from incoref.learning.data.renaming import Names
from incoref.learning.nets.on_policy import OwnDecisions
from incoref.learning.nets.streaming import HeadSizes, StreamingModel, action_weights
from incoref.learning.train import checkpoints
from incoref.learning.train.prediction import predict
from incoref.learning.train.trainable import Clusters, ExampleFacts, Loss
from incoref.learning.train.warm_start import earlier_model, encoder_folder, first_encoder, take_over
from incoref.model.step import HeadNames
from incoref.model.subwords import WRITING, SubwordTokenizer
from incoref.model.transitions import Action
from incoref.options import UNKNOWN_GENRE
from incoref.types import Document


class StreamingTraining:
    """Implements ``Trainable``."""

    def __init__(self, config: Configuration, device: torch.device) -> None:
        self._config, training = config, config.training
        self._sizes = config.encoder.sizes
        folder = encoder_folder(config.encoder.path)
        self._tokenizer_file = folder / "tokenizer.json"
        self._tokenizer = SubwordTokenizer.load(self._tokenizer_file, config.encoder.capitals)
        self.sources = sources.sources(config.train)
        schemes = dict.fromkeys(a.scheme for source in self.sources for a in source.annotated)
        for corpus in config.dev:
            if corpus.scheme not in schemes:
                raise IncorefError(
                    f"dev corpus {corpus.title}: scheme '{corpus.scheme}' is not among those of the training data: "
                    f"{', '.join(schemes)}"
                )
        self._names = HeadNames((UNKNOWN_GENRE, *sources.genres(self.sources)), tuple(schemes), config.types)
        torch.manual_seed(training.seed)
        encoder = first_encoder(folder, config.encoder.layers, config.encoder.capitals)
        if config.start is None:
            self.model = StreamingModel(encoder, self._names, HeadSizes(**config.heads.model_dump()))
        else:
            earlier = earlier_model(config.start)
            self._names = earlier.names.extended(self._names)
            self.model = StreamingModel(encoder, self._names, HeadSizes(**config.heads.model_dump()))
            take_over(self.model, earlier, config.start, config.encoder.pretrained)
        self.model.to(device)
        self._types = {name: number for number, name in enumerate(self._names.types)}
        self.model.bf16, self.model.recompute = training.bf16, training.recompute
        if training.freeze_encoder:
            encoder.requires_grad_(False)
        elif training.freeze_embeddings:
            encoder.embeddings.word_embeddings.requires_grad_(False)
        self._examples: dict[int, Example] = {}
        counts: Counter[int] = Counter()
        annotated = [number for number, source in enumerate(self.sources) if not source.labelled]
        for source in annotated or range(len(self.sources)):
            example = self.example(source, np.random.default_rng((training.seed, 2, 0)))
            for annotation in example.annotations:
                counts.update(annotation.derivation.action.tolist())
        counted = np.array([counts[action] for action in Action])
        self._action_weights = action_weights(counted, training.action_power).to(device)

    @cached_property
    def _people(self) -> Names:
        return Names(source.annotated[0].document for source in self.sources)

    @property
    def parts(self) -> Mapping[str, Iterable[nn.Parameter]]:
        model = self.model
        return {
            "encoder": model.encoder.parameters(),
            "detector": model.detector.parameters(),
            "clusterer": model.clusterer.parameters(),
        }

    def example(self, source: int, rng: np.random.Generator) -> Example:
        chosen, ks = self.sources[source], self._config.training.k
        renames, swaps = self._config.training.renamed, self._config.training.swapped
        swapped = swaps > 0 and rng.random() < swaps
        renamed = swapped or (renames > 0 and rng.random() < renames)
        # There are too many model-labelled texts to keep.
        varies = chosen.longest is not None or len(ks) > 1 or renamed or chosen.labelled
        if not varies and source in self._examples:
            return self._examples[source]
        k = ks[int(rng.integers(len(ks)))]
        stretch = sources.stretch_of(chosen, rng)
        documents = [annotated.document for annotated in stretch]
        if renamed:
            documents = self._people.renamed(documents, rng, swapped)
        reading = tokenise(documents[0], self._tokenizer, self._sizes, k)
        example = Example(
            id=documents[0].id,
            genre=documents[0].genre,
            reading=reading,
            annotations=tuple(
                annotate(
                    document,
                    reading,
                    annotated.scheme,
                    self._types,
                    annotated.weight,
                    annotated.partial,
                    annotated.chance,
                    annotated.decisions,
                )
                for document, annotated in zip(documents, stretch, strict=True)
            ),
        )
        if not varies:
            self._examples[source] = example
        return example

    def facts(self, example: Example) -> ExampleFacts:
        reading = example.reading
        return ExampleFacts(
            name=example.id,
            tokens=sum(reading.chunks),
            subwords=len(reading.ids),
            unknown=int((reading.ids % WRITING == self._tokenizer.unknown).sum()),
            mentions=sum(len(annotation.entity_of) for annotation in example.annotations),
            dropped=sum((Counter(annotation.dropped) for annotation in example.annotations), Counter()),
        )

    def losses(self, example: Example, epoch: int, rng: np.random.Generator) -> Iterator[Loss]:
        training = self._config.training
        if rng.random() < training.capitals_dropout:
            example = without_capitals(example)
        if training.masked:
            hidden = rng.random(sum(example.reading.chunks)) < training.masked
            example = without_words(example, hidden, self._tokenizer.mask)
        example = replace(example, annotations=drawn_annotations(example.annotations, rng))
        unknown = rng.random() < training.genre_dropout or example.genre not in self._names.genres
        genre = 0 if unknown else self._names.genres.index(example.genre or UNKNOWN_GENRE)
        own, clusters, mentions = None, False, False
        soft = any(annotation.soft is not None for annotation in example.annotations)
        if epoch + 1 >= training.own_from and not soft:  # soft targets follow a model's own decisions already
            clusters, mentions = rng.random() < training.own_clusters, rng.random() < training.own_mentions
        if clusters or mentions or any(annotation.partial for annotation in example.annotations):
            own = OwnDecisions(self.model.heads(), example.reading, genre, mentions, clusters)
        losses = self.model.losses(example, genre, self._action_weights, own)
        total = losses.mentions + losses.links + training.type_loss * losses.types
        yield Loss(total, {"mentions": losses.mentions, "links": losses.links, "types": losses.types})

    def predict(self, documents: Iterable[Document], corpus: CorpusConfig) -> Iterator[Clusters]:
        k = self._config.training.k[0]
        return predict(self.model, documents, self._tokenizer, self._sizes, corpus.scheme, k=k)

    def unknown(self, documents: Iterable[Document], corpus: CorpusConfig) -> Iterator[str]:
        names = self._names
        types: Counter[str | None] = Counter()
        genres: Counter[str | None] = Counter()
        for document in documents:
            types.update(mention.type for mention in document.mentions)
            genres[document.genre] += 1
        for type, count in types.items():
            if names.types and type is not None and type not in names.types:
                yield f"type '{type}' of {count} mentions is not among the configured types"
        for genre, count in genres.items():
            if genre is not None and genre not in names.genres:
                yield f"genre '{genre}' of {count} documents is not in the training data"

    def save(self, folder: Path) -> None:
        checkpoints.save_model(folder, self.model, self._config, self._names, self._tokenizer_file)


def drawn_annotations(annotations: Sequence[Annotation], rng: np.random.Generator) -> tuple[Annotation, ...]:
    """Draw the annotations to learn from at this visit, by their chances; the likeliest if none is drawn."""
    if all(annotation.chance == 1 for annotation in annotations):
        return tuple(annotations)
    drawn = tuple(annotation for annotation in annotations if rng.random() < annotation.chance)
    return drawn or (max(annotations, key=lambda annotation: annotation.chance),)
