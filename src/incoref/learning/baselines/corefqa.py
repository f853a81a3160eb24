"""CorefQA: coreference as question answering (Wu et al. 2020), at small scale.

Mentions are proposed first. For each one, the encoder reads its sentence, with the mention marked, before every
passage of the document, and tags the passage's pieces as beginning, inside or outside of an answer, which is a
mention of the same entity. A pair's score combines the answers to both mentions' questions with their mention scores;
a mention links to the best preceding one or, at score 0, to none. ``corefqa_definition`` computes the same, one
question and answer at a time.

Implemented from the paper. Mentions are marked by separators, as pretrained vocabularies have no other spare symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from incoref.learning.baselines.antecedents import NO_ANTECEDENT, clusters_of, gold_clusters, marginal_loss
from incoref.learning.baselines.config import CorefQAConfig
from incoref.learning.baselines.pieces import Encode, Pieces, Prediction, Span, Window
from incoref.learning.baselines.spans import FeedForward, Spans, best, candidates
from incoref.learning.nets.layers import Dropout

BEGIN, INSIDE, OUTSIDE = range(3)
_WINDOWS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Proposals:
    """Proposed mentions, about which questions are asked."""

    candidates: Spans
    scores_of_all: Tensor  # (n,)
    spans: Spans
    scores: Tensor  # (K,)


class CorefQA(nn.Module):
    def __init__(self, config: CorefQAConfig, vector: int, symbols: tuple[int, int]) -> None:
        """``symbols`` are the ids that begin and end an encoder window; the second is also the separator."""
        super().__init__()
        self.config = config
        self.start, self.separator = symbols
        self.mention_score = FeedForward(2 * vector, config.hidden, config.dropout)
        self.tag_hidden = nn.Linear(vector, config.hidden)
        self.tag_output = nn.Linear(config.hidden, 3)
        self.dropout = Dropout(config.dropout)

    def proposals(self, pieces: Tensor, document: Pieces) -> Proposals:
        """Return the best-scored spans in text order; ``pieces`` is (T, vector)."""
        spans = candidates(torch.tensor(document.sentence, device=pieces.device), self.config.widest)
        scores = self.mention_score(torch.cat([pieces[spans.first], pieces[spans.last]], dim=1))
        kept = best(scores, int(self.config.ratio * len(document))).sort().values
        return Proposals(spans, scores, spans[kept], scores[kept])

    def question(self, document: Pieces, span: Span) -> list[int]:
        """Return the ids of a mention's sentence, as far as it fits, with the mention between separators."""
        ids, room = document.ids, self.config.context // 2
        first, last = span
        left, right = first, last + 1
        while right - left < room:
            before = left > 0 and document.sentence[left - 1] == document.sentence[first]
            after = right < len(document) and document.sentence[right] == document.sentence[last]
            if not (before or after):
                break
            left, right = left - before, right + after
        marked = [self.separator, *ids[first : last + 1], self.separator]
        return [self.start, *ids[left:first], *marked, *ids[last + 1 : right], self.separator]

    def windows(self, document: Pieces, span: Span) -> list[Window]:
        """Return the question about a mention followed by each passage; only the passages' vectors are used."""
        question, ids = self.question(document, span), document.ids
        room = max(self.config.context - len(question) - 1, 1)
        passages = [ids[start : start + room] for start in range(0, len(ids), room)]
        return [
            Window((*question, *passage, self.separator), len(question), len(question) + len(passage))
            for passage in passages
        ]

    def tags(self, vectors: Tensor) -> Tensor:
        """Return log-probabilities of BEGIN, INSIDE and OUTSIDE, (…, 3)."""
        logits = self.tag_output(self.dropout(torch.relu(self.tag_hidden(vectors))))
        return torch.log_softmax(logits, dim=-1)

    def answers(self, encode: Encode, document: Pieces, asked: Spans) -> Tensor:
        """Return each span's mean tag log-probability as an answer to each span's question, (asked, asked)."""
        questions = [self.windows(document, span) for span in asked.pairs()]
        windows = [window for of_one in questions for window in of_one]
        read = [encode(windows[at : at + _WINDOWS_AT_ONCE]) for at in range(0, len(windows), _WINDOWS_AT_ONCE)]
        tags = self.tags(torch.cat(read)).view(len(asked), len(document), 3)
        inside = tags[:, :, INSIDE].cumsum(dim=1)
        total = tags[:, asked.first, BEGIN] + inside[:, asked.last] - inside[:, asked.first]
        return total / (asked.width + 1)

    def pair_scores(self, answers: Tensor, mention_scores: Tensor) -> Tensor:
        """Return scores of no antecedent, then of each span, (K, 1 + K).

        Spans that don't precede the mention or aren't among its best answers get minus infinity.
        """
        config, place = self.config, torch.arange(len(answers), device=answers.device)
        later = place[:, None] <= place
        forward = answers.masked_fill(later, -torch.inf)
        dropped = forward.argsort(dim=1, descending=True)[:, config.answers :]
        both = (1 - config.weight) * answers + config.weight * answers.T
        mentions = mention_scores[:, None] + mention_scores
        scores = config.mention_weight * mentions + (1 - config.mention_weight) * both
        scores = scores.masked_fill(later, -torch.inf).scatter(1, dropped, -torch.inf)
        return torch.cat([scores.new_zeros(len(scores), 1), scores], dim=1)

    def training_losses(
        self, encode: Encode, document: Pieces, rng: np.random.Generator
    ) -> Iterator[dict[str, Tensor]]:
        """Yield the loss of the proposals, then of a sample of questions, treated as the only mentions."""
        proposals = self.proposals(encode(document.windows), document)
        yield {"mentions": self._mention_loss(proposals, document)}
        spans, gold = proposals.spans.pairs(), document.gold
        chosen = torch.tensor(self._some(spans, gold, rng), dtype=torch.long, device=proposals.scores.device)
        if len(chosen) > 1:
            asked = proposals.spans[chosen]
            scores = self.pair_scores(self.answers(encode, document, asked), proposals.scores[chosen].detach())
            yield {"links": marginal_loss(scores, _right(asked, scores, document)).mean()}

    def _mention_loss(self, proposals: Proposals, document: Pieces) -> Tensor:
        gold = gold_clusters(proposals.candidates.pairs(), document.gold, proposals.scores) > 0
        target = gold.to(proposals.scores_of_all)
        return nn.functional.binary_cross_entropy_with_logits(proposals.scores_of_all, target)

    def _some(self, spans: Sequence[Span], gold: dict[Span, int], rng: np.random.Generator) -> list[int]:
        """Sample the indices of spans to ask about: up to half of them gold mentions, the rest arbitrary."""
        order = rng.permutation(len(spans)).tolist()
        mentions = [number for number in order if spans[number] in gold][: self.config.questions // 2]
        rest = [number for number in order if number not in set(mentions)]
        return sorted([*mentions, *rest][: self.config.questions])

    def predict(self, encode: Encode, document: Pieces) -> Prediction:
        proposals = self.proposals(encode(document.windows), document)
        spans = proposals.spans.pairs()
        if not spans:
            return Prediction([], len(proposals.candidates), 0)
        scores = self.pair_scores(self.answers(encode, document, proposals.spans), proposals.scores)
        links = [choice - 1 if choice else NO_ANTECEDENT for choice in scores.argmax(dim=1).tolist()]
        return Prediction(clusters_of(spans, links), len(proposals.candidates), len(spans) * (len(spans) - 1) // 2)


def _right(spans: Spans, scores: Tensor, document: Pieces) -> Tensor:
    """Return a mask of the correct entries of the pair scores, (K, 1 + K)."""
    cluster = gold_clusters(spans.pairs(), document.gold, scores)
    same = (cluster[:, None] == cluster) & (cluster[:, None] > 0) & (scores[:, 1:] > -torch.inf)
    return torch.cat([~same.any(dim=1, keepdim=True), same], dim=1)
