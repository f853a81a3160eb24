"""longdoc: incremental clustering with optionally bounded memory (Toshniwal et al. 2020).

The document's best spans are processed in order. A span is coreferent with the best-scored memory cell, or not; if
not, a second decision determines whether it is written to a cell (a free one, one chosen by the model, or the least
recently used), is a mention that isn't tracked, or isn't a mention. Memory is a value, passed in and returned.
Independent of the encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from incoref.learning.baselines.config import LongdocConfig
from incoref.learning.baselines.pieces import Clusters, Encode, Pieces, Prediction, Span
from incoref.learning.baselines.spans import (
    BUCKETS,
    FeedForward,
    PairScore,
    Spans,
    SpanScorer,
    best,
    bucket,
    candidates,
)

_INTERPOLATION_HIDDEN = 300
IMPOSSIBLE = -1e4
NO_CELL = -1


class Kind(IntEnum):
    """What to do with a span; the values are the classes of the previous-action feature."""

    COREFERENT = 0
    OVERWRITE = 1
    IGNORE = 2  # not a mention
    NO_SPACE = 3  # a mention that isn't tracked
    START = 4  # before the first action


class Action(NamedTuple):
    cell: int
    kind: Kind


IGNORED = Action(NO_CELL, Kind.IGNORE)
UNTRACKED = Action(NO_CELL, Kind.NO_SPACE)


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory cells and the previous action."""

    vectors: Tensor  # (cells, size), zeros where empty
    counts: tuple[int, ...]
    """Number of mentions of each cell's entity; 0 for an empty cell."""
    latest: tuple[int, ...]
    """Index of each cell's latest mention."""
    least_recent: tuple[int, ...]
    """The cells, least recently used first."""
    previous: Kind = Kind.START

    @property
    def free(self) -> int | None:
        """The first empty cell."""
        return next((cell for cell, count in enumerate(self.counts) if not count), None)

    def __len__(self) -> int:
        return len(self.counts)


@dataclass(frozen=True, slots=True)
class Step:
    """Scores and decision for one span."""

    mention: int
    """Its index among the kept spans."""
    mention_score: Tensor
    vector: Tensor
    memory: Memory
    """Memory before the step."""
    coref_scores: Tensor  # (cells + 1,): each cell, then none
    write_scores: Tensor | None
    """Scores of the second decision (where to write, no space, not a mention); None if there is none to make."""
    action: Action | None
    """The best-scored action; None if it depends on a second decision that training did not make."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """The kept spans of a document, in text order."""

    candidates: Spans
    scores_of_all: Tensor  # (n,)
    kept: Tensor  # indices of candidates, best first
    spans: Spans
    scores: Tensor  # (K,)
    vectors: Tensor  # (K, size)

    def same_as(self, others: Mentions) -> int:
        """Return how many mentions at the beginning are the same, to the last bit of their scores and vectors."""
        count = min(len(self.spans), len(others.spans))
        differs = torch.zeros(count, dtype=torch.bool, device=self.scores.device)
        for one, other in (
            (self.spans.first, others.spans.first),
            (self.spans.last, others.spans.last),
            (self.scores, others.scores),
        ):
            differs |= one[:count] != other[:count]
        differs |= (self.vectors[:count] != others.vectors[:count]).any(dim=1)
        return int(differs.nonzero()[0]) if differs.any() else count


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a document."""

    mentions: Mentions
    steps: tuple[Step, ...]
    actions: tuple[Action, ...]
    """The action for each kept span, best-scored or gold."""
    memory: Memory

    @property
    def clusters(self) -> Clusters:
        """Overwritten entities as they were, then those in the cells in order of first use."""
        closed: Clusters = []
        current: dict[int, list[Span]] = {}
        for span, (cell, kind) in zip(self.mentions.spans.pairs(), self.actions, strict=True):
            if kind is Kind.COREFERENT:
                current[cell].append(span)
            elif kind is Kind.OVERWRITE:
                if cell in current:
                    closed.append(current[cell])
                current[cell] = [span]
        return [*closed, *current.values()]

    @property
    def comparisons(self) -> int:
        """Number of span–entity pairs compared."""
        return sum(sum(count > 0 for count in step.memory.counts) for step in self.steps)


@dataclass(frozen=True, slots=True)
class LongdocLoss:
    coref: Tensor
    write: Tensor
    total: Tensor


