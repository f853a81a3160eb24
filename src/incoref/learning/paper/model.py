"""The paper's model and its teacher-forced loss, vectorised over actions.

A document is read batch by batch (``chunks.py``); values passed from one batch to the next carry no gradients.
``definition.py`` runs the same weights step by step and must give the same results.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from incoref.learning.data.derivation import Ints
from incoref.learning.nets.clusterer import Clusterer, ClustererSizes, Founded, clustering_loss
from incoref.learning.nets.detector import Detector, DetectorSizes
from incoref.learning.paper.batches import PaperBatch, paper_batches
from incoref.learning.paper.config import PaperConfig
from incoref.learning.paper.document import PaperDocument
from incoref.learning.paper.xlnet import Memory, encode, new_xlnet


@dataclass(frozen=True, slots=True)
class Loss:
    """A batch's share of its document's loss."""

    detection: Tensor
    clustering: Tensor

    @property
    def total(self) -> Tensor:
        return self.detection + self.clustering


@dataclass(frozen=True, slots=True)
class Limits:
    """How much to keep for the backward pass; the rest is recomputed."""

    recompute_above: int = 2048
    """In batches with more encoder tokens than this, only the input of each encoder layer is kept."""
    clusterer_bytes: int = 1 << 29
    """Bytes for intermediate values of the clusterer's scorer."""


_LIMITS = Limits()


class PaperModel(nn.Module):
    """Encoder, detector and clusterer; in reference mode, the latter two share their width and genre embeddings."""

    action_weights: Tensor

    def __init__(self, config: PaperConfig) -> None:
        super().__init__()
        self.config = config
        self.bf16 = False
        """Whether the encoder runs in bfloat16 when computing losses; detector and clusterer never do."""
        self.encoder = new_xlnet(config.xlnet)
        vector, genres = self.encoder.config.d_model, len(config.genres)
        self.detector = Detector(
            DetectorSizes(
                vector=vector,
                stack=config.stack_size,
                history=config.history_size,
                action=config.embedded_action_size,
                feature=config.feature_size,
                hidden=config.detector_hidden,
                dropout=config.dropout,
            ),
            {"genre": genres, "width": config.width_classes},
        )
        self.clusterer = Clusterer(
            ClustererSizes(
                vector=vector,
                feature=config.feature_size,
                hidden=config.clusterer_hidden,
                dropout=config.dropout,
            ),
            {"width": config.width_classes} | ({"speaker": config.max_speakers} if config.use_speakers else {}),
            {
                "count": config.max_count,
                "distance": config.max_distance,
                "previous": 4 if config.reference else 3,
                "genre": genres,
            },
        )
        if config.reference:
            self.clusterer.span_features.tables["width"] = self.detector.features.tables["width"]
            self.clusterer.pair_features.tables["genre"] = self.detector.features.tables["genre"]
        self.register_buffer("action_weights", torch.tensor(config.action_weights), persistent=False)

    def losses(self, document: PaperDocument, limits: Limits = _LIMITS) -> Iterator[Loss]:
        """Yield a document's loss batch by batch: call ``backward`` on each before the next, or add them up."""
        batches = paper_batches(document, self.config)
        weight_of_all = self.action_weights[self._tensor(np.asarray(document.actions, np.int64))].sum()
        memory, history, founded = None, None, None
        for batch in batches:
            vectors, memory = self._vectors(batch, memory, limits)
            detection = self._detection(vectors, batch, document.genre, history)
            clustering, founded = self._clustering(vectors, batch, document.genre, founded, limits)
            if self.config.reference:
                yield Loss(
                    detection.sum() / len(document.actions) / len(batches),
                    clustering.sum() / max(batch.mentions_so_far, 1) / len(batches),
                )
            else:
                weights = self.action_weights[self._tensor(batch.derivation.action)]
                yield Loss(
                    (detection * weights).sum() / weight_of_all, clustering.sum() / max(len(document.entity_of), 1)
                )
                if batch is not batches[-1]:
                    history = self.detector.history_after(batch.derivation.action, history)

    def _vectors(self, batch: PaperBatch, memory: Memory | None, limits: Limits) -> tuple[Tensor, Memory]:
        """Return vectors of a batch's buffer tokens, (N, vector), and the encoder's memory after it."""
        recompute = len(batch.ids) > limits.recompute_above
        ids = self._tensor(batch.ids)
        with torch.autocast(ids.device.type, torch.bfloat16) if self.bf16 else nullcontext():
            vectors, memory = encode(self.encoder, ids, batch.lengths, batch.seen, memory, recompute)
        vectors = vectors.float() if self.bf16 else vectors
        return vectors if batch.buffer is None else vectors.index_select(0, self._tensor(batch.buffer)), memory

    def _detection(self, vectors: Tensor, batch: PaperBatch, genre: int, history: Tensor | None) -> Tensor:
        """Return the cross-entropy of every gold action among the legal ones, (T,)."""
        derivation = batch.derivation
        classes = {"width": self._tensor(batch.width), "genre": self._constant(genre, len(derivation))}
        scores = self.detector(vectors, derivation, np.asarray([len(derivation)]), classes, history)
        masked = scores.masked_fill(~torch.from_numpy(derivation.legal).to(scores.device), -torch.inf)
        return nn.functional.cross_entropy(masked, self._tensor(derivation.action), reduction="none")

    def _clustering(
        self, vectors: Tensor, batch: PaperBatch, genre: int, founded: Tensor | None, limits: Limits
    ) -> tuple[Tensor, Tensor | None]:
        """Return the cross-entropy of every mention's gold entity, (M,), and all entity vectors after the batch."""
        derivation, clustering = batch.derivation, batch.clustering
        if not len(derivation.first):
            return vectors.new_zeros(0), founded
        span_classes = {"width": self._tensor(batch.span_width), "speaker": self._tensor(batch.speaker)}
        spans = self.clusterer.spans(vectors, derivation.first, derivation.last, span_classes)
        before = None if founded is None else Founded(founded, clustering.founded)
        states = self.clusterer.entity_states(spans, clustering.entity_of, before)
        classes = {
            "count": self._tensor(clustering.count),
            "distance": self._tensor(clustering.distance),
            "previous": self._tensor(clustering.previous),
            "genre": self._constant(genre, len(clustering.count)),
        }
        scores = self.clusterer(spans, states, clustering.pairs, classes, limits.clusterer_bytes)
        loss = clustering_loss(
            scores, self.config.new_score, clustering.pairs, clustering.entity_of, len(clustering.founded)
        )
        return loss, states.detach()[self._tensor(clustering.latest_states)]

    def _tensor(self, values: Ints) -> Tensor:
        return torch.from_numpy(values).to(self.action_weights.device)

    def _constant(self, value: int, count: int) -> Tensor:
        return torch.full((count,), value, dtype=torch.long, device=self.action_weights.device)
