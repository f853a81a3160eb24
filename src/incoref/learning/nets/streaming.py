"""The default model for training: block-causal encoder, word vectors, detector and clusterer.

Detector and clusterer work on words; a word's vector is the mean of its sub-words' vectors. Genre and annotation
scheme are features of every step and every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from incoref.errors import IncorefError
from incoref.learning.data.derivation import EMPTY
from incoref.learning.data.examples import Annotation, Clustering, Example, Reading
from incoref.learning.nets.clusterer import Clusterer, ClustererSizes, clustering_loss, soft_clustering_loss
from incoref.learning.nets.detector import Detector, DetectorSizes
from incoref.learning.nets.encoder import BlockCausalEncoder
from incoref.learning.nets.layers import Dropout, beside
from incoref.learning.nets.on_policy import own_clustering_loss, partial_loss
from incoref.model.features import REGISTRY, class_counts
from incoref.model.layout import (
    DETECTOR_FEATURES,
    EMPTY_STACK,
    SPAN_WIDTHS,
    STACK_WIDTHS,
    TEXT_FEATURES,
    WIDEST,
    head_layout,
)
from incoref.model.step import HeadNames, Heads
from incoref.model.transitions import Action


@dataclass(frozen=True, slots=True)
class HeadSizes:
    stack: int = 200
    history: int = 30
    action: int = 20
    feature: int = 20
    detector_hidden: int = 1000
    projection: int = 256
    clusterer_hidden: int = 192
    new_hidden: int = 64
    dropout: float = 0.3
    vector_dropout: float = 0.0
    without: tuple[str, ...] = ()
    """Registered pair features that the model leaves out."""

    def pair_features(self) -> tuple[str, ...]:
        """Return the pair features of a new model."""
        unknown = [name for name in self.without if name not in REGISTRY]
        if unknown:
            raise IncorefError(
                f"heads.without: there is no pair feature '{unknown[0]}'; the features are {', '.join(REGISTRY)}"
            )
        return tuple(name for name in REGISTRY if name not in self.without)


@dataclass(frozen=True, slots=True)
class Losses:
    """The parts of an example's loss, each a mean."""

    mentions: Tensor
    links: Tensor
    types: Tensor


@dataclass(frozen=True, slots=True)
class Scores:
    """The model's scores along a gold derivation: T steps, P pairs, M mentions."""

    actions: Tensor  # (T, 4), legal or not
    pairs: Tensor  # (P,)
    new: Tensor | float  # (M,) of creating an entity
    types: Tensor | None  # (M, types)

    def legal_actions(self, legal: np.ndarray) -> Tensor:
        """Return the scores of actions, with minus infinity for illegal ones."""
        return self.actions.masked_fill(~beside(self.actions, legal), -torch.inf)