class Longdoc(nn.Module):
    def __init__(self, config: LongdocConfig, vector: int) -> None:
        super().__init__()
        self.config = config
        feature, hidden, dropout = config.feature, config.hidden, config.dropout
        self.span_scorer = SpanScorer(vector, feature, config.widest, hidden, dropout)
        size = self.span_scorer.size
        self.distance = nn.Embedding(BUCKETS, feature)
        self.count = nn.Embedding(BUCKETS, feature)
        self.genre = nn.Embedding(len(config.genres), feature) if config.use_genre else None
        self.previous = nn.Embedding(len(Kind), feature)
        features = feature * (4 if config.use_genre else 3)
        self.coref_score = PairScore(size, features, hidden, dropout)
        self.write_score = FeedForward(size + features, hidden, dropout) if self.bounded else None
        self.interpolation = (
            FeedForward(2 * size, _INTERPOLATION_HIDDEN, dropout) if config.entity == "learned" else None
        )

    @property
    def bounded(self) -> bool:
        return self.config.memory in ("learned", "lru")

    def mentions(self, pieces: Tensor, document: Pieces) -> Mentions:
        """Return the best-scored spans of a document, given the vectors of its pieces, (T, vector)."""
        spans = candidates(torch.tensor(document.sentence, device=pieces.device), self.config.widest)
        scores = self.span_scorer.scores(pieces, spans)
        kept = best(scores, int(self.config.ratio * len(document)))
        order = kept.sort().values
        top = spans[order]
        return Mentions(spans, scores, kept, top, scores[order], self.span_scorer.vectors(pieces, top))

    def empty_memory(self, like: Tensor) -> Memory:
        """Return the initial memory; unbounded memory starts with one empty cell for the first entity."""
        cells = self.config.cells if self.bounded else 1
        zeros = (0,) * cells
        return Memory(like.new_zeros(cells, self.span_scorer.size), zeros, zeros, tuple(range(cells)))

    def forward(self, pieces: Tensor, document: Pieces, earlier: Reading | None = None) -> Reading:
        """Read a document, taking the best-scored actions; steps of an ``earlier`` reading of a prefix are reused."""
        mentions = self.mentions(pieces, document)
        memory = self.empty_memory(pieces)
        same = 0 if earlier is None else mentions.same_as(earlier.mentions)
        steps = [] if earlier is None else list(earlier.steps[:same])
        actions = [] if earlier is None else list(earlier.actions[:same])
        if steps:
            memory = self.after(steps[-1].memory, same - 1, steps[-1].vector, actions[-1])
        for number in range(same, len(mentions.spans)):
            step = self.step(mentions, number, memory, document.genre)
            assert step.action is not None
            memory = self.after(memory, number, mentions.vectors[number], step.action)
            steps.append(step)
            actions.append(step.action)
        return Reading(mentions, tuple(steps), tuple(actions), memory)

    def forced(
        self, mentions: Mentions, document: Pieces, gold: Sequence[Action], skipped: Sequence[bool]
    ) -> Reading:
        """Read a document with gold actions; skipped spans have no effect."""
        memory = self.empty_memory(mentions.vectors)
        steps = []
        for number, action in enumerate(gold):
            if skipped[number]:
                continue
            steps.append(self.step(mentions, number, memory, document.genre, action.kind))
            memory = self.after(memory, number, mentions.vectors[number], action)
        return Reading(mentions, tuple(steps), tuple(gold), memory)

    def step(self, mentions: Mentions, number: int, memory: Memory, genre: int, gold: Kind | None = None) -> Step:
        """Score one span and choose an action.

        When training with bounded memory, the ``gold`` kind determines whether the second decision is made.
        """
        score, vector = mentions.scores[number], mentions.vectors[number]
        features = self._features(number, memory, genre)
        empty = torch.tensor(memory.counts, device=vector.device) == 0
        cells = (self.coref_score.of_one(vector, memory.vectors, features, last=True) + score).masked_fill(
            empty, IMPOSSIBLE
        )
        coref_scores = torch.cat([cells, cells.new_zeros(1)])
        choice = int(coref_scores.argmax())
        coreferent = choice < len(memory)
        writes = not coreferent if gold is None else gold is not Kind.COREFERENT
        write_scores, action = None, Action(choice, Kind.COREFERENT) if coreferent else None
        if self.config.memory != "unbounded-no-ignore" and (writes or not self.bounded):
            write_scores = self._write_scores(memory, vector, score, features, genre)
        if (writes and self.bounded) or (not coreferent and not self.bounded):
            action = self._write(memory, write_scores)
        return Step(number, score, vector, memory, coref_scores, write_scores, action)

    def _features(self, number: int, memory: Memory, genre: int) -> Tensor:
        """Embed distance, count, genre and previous action for each cell, (cells, features)."""
        distance = number - torch.tensor(memory.latest, device=memory.vectors.device)
        count = torch.tensor(memory.counts, device=memory.vectors.device)
        return self._embedded(bucket(distance), bucket(count), memory.previous, genre)

    def _embedded(self, distance: Tensor, count: Tensor, previous: Kind, genre: int) -> Tensor:
        rows = len(distance)
        parts = [self.distance(distance), self.count(count)]
        if self.genre is not None:
            parts.append(self.genre.weight[genre].expand(rows, -1))
        parts.append(self.previous.weight[previous].expand(rows, -1))
        return torch.cat(parts, dim=1)

    def _write_scores(self, memory: Memory, vector: Tensor, score: Tensor, features: Tensor, genre: int) -> Tensor:
        """Return the scores of the second decision.

        Unbounded: [a new entity, not a mention]; learned: [each cell, no space, not a mention]; lru: [the least
        recently used cell, no space, not a mention].
        """
        if self.write_score is None:
            return torch.stack([torch.zeros_like(score), -score])
        none = torch.zeros(1, dtype=torch.long, device=vector.device)
        of_span = torch.cat([vector[None], self._embedded(none, none, memory.previous, genre)], dim=1)
        of_cells = torch.cat([memory.vectors, features], dim=1)
        if self.config.memory == "lru":
            of_cells = of_cells[memory.least_recent[0] :][:1]
        cells_and_span = self.write_score(torch.cat([of_cells, of_span]))
        if self.config.memory == "learned" and memory.free is not None:
            taken = torch.arange(len(cells_and_span), device=vector.device) != memory.free
            cells_and_span = cells_and_span.masked_fill(taken, IMPOSSIBLE)
        return torch.cat([cells_and_span, -score[None]])

    def _write(self, memory: Memory, scores: Tensor | None) -> Action:
        """Return the action that the second decision selects."""
        new = memory.free if memory.free is not None and not self.bounded else len(memory)
        if scores is None:
            return Action(new, Kind.OVERWRITE)
        choice = int(scores.argmax())
        if choice == len(scores) - 1:
            return IGNORED
        if not self.bounded:
            return Action(new, Kind.OVERWRITE)
        if choice == len(scores) - 2:
            return UNTRACKED
        return Action(memory.least_recent[0] if self.config.memory == "lru" else choice, Kind.OVERWRITE)

    def after(self, memory: Memory, number: int, vector: Tensor, action: Action) -> Memory:
        """Return the memory after an action."""
        cell, kind = action
        if kind not in (Kind.COREFERENT, Kind.OVERWRITE):
            return replace(memory, previous=kind)
        if cell == len(memory):  # unbounded memory grows
            memory = replace(
                memory,
                vectors=torch.cat([memory.vectors, vector[None]]),
                counts=(*memory.counts, 0),
                latest=(*memory.latest, 0),
                least_recent=(*memory.least_recent, cell),
            )
        count = memory.counts[cell] if kind is Kind.COREFERENT else 0
        old = memory.vectors[cell]
        if kind is Kind.OVERWRITE:
            new = vector
        elif self.interpolation is not None:
            share = torch.sigmoid(self.interpolation(torch.cat([old, vector])))
            new = share * old + (1 - share) * vector
        else:
            new = (old * count + vector) / (count + 1)
        return Memory(
            vectors=torch.cat([memory.vectors[:cell], new[None], memory.vectors[cell + 1 :]]),
            counts=(*memory.counts[:cell], count + 1, *memory.counts[cell + 1 :]),
            latest=(*memory.latest[:cell], number, *memory.latest[cell + 1 :]),
            least_recent=(*(other for other in memory.least_recent if other != cell), cell),
            previous=kind,
        )

    def loss(self, reading: Reading) -> LongdocLoss:
        """Return the loss of a document that was read with gold actions."""
        nothing = reading.mentions.scores.new_zeros(())
        coref, write = [nothing], [nothing]
        for step in reading.steps:
            cell, kind = reading.actions[step.mention]
            right = cell if kind is Kind.COREFERENT else len(step.memory)
            weight = 1.0 if kind is Kind.COREFERENT else self.config.new_weight
            entries = len(step.memory) + self.config.new_weight
            coref.append(_cross_entropy(step.coref_scores, right) * weight / entries)
            if kind is not Kind.COREFERENT and step.write_scores is not None:
                write.append(_cross_entropy(step.write_scores, self._right_write(step, cell, kind)))
        over = torch.stack(write).sum()
        if self.config.memory == "lru":
            over = over / max(len(write) - 1, 1)
        total_coref = torch.stack(coref).sum()
        return LongdocLoss(total_coref, over, total_coref + self.config.memory_loss * over)

    def _right_write(self, step: Step, cell: int, kind: Kind) -> int:
        """Return the index of the correct entry of the second decision."""
        assert step.write_scores is not None
        entries = len(step.write_scores)
        if kind is Kind.IGNORE:
            return entries - 1
        if kind is Kind.NO_SPACE:
            return entries - 2
        return cell if self.config.memory == "learned" else 0

    def training_losses(
        self, encode: Encode, document: Pieces, rng: np.random.Generator
    ) -> Iterator[dict[str, Tensor]]:
        """Yield the loss of a document, with gold actions and a sample of the non-mention spans."""
        mentions = self.mentions(encode(document.windows), document)
        spans, gold = mentions.spans.pairs(), document.gold
        skipped = [span not in gold and rng.random() > self.config.sample_invalid for span in spans]
        actions = gold_actions(self.config, spans, document.clusters, skipped)
        loss = self.loss(self.forced(mentions, document, actions, skipped))
        if loss.total.requires_grad:  # else there are no spans to learn from
            yield {"links": loss.coref, "writing": self.config.memory_loss * loss.write}

    def predict(self, encode: Encode, document: Pieces, earlier: Prediction | None = None) -> Prediction:
        reading = self(encode(document.windows), document, earlier.kept if earlier else None)
        return Prediction(self.clusters(reading), len(reading.mentions.candidates), reading.comparisons, reading)

    def clusters(self, reading: Reading) -> Clusters:
        """Return the output clusters, with singletons only if configured."""
        return [spans for spans in reading.clusters if len(spans) > 1 or self.config.singletons]


