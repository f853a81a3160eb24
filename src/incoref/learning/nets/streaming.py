"""The default model, to train: block-causal encoder, word vectors, detector and clusterer.

Words are the buffer's tokens; a word's vector is the mean of its sub-words'. Genre and annotation scheme are features
of every step and every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from incoref.errors import IncorefError
from incoref.learning.data.derivation import EMPTY
from incoref.learning.data.examples import Annotation, Clustering, Example, Reading
from incoref.learning.nets.clusterer import Clusterer, ClustererSizes, clustering_loss
from incoref.learning.nets.detector import Detector, DetectorSizes
from incoref.learning.nets.encoder import BlockCausalEncoder
from incoref.learning.nets.layers import Dropout, FeatureTables, Votes, beside
from incoref.learning.nets.on_policy import own_clustering_loss
from incoref.model.detector import WIDTHS
from incoref.model.features import PAIR_FEATURES
from incoref.model.step import HeadNames
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
    """Features that say nothing."""


@dataclass(frozen=True, slots=True)
class Losses:
    """The parts of an example's loss, each a mean."""

    mentions: Tensor
    links: Tensor
    types: Tensor


@dataclass(frozen=True, slots=True)
class Scores:
    """Everything the model says along a gold derivation: T steps, P pairs, M mentions."""

    actions: Tensor  # (T, 4), legal or not
    pairs: Tensor  # (P,)
    new: Tensor | float  # (M,) of founding an entity
    types: Tensor | None  # (M, types)

    def legal_actions(self, legal: np.ndarray) -> Tensor:
        """The scores of actions, those of illegal ones minus infinity."""
        return self.actions.masked_fill(~beside(self.actions, legal), -torch.inf)


class StreamingModel(nn.Module):
    def __init__(self, encoder: BlockCausalEncoder, names: HeadNames, sizes: HeadSizes) -> None:
        super().__init__()
        self.encoder = encoder
        self.names = names
        self.bf16 = False
        """Whether the encoder computes in bfloat16; detector and clusterer never do."""
        self.recompute = False
        """Whether the encoder's inner values are computed again in the backward pass instead of kept."""
        vector = encoder.sizes.width
        self.vector_dropout = Dropout(sizes.vector_dropout)
        constant = {"genre": len(names.genres), "scheme": len(names.schemes)}
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
            {**constant, "width": WIDTHS},
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
                votes=tuple(PAIR_FEATURES),
            ),
            {"width": WIDTHS - 1},
            {**PAIR_FEATURES, **constant},
        )
        self._without = sizes.without
        self.silence()

    def silence(self) -> None:
        """Features that are left out stay at nought, in tables that are there all the same: others need not know."""
        tables = [
            (name, table)
            for part in self.modules()
            if isinstance(part, FeatureTables | Votes)
            for name, table in part.weights().items()
        ]
        known = sorted({name for name, _ in tables})
        for feature in self._without:
            if feature not in known:
                raise IncorefError(f"heads.without: there is no feature '{feature}', but {', '.join(known)}")
        for name, table in tables:
            if name in self._without:
                table.requires_grad_(False).zero_()

    def word_vectors(self, reading: Reading) -> Tensor:
        """Vectors of all words, (N, vector): means of their sub-words', each from the window that answers for it."""
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
        """The example's losses, averaged over its annotations by their weights.

        ``cluster`` gives the mentions and clusters on which the clusterer learns, from an annotation and the words'
        vectors, if not the gold ones.
        """
        vectors = self.vector_dropout(self.word_vectors(example.reading))
        share = sum(annotation.weight for annotation in example.annotations)
        parts = []
        for annotation in example.annotations:
            clustering = annotation.gold if cluster is None else cluster(annotation, vectors)
            found = self._annotation_losses(vectors, annotation, genre, action_weights, clustering)
            parts.append((annotation.weight / share, found))
        return Losses(
            mentions=torch.stack([weight * loss.mentions for weight, loss in parts]).sum(),
            links=torch.stack([weight * loss.links for weight, loss in parts]).sum(),
            types=torch.stack([weight * loss.types for weight, loss in parts]).sum(),
        )

    def scores(
        self, vectors: Tensor, annotation: Annotation, genre: int, clustering: Clustering | None = None
    ) -> Scores:
        """The scores along a gold derivation over words with these vectors, and of its mentions (or of others)."""
        derivation, clustering = annotation.derivation, annotation.gold if clustering is None else clustering
        constant = {"genre": genre, "scheme": self.names.schemes.index(annotation.scheme)}
        width = np.where(derivation.width == EMPTY, WIDTHS - 1, np.minimum(derivation.width, WIDTHS - 2))
        actions = self.detector(
            vectors,
            derivation,
            derivation.chunk_steps,
            {**_repeated(constant, len(derivation), vectors), "width": beside(vectors, width)},
        )
        span_width = np.minimum(clustering.last - clustering.first, WIDTHS - 2)
        spans = self.clusterer.spans(
            vectors, clustering.first, clustering.last, {"width": beside(vectors, span_width)}
        )
        classes = beside(spans, clustering.pair_classes.astype(np.int64))
        pairs = self.clusterer(
            spans,
            self.clusterer.entity_states(spans, clustering.entity_of),
            clustering.pairs,
            {**dict(zip(PAIR_FEATURES, classes, strict=True)), **_repeated(constant, classes.shape[1], spans)},
        )
        types = None if self.clusterer.types is None else self.clusterer.types(spans)
        return Scores(actions, pairs, self.clusterer.new_scores(spans), types)

    def _annotation_losses(
        self, vectors: Tensor, annotation: Annotation, genre: int, action_weights: Tensor, clustering: Clustering
    ) -> Losses:
        scores = self.scores(vectors, annotation, genre, clustering)
        nothing = vectors.new_zeros(())
        links = types = nothing
        if len(clustering) and clustering.teacher_forced:
            links = clustering_loss(scores.pairs, scores.new, clustering.pairs, clustering.entity_of).mean()
        elif len(clustering):
            links = own_clustering_loss(scores.pairs, scores.new, clustering).mean()
        if scores.types is not None and (clustering.types >= 0).any():
            types = nn.functional.cross_entropy(scores.types, beside(vectors, clustering.types))
        legal = scores.legal_actions(annotation.derivation.legal)
        target = beside(vectors, annotation.derivation.action)
        return Losses(nn.functional.cross_entropy(legal, target, action_weights), links, types)

    def head_weights(self) -> dict[str, np.ndarray]:
        """The weights of detector and clusterer, as the running side takes them."""
        found = {
            name: value.detach().cpu().numpy()
            for name, value in self.state_dict().items()
            if not name.startswith("encoder.")
        }
        if self.clusterer.types is None:  # there it is a layer that tells no types apart
            size = self.clusterer.hidden.parts["mention"]
            found |= {"clusterer.types.weight": np.zeros((0, size)), "clusterer.types.bias": np.zeros(0)}
        return found


def _repeated(constant: Mapping[str, int], count: int, like: Tensor) -> dict[str, Tensor]:
    return {name: torch.full((count,), number, device=like.device) for name, number in constant.items()}


def action_weights(counts: np.ndarray, power: float) -> Tensor:
    """Weights of the actions, (N / (4 N_a)) ** power; the paper's power is 1."""
    share = counts.sum() / (len(Action) * np.maximum(counts, 1))
    return torch.from_numpy((share**power).astype(np.float32))
