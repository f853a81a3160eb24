"""ICoref: c2f's span scores, with incremental clustering segment by segment (Xia, Sedoc & Van Durme 2020).

Each segment's best spans are processed in order. A span is scored against the vector of every active entity. The best
entity above the threshold absorbs it by a learned interpolation; otherwise the span starts a new entity. After a
segment, entities that haven't been mentioned recently are evicted. With one sentence per segment, this is ICoref-inc.
Memory is a value, passed in and returned. Independent of the encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

import numpy as np
import torch
from torch import Tensor, nn

from incoref.learning.baselines.config import ICorefConfig
from incoref.learning.baselines.pieces import Clusters, Encode, Pieces, Prediction, Span, Window
from incoref.learning.baselines.spans import (
    BUCKETS,
    FeedForward,
    PairScore,
    Spans,
    SpanScorer,
    best,
    bucket,
    candidates,
    spans_of,
)

_INTERPOLATION_HIDDEN = 300
Bounded = tuple[tuple[int, int], Window]
"""A segment's half-open range of pieces, and its window."""
NEW = 0
"""The choice to start a new entity; choice n ≥ 1 is the n-th active entity."""


@dataclass(frozen=True, slots=True)
class Entity:
    vector: Tensor  # (size,)
    spans: tuple[Span, ...]
    """In the order in which they were added."""
    mention_score: float
    """The mean of its spans' mention scores; informational only."""
    gold: frozenset[int] = frozenset()
    """Gold clusters of its spans."""

    @property
    def latest(self) -> Span:
        return self.spans[-1]


@dataclass(frozen=True, slots=True)
class Memory:
    """The entities of a document so far."""

    active: tuple[Entity, ...] = ()
    evicted: tuple[Entity, ...] = ()

    def detached(self) -> Memory:
        """Return a copy without gradients."""
        active = tuple(replace(entity, vector=entity.vector.detach()) for entity in self.active)
        return replace(self, active=active)

    @property
    def clusters(self) -> Clusters:
        """The spans of all entities, largest entity first."""
        entities = [*self.active, *self.evicted]
        return sorted((list(entity.spans) for entity in entities), key=len, reverse=True)


@dataclass(frozen=True, slots=True)
class Step:
    """The decision about one span."""

    span: Span
    mention_score: Tensor
    scores: Tensor | None
    """(1 + active,): a new entity, then the active ones in order of creation; None without active entities."""
    gold: tuple[int, ...]
    """Indices of the correct scores."""
    choice: int
    interpolation: Tensor | None
    """Weight of the entity's old vector in the merged one, (1,); None for a new entity."""
    loss: Tensor | None
    memory: Memory
    """Memory after the step."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Scores and decisions for one segment."""

    start: int
    length: int
    candidates: Spans
    mention_scores: Tensor  # (n,)
    kept: Tensor  # indices of candidates, best first
    steps: tuple[Step, ...]
    mention_loss: Tensor
    memory: Memory
    """Memory after eviction."""

    @property
    def loss(self) -> Tensor:
        losses = [step.loss for step in self.steps if step.loss is not None]
        return torch.stack([self.mention_loss, *losses]).sum()

    @property
    def comparisons(self) -> int:
        """Number of span–entity pairs compared."""
        return sum(len(step.scores) - 1 for step in self.steps if step.scores is not None)


@dataclass(frozen=True, slots=True)
class Guidance:
    """Gold information about a document, and how to use it."""

    gold: Mapping[Span, int] = field(default_factory=dict)
    """Maps each gold span to its cluster's number."""
    learning: bool = False
    """Whether to read as in training; only matters with the setting ``mentions``."""
    teacher_forcing: bool = False
    gold_mentions: bool = False
    """Use the gold spans instead of the best-scored ones."""