def _cross_entropy(scores: Tensor, right: int) -> Tensor:
    return torch.logsumexp(scores, dim=0) - scores[right]


def gold_actions(
    config: LongdocConfig, spans: Sequence[Span], clusters: Sequence[Sequence[Span]], skipped: Sequence[bool]
) -> list[Action]:
    """Return the gold action for each kept span; ``skipped`` marks the spans left out of training."""
    cluster_of = {span: number for number, cluster in enumerate(clusters) for span in cluster}
    numbers = [cluster_of.get(span) for span in spans]
    if config.memory in ("unbounded", "unbounded-no-ignore"):
        keeps_all = config.memory == "unbounded-no-ignore"
        return list(_unbounded_actions(numbers, [keeps_all and not skip for skip in skipped]))
    remaining = {number: len(cluster) for number, cluster in enumerate(clusters)}
    return list(_bounded_actions(config, numbers, remaining))


def _unbounded_actions(clusters: Sequence[int | None], founds_anyway: Sequence[bool]) -> Iterator[Action]:
    cell_of: dict[int, int] = {}
    cells = 0
    for cluster, founds in zip(clusters, founds_anyway, strict=True):
        if cluster is not None and cluster in cell_of:
            yield Action(cell_of[cluster], Kind.COREFERENT)
        elif cluster is not None or founds:
            if cluster is not None:
                cell_of[cluster] = cells
            yield Action(cells, Kind.OVERWRITE)
            cells += 1
        else:
            yield IGNORED


def _bounded_actions(
    config: LongdocConfig, clusters: Sequence[int | None], totals: Mapping[int, int]
) -> Iterator[Action]:
    """Yield gold actions; a cell is overwritten by an entity with at least as many mentions still to come."""
    remaining = dict(totals)
    holds: list[int | None] = [None] * config.cells
    unused = [0] * config.cells
    least_recent = list(range(config.cells))

    def left(cell: int) -> int:
        held = holds[cell]
        return -1 if held is None else remaining[held]

    for cluster in clusters:
        if cluster is None:
            yield IGNORED
            continue
        unused = [mentions + 1 for mentions in unused]
        if cluster in holds:
            action = Action(holds.index(cluster), Kind.COREFERENT)
        else:
            if config.memory == "lru":
                cell = least_recent[0]
            else:
                cell = min(range(config.cells), key=lambda each: (left(each), -unused[each], each))
            action = Action(cell, Kind.OVERWRITE) if remaining[cluster] >= left(cell) else UNTRACKED
        remaining[cluster] -= 1
        if action.kind is not Kind.NO_SPACE:
            holds[action.cell] = cluster
            unused[action.cell] = 0
            least_recent.remove(action.cell)
            least_recent.append(action.cell)
        yield action