class StreamingModel(nn.Module):
    def __init__(
        self,
        encoder: BlockCausalEncoder,
        names: HeadNames,
        sizes: HeadSizes,
        pair_features: Sequence[str] | None = None,
    ) -> None:
        """``pair_features`` are those of a trained model, in the order of its weights."""
        super().__init__()
        self.encoder = encoder
        self.names = names
        self.pair_features = sizes.pair_features() if pair_features is None else tuple(pair_features)
        self.bf16 = False
        """Whether the encoder and the hidden layer of pairs, and nothing else, compute in bfloat16."""
        self.recompute = False
        """Whether the encoder's activations are recomputed in the backward pass instead of kept."""
        vector = encoder.sizes.width
        self.vector_dropout = Dropout(sizes.vector_dropout)
        text_features = dict(zip(TEXT_FEATURES, (len(names.genres), len(names.schemes)), strict=True))
        classes = class_counts()
        self.detector = Detector(
            DetectorSizes(
                vector=vector,
                stack=sizes.stack,
                history=sizes.history,
                action=sizes.action,
                feature=sizes.feature,
                hidden=sizes.detector_hidden,
                dropout=sizes.dropout,
            ),
            {name: {**text_features, "width": STACK_WIDTHS}[name] for name in DETECTOR_FEATURES},
        )
        self.clusterer = Clusterer(
            ClustererSizes(
                vector=vector,
                projection=sizes.projection,
                feature=sizes.feature,
                hidden=sizes.clusterer_hidden,
                dropout=sizes.dropout,
                new_hidden=sizes.new_hidden,
                types=len(names.types),
                class_bias=self.pair_features,
            ),
            {"width": SPAN_WIDTHS},
            {**{name: classes[name] for name in self.pair_features}, **text_features},
        )

    def word_vectors(self, reading: Reading) -> Tensor:
        """Return the vectors of all words, (N, vector): means of their sub-words', from the windows responsible."""
        here = self.detector.stack_start
        with torch.autocast(here.device.type, torch.bfloat16) if self.bf16 else nullcontext():
            vectors = self.encoder(
                beside(here, reading.ids),
                beside(here, reading.positions),
                list(reading.lengths),
                [beside(here, block) for block in reading.blocks],
                self.recompute,
            ).float()
        total = vectors.new_zeros(sum(reading.chunks), vectors.shape[1])
        of_words = vectors.index_select(0, beside(here, reading.source))
        total = total.index_add(0, beside(here, reading.word), of_words)
        means: Tensor = total / beside(here, np.bincount(reading.word)).to(total.dtype)[:, None]
        return means

    def losses(
        self,
        example: Example,
        genre: int,
        action_weights: Tensor,
        cluster: Callable[[Annotation, Tensor], Clustering] | None = None,
    ) -> Losses:
        """Return the example's losses, averaged over its annotations by their weights.

        ``cluster`` maps an annotation and the word vectors to the mentions and clusters that the clusterer learns on;
        by default, the gold ones.
        """
        vectors = self.vector_dropout(self.word_vectors(example.reading))
        share = sum(annotation.weight for annotation in example.annotations)
        parts = []
        for annotation in example.annotations:
            clustering = annotation.gold if cluster is None else cluster(annotation, vectors)
            losses = self._annotation_losses(vectors, annotation, genre, action_weights, clustering)
            parts.append((annotation.weight / share, losses))
        return Losses(
            mentions=torch.stack([weight * loss.mentions for weight, loss in parts]).sum(),
            links=torch.stack([weight * loss.links for weight, loss in parts]).sum(),
            types=torch.stack([weight * loss.types for weight, loss in parts]).sum(),
        )

    def scores(
        self, vectors: Tensor, annotation: Annotation, genre: int, clustering: Clustering | None = None
    ) -> Scores:
        """Return the scores along a gold derivation, and of its mentions or of another clustering's."""
        derivation, clustering = annotation.derivation, annotation.gold if clustering is None else clustering
        constant = {"genre": genre, "scheme": self.names.schemes.index(annotation.scheme)}
        width = np.where(derivation.width == EMPTY, EMPTY_STACK, np.minimum(derivation.width, WIDEST))
        actions = self.detector(
            vectors,
            derivation,
            derivation.chunk_steps,
            {**_repeated(constant, len(derivation), vectors), "width": beside(vectors, width)},
        )
        span_width = np.minimum(clustering.last - clustering.first, WIDEST)
        spans = self.clusterer.spans(
            vectors, clustering.first, clustering.last, {"width": beside(vectors, span_width)}
        )
        classes = beside(spans, clustering.pair_classes.astype(np.int64))
        pairs = self.clusterer(
            spans,
            self.clusterer.entity_states(spans, clustering.entity_of),
            clustering.pairs,
            {**dict(zip(REGISTRY, classes, strict=True)), **_repeated(constant, classes.shape[1], spans)},
            bf16=self.bf16,
        )
        types = None if self.clusterer.types is None else self.clusterer.types(spans)
        return Scores(actions, pairs, self.clusterer.new_scores(spans), types)

    def _annotation_losses(
        self, vectors: Tensor, annotation: Annotation, genre: int, action_weights: Tensor, clustering: Clustering
    ) -> Losses:
        scores = self.scores(vectors, annotation, genre, clustering)
        nothing = vectors.new_zeros(())
        links = types = nothing
        if annotation.partial:
            asked = partial_loss(scores.pairs, scores.new, clustering)
            return Losses(nothing, asked.sum() / max(1, len(asked)), nothing)
        soft = annotation.soft
        if soft is not None and len(clustering) and clustering.teacher_forced:
            shares = beside(vectors, soft.share)
            links = soft_clustering_loss(
                scores.pairs, scores.new, clustering.pairs, clustering.entity_of, soft.mention, soft.entity, shares
            )
        elif len(clustering) and clustering.teacher_forced:
            links = clustering_loss(scores.pairs, scores.new, clustering.pairs, clustering.entity_of).mean()
        elif len(clustering):
            links = own_clustering_loss(scores.pairs, scores.new, clustering).mean()
        if scores.types is not None and (clustering.types >= 0).any():
            types = nn.functional.cross_entropy(scores.types, beside(vectors, clustering.types))
        legal = scores.legal_actions(annotation.derivation.legal)
        if soft is not None:
            illegal = ~beside(vectors, annotation.derivation.legal)
            surprise = -legal.log_softmax(dim=1).masked_fill(illegal, 0.0)
            return Losses((beside(vectors, soft.actions) * surprise).sum(dim=1).mean(), links, types)
        target = beside(vectors, annotation.derivation.action)
        return Losses(nn.functional.cross_entropy(legal, target, action_weights), links, types)

    def layout(self) -> dict[str, Any]:
        """Return the layout of the weights of detector and clusterer."""
        return head_layout(self.pair_features)

    def heads(self) -> Heads:
        """Return detector and clusterer as used at run time."""
        return Heads.from_weights(self.head_weights(), self.names, pair_features=self.pair_features)

    def head_weights(self) -> dict[str, np.ndarray]:
        """Return the weights of detector and clusterer in the form used at run time."""
        weights = {
            name: value.detach().cpu().numpy()
            for name, value in self.state_dict().items()
            if not name.startswith("encoder.")
        }
        if self.clusterer.types is None:  # at run time, it is a layer without outputs
            size = self.clusterer.hidden.parts["mention"]
            weights |= {"clusterer.types.weight": np.zeros((0, size)), "clusterer.types.bias": np.zeros(0)}
        return weights


def _repeated(constant: Mapping[str, int], count: int, like: Tensor) -> dict[str, Tensor]:
    return {name: torch.full((count,), number, device=like.device) for name, number in constant.items()}


def action_weights(counts: np.ndarray, power: float) -> Tensor:
    """Return the weights of the actions, (N / (4 N_a)) ** power; the paper's power is 1."""
    share = counts.sum() / (len(Action) * np.maximum(counts, 1))
    return torch.from_numpy((share**power).astype(np.float32))