class ICoref(nn.Module):
    def __init__(self, config: ICorefConfig, vector: int) -> None:
        super().__init__()
        self.config = config
        feature, hidden, dropout = config.feature, config.hidden, config.dropout
        self.span_scorer = SpanScorer(vector, feature, config.width_classes, hidden, dropout)
        size = self.span_scorer.size
        self.genre = nn.Embedding(len(config.genres), feature)
        self.distance = nn.Embedding(BUCKETS, feature)
        self.segment_distance = nn.Embedding(3, feature)
        self.pair_score = PairScore(size, 4 * feature, hidden, dropout)
        self.interpolation = FeedForward(2 * size, _INTERPOLATION_HIDDEN, dropout)

    def read_segment(
        self, pieces: Tensor, document: Pieces, start: int, memory: Memory, guidance: Guidance | None = None
    ) -> Segment:
        """Read one segment, given the vectors of its pieces from ``start`` on, (n, vector)."""
        guidance, length = guidance or Guidance(), len(pieces)
        sentence = torch.tensor(document.sentence[start : start + length], device=pieces.device)
        spans = candidates(sentence, self.config.widest)
        mention_scores = self.span_scorer.scores(pieces, spans)
        kept = best(mention_scores, int(self.config.ratio * length))
        if guidance.gold_mentions:
            inside = [(first - start, last - start) for first, last in guidance.gold if start <= first]
            taken = spans_of(sorted(span for span in inside if span[1] < length), pieces)
            scores = self.span_scorer.scores(pieces, taken)
        else:
            order = kept.sort().values
            taken, scores = spans[order], mention_scores[order]
        # Drop spans in the sentence of the last piece: it is the next sentence, or is incomplete.
        treated = sentence[taken.first] < sentence[-1]
        taken, scores = taken[treated], scores[treated]
        vectors = self.span_scorer.vectors(pieces, taken)
        steps: list[Step] = []
        for (first, last), vector, score in zip(taken.pairs(), vectors, scores, strict=True):
            span = (first + start, last + start)
            if self._is_skipped(span, score, guidance):
                continue
            steps.append(self._step(span, vector, score, memory, document.genre, guidance))
            memory = steps[-1].memory
        moved = Spans(spans.first + start, spans.last + start)
        mention_loss = self._mention_loss(taken, start, scores, guidance)
        after = self._evict(memory, start + length)
        return Segment(start, length, moved, mention_scores, kept, tuple(steps), mention_loss, after)

    def _is_skipped(self, span: Span, score: Tensor, guidance: Guidance) -> bool:
        if not self.config.mentions:
            return False
        return span not in guidance.gold if guidance.learning else score.item() <= 0

    def _step(
        self, span: Span, vector: Tensor, score: Tensor, memory: Memory, genre: int, guidance: Guidance
    ) -> Step:
        """Add a span to the best-scored entity or a new one."""
        cluster = guidance.gold.get(span)
        gold = tuple(n for n, entity in enumerate(memory.active, start=1) if cluster in entity.gold) or (NEW,)
        scores, loss, choice = None, None, NEW
        if memory.active:
            scores = self._scores(span, vector, score, memory.active, genre)
            loss = torch.logsumexp(scores, dim=0) - torch.logsumexp(scores[list(gold)], dim=0)
            choice = int(scores.argmax())
        forced = guidance.teacher_forcing and choice != NEW
        if forced:
            choice = gold[-1]
        if not forced and self._is_left_out(score, guidance):
            return Step(span, score, scores, gold, choice, None, loss, memory)
        of_gold = frozenset(() if cluster is None else (cluster,))
        active, share = list(memory.active), None
        if choice == NEW:
            active.append(Entity(vector, (span,), score.item(), of_gold))
        else:
            active[choice - 1], share = self._merged(active[choice - 1], span, vector, score, of_gold)
        return Step(span, score, scores, gold, choice, share, loss, replace(memory, active=tuple(active)))

    def _is_left_out(self, score: Tensor, guidance: Guidance) -> bool:
        """Whether a span contributes to the loss but changes no entity: in training, if scored as a non-mention."""
        return guidance.learning and self.config.mentions and self.config.singletons and score.item() < 0

    def _scores(self, span: Span, vector: Tensor, score: Tensor, entities: Sequence[Entity], genre: int) -> Tensor:
        """Return the scores of a new entity, then of the given ones, (1 + entities,)."""
        of_entities = torch.stack([entity.vector for entity in entities])
        centre = (span[0] + span[1]) / 2
        apart = [int(centre - (entity.latest[0] + entity.latest[1]) / 2) for entity in entities]
        rows = len(entities)
        features = torch.cat(
            [
                vector.new_zeros(rows, self.config.feature),  # in place of the speaker feature of other systems
                self.genre.weight[genre].expand(rows, -1),
                self.distance(bucket(torch.tensor(apart, device=vector.device))),
                self.segment_distance.weight[0].expand(rows, -1),
            ],
            dim=1,
        )
        scores = self.pair_score.of_one(vector, of_entities, features)
        if not self.config.mentions:
            scores = scores + score
        return torch.cat([scores.new_tensor([self.config.threshold]), scores])

    def _merged(
        self, entity: Entity, span: Span, vector: Tensor, score: Tensor, gold: frozenset[int]
    ) -> tuple[Entity, Tensor]:
        share = torch.sigmoid(self.interpolation(torch.cat([entity.vector, vector])))[None]
        mixed = share * entity.vector + (1 - share) * vector
        count = len(entity.spans)
        mean = (entity.mention_score * count + score.item()) / (count + 1)
        return Entity(mixed, (*entity.spans, span), mean, entity.gold | gold), share

    def _mention_loss(self, spans: Spans, start: int, scores: Tensor, guidance: Guidance) -> Tensor:
        """Return the cross-entropy of classifying spans as gold mentions with the setting ``mentions``, else 0."""
        if not self.config.mentions:
            return scores.new_zeros(())
        gold = [(first + start, last + start) in guidance.gold for first, last in spans.pairs()]
        return nn.functional.binary_cross_entropy_with_logits(scores, scores.new_tensor(gold), reduction="sum")

    def _evict(self, memory: Memory, place: int) -> Memory:
        """Evict entities whose latest span is too far back; the limit doubles for non-singletons."""
        if self.config.evict is None:
            return memory
        stay: list[Entity] = []
        leave: list[Entity] = []
        for entity in memory.active:
            limit = self.config.evict if len(entity.spans) == 1 else 2 * self.config.evict
            (leave if place - entity.latest[0] > limit else stay).append(entity)
        return Memory(tuple(stay), (*memory.evicted, *leave))

    def training_losses(
        self, encode: Encode, document: Pieces, rng: np.random.Generator
    ) -> Iterator[dict[str, Tensor]]:
        """Yield the loss of segments of up to ``segment`` pieces together, as they are read.

        No gradients flow between segments, so one backward pass for several is only faster.
        """
        guidance = Guidance(document.gold, learning=True, teacher_forcing=self.config.teacher_forcing)
        frozen = encode if self.config.finetune else lambda windows: encode(windows).detach()
        several: list[Segment] = []
        for segment in self.segments(frozen, document, guidance, detach=True, at_once=self.config.segment):
            if several and segment.start + segment.length - several[0].start > self.config.segment:
                yield from self._losses(several)
                several = []
            several.append(segment)
        if several:
            yield from self._losses(several)

    def _losses(self, segments: Sequence[Segment]) -> Iterator[dict[str, Tensor]]:
        loss = torch.stack([segment.loss for segment in segments]).sum()
        mention_loss = torch.stack([segment.mention_loss for segment in segments]).sum()
        if loss.requires_grad:
            yield {"links": loss - mention_loss, "mentions": mention_loss}

    def predict(self, encode: Encode, document: Pieces, earlier: Prediction | None = None) -> Prediction:
        """Predict the clusters; segments that an ``earlier`` prediction of a prefix has read are not read again."""
        bounds = document.segment_bounds()
        keys = [
            (window, document.sentence[start:end])
            for (start, end), window in zip(bounds, document.windows, strict=True)
        ]
        known: Sequence[tuple[object, Segment]] = earlier.kept if earlier else ()
        same = takewhile(lambda pair: pair[0] == pair[1][0], zip(keys, known, strict=False))
        segments = [segment for _, (_, segment) in same]
        segments += self.segments(encode, document, Guidance(), after=segments)
        spans = sum(len(segment.candidates) for segment in segments)
        comparisons = sum(segment.comparisons for segment in segments)
        kept = list(zip(keys, segments, strict=True))
        return Prediction(self.clusters(segments[-1].memory), spans, comparisons, kept)

    def segments(
        self,
        encode: Encode,
        document: Pieces,
        guidance: Guidance,
        detach: bool = False,
        after: Sequence[Segment] = (),
        at_once: int = 0,
    ) -> Iterator[Segment]:
        """Read the segments ``after`` those given in turn; with ``detach``, no gradients flow between segments.

        Consecutive segments are encoded at once, if together they have up to ``at_once`` pieces.
        """
        memory = after[-1].memory if after else Memory()
        unread = list(zip(document.segment_bounds(), document.windows, strict=True))[len(after) :]
        for group in _groups(unread, at_once):
            lengths = [end - start for (start, end), _ in group]
            vectors = encode([window for _, window in group]).split(lengths)
            for ((start, _), _), pieces in zip(group, vectors, strict=True):
                segment = self.read_segment(
                    pieces, document, start, memory.detached() if detach else memory, guidance
                )
                memory = segment.memory
                yield segment

    def clusters(self, memory: Memory) -> Clusters:
        """Return the output clusters, largest first, with singletons only if configured."""
        return [spans for spans in memory.clusters if len(spans) > 1 or self.config.singletons]


def _groups(segments: Sequence[Bounded], longest: int) -> Iterator[list[Bounded]]:
    """Group consecutive segments that together have up to ``longest`` pieces; a longer one is alone."""
    group: list[Bounded] = []
    for (start, end), window in segments:
        if group and end - group[0][0][0] > longest:
            yield group
            group = []
        group.append(((start, end), window))
    if group:
        yield group
