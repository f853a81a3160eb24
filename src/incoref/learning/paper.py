"""The paper's model, and its teacher-forced loss without an action loop.

A document is read batch by batch (``chunks.py``); what goes from one batch to the next is a ``Carry``, without
gradients. The same weights run step by step in ``definition.py``, which is what all this must equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from incoref.learning.chunks import Batch, plan, seen_before
from incoref.learning.clusterer import Clusterer, ClustererSizes, Founded, Pairs, clustering_loss, pairs_of
from incoref.learning.derivation import Derivation, derive
from incoref.learning.detector import Detector, DetectorSizes
from incoref.learning.paper_config import PaperConfig
from incoref.learning.paper_document import PaperDocument, split_actions, stretches
from incoref.learning.paper_features import (
    LINKED,
    NEW,
    START,
    count_class,
    distance_class,
    speaker_class,
    span_width_class,
    stack_width_class,
)
from incoref.learning.xlnet import Memory, encode, new_xlnet


@dataclass(frozen=True, slots=True)
class Loss:
    """A batch's share in the loss of its document."""

    detection: Tensor
    clustering: Tensor

    @property
    def total(self) -> Tensor:
        return self.detection + self.clustering


@dataclass(frozen=True, slots=True)
class Carry:
    """What a batch hands to the next one."""

    memory: Memory | None
    history: Tensor | None  # (2, history): the action LSTM's h and c; None: the learned start
    founded: Founded | None
    latest: np.ndarray  # (E,) number of each entity's latest mention in the document
    mentions: int = 0
    tokens: int = 0
    steps: int = 0
    previous: int = START


@dataclass(frozen=True, slots=True)
class BatchScores:
    """All scores of a batch under gold actions."""

    derivation: Derivation
    actions: Tensor  # (T, 4), legal or not
    pairs: Pairs
    clusters: Tensor  # (P,)
    entity_of: np.ndarray  # (M,) gold
    founded: int  # entities before the batch


class PaperModel(nn.Module):
    """Encoder, detector and clusterer; in reference mode the latter two share their width and genre embeddings."""

    def __init__(self, config: PaperConfig) -> None:
        super().__init__()
        self.config = config
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

    def losses(
        self, document: PaperDocument, *, recompute_above: int = 2048, memory_cap: int = 1 << 30
    ) -> Iterator[Loss]:
        """The loss of a document, batch by batch: call ``backward`` on each before the next, or add them up.

        Batches of more than ``recompute_above`` encoder tokens keep only the input of each encoder layer for the
        backward pass; ``memory_cap`` is the clusterer's, in bytes.
        """
        batches = plan(document.lengths, self.config)
        weight_of_all = self._weight_of_all(document)
        for scores, carry in self.scores(document, batches, recompute_above, memory_cap):
            gold = torch.from_numpy(scores.derivation.action)
            legal = torch.from_numpy(scores.derivation.legal)
            detection = nn.functional.cross_entropy(
                scores.actions.masked_fill(~legal, -torch.inf), gold, reduction="none"
            )
            clustering = clustering_loss(
                scores.clusters, self.config.new_score, scores.pairs, scores.entity_of, scores.founded
            ).sum()
            if self.config.reference:
                yield Loss(
                    detection.sum() / len(document.actions) / len(batches),
                    clustering / max(carry.mentions, 1) / len(batches),
                )
            else:
                yield Loss(
                    (detection * self.action_weights[gold]).sum() / weight_of_all,
                    clustering / max(len(document.entity_of), 1),
                )

    def _weight_of_all(self, document: PaperDocument) -> Tensor:
        gold = torch.tensor([int(action) for action in document.actions], device=self.action_weights.device)
        return self.action_weights[gold].sum()

    def scores(
        self, document: PaperDocument, batches: list[Batch], recompute_above: int = 2048, memory_cap: int = 1 << 30
    ) -> Iterator[tuple[BatchScores, Carry]]:
        """All scores under gold actions, batch by batch, and what is carried on after each batch."""
        lengths = [length for batch in batches for chunk in document.chunk_lengths(batch) for length in self._cut(chunk)]
        actions = iter(split_actions(document.actions, lengths))
        carry = Carry(None, None, None, np.zeros(0, np.int64))
        for batch in batches:
            vectors, memory = self._vectors(document, batch, carry.memory, recompute_above)
            chunks = [self._cut(length) for length in document.chunk_lengths(batch)]
            parts = [(length, next(actions)) for chunk in chunks for length in chunk]
            derivation = derive(parts)
            chunk_of_step = np.repeat(
                np.arange(len(chunks)), [sum(derivation.chunk_steps[i] for i in rows) for rows in _rows(chunks)]
            )
            found, carry = self._batch(
                document, batch, vectors, memory, derivation, chunk_of_step[derivation.found_at], carry, memory_cap
            )
            yield found, carry

    def _cut(self, length: int) -> tuple[int, ...]:
        return stretches(length, self.config)

    def _vectors(
        self, document: PaperDocument, batch: Batch, memory: Memory | None, recompute_above: int
    ) -> tuple[Tensor, Memory]:
        """Vectors of a batch's buffer tokens, (N, vector)."""
        device = self.action_weights.device
        ids = torch.tensor(document.ids_of(batch.first, batch.end), device=device)
        cached = 0 if memory is None else len(memory[0])
        seen = seen_before(document.lengths, batch.pieces, cached)
        lengths = [sum(document.lengths[piece.first : piece.end]) for piece in batch.pieces]
        encoded, memory = encode(self.encoder, ids, lengths, seen, memory, len(ids) > recompute_above)
        if document.buffer is None:
            return encoded, memory
        return encoded.index_select(0, torch.tensor(document.buffer_of(batch), device=device)), memory
