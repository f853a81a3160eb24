"""CorefQA: coreference as question answering (Wu et al. 2020), at small scale.

Mentions are proposed first. For each one, the encoder reads its sentence, with the mention marked, before every
passage of the document, and tags the passage's pieces as beginning, inside or outside of an answer, which is a
mention of the same entity. A pair's score combines the answers to both mentions' questions with their mention scores;
a mention links to the best preceding one or, at score 0, to none. ``corefqa_definition`` computes the same, one
question and answer at a time.

Implemented from the paper. Mentions are marked by separators, as pretrained vocabularies have no other spare symbols.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

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

    def question(self, document: Pieces, span: Span, ids: Sequence[int] | None = None) -> list[int]:
        """Return the ids of a mention's sentence, as far as it fits, with the mention between separators.

        ``ids`` are the document's, where they are known already.
        """
        ids, room = ids or document.ids, self.config.context // 2
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

    def windows(self, document: Pieces, span: Span, ids: tuple[int, ...] | None = None) -> list[Window]:
        """Return the question about a mention followed by each passage; only the passages' vectors are used."""
        ids = ids or document.ids
        question = self.question(document, span, ids)
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

    def _needed_answers(self, asking: Asking, mention_scores: Tensor) -> Tensor:
        """Return the answers that decide which mentions link, (K, K), and 0 for the others.

        An answer is a log-probability, so a pair's score can only fall with it: a pair without a positive score
        before it is known has none afterwards.
        """
        place = torch.arange(len(mention_scores), device=mention_scores.device)
        before = place[:, None] > place
        may_link = before & (mention_scores[:, None] + mention_scores > 0)
        answers = asking.answers(before & may_link.any(dim=1, keepdim=True)).tril(-1)
        may_link = self.pair_scores(answers, mention_scores)[:, 1:] > 0
        return answers + asking.answers(may_link.T).triu(1)

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
            answers = Asking(self, encode, document, asked).answers(chosen.new_ones(len(chosen), len(chosen)) > 0)
            scores = self.pair_scores(answers, proposals.scores[chosen].detach())
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

    def predict(self, encode: Encode, document: Pieces, earlier: Prediction | None = None) -> Prediction:
        """Predict the clusters; questions whose answers can't lead to a link are counted, but not asked."""
        proposals = self.proposals(encode(document.windows), document)
        spans = proposals.spans.pairs()
        asking = Asking(self, encode, document, proposals.spans, earlier.kept if earlier else None)
        scores = self.pair_scores(self._needed_answers(asking, proposals.scores), proposals.scores)
        links = [choice - 1 if choice else NO_ANTECEDENT for choice in scores.argmax(dim=1).tolist()]
        comparisons = len(spans) * (len(spans) - 1) // 2
        return Prediction(clusters_of(spans, links), len(proposals.candidates), comparisons, asking.read)


class Asking:
    """Asks about some spans of a document, in the passages that matter."""

    def __init__(
        self,
        system: CorefQA,
        encode: Encode,
        document: Pieces,
        asked: Spans,
        known: Mapping[tuple[int, ...], Tensor] | None = None,
    ) -> None:
        """``known`` are the tags in windows that have been read before, by their ids."""
        self._system, self._encode, self._asked = system, encode, asked
        ids = document.ids
        self._windows = [system.windows(document, span, ids) for span in asked.pairs()]
        self._known = known or {}
        self.read: dict[tuple[int, ...], Tensor] = {}
        """The tags in the windows that have been needed."""
        place = torch.arange(len(document), device=asked.first.device)
        self._inside = (asked.first[:, None] <= place) & (place <= asked.last[:, None])  # (asked, T)

    def answers(self, wanted: Tensor) -> Tensor:
        """Return the wanted spans' mean tag log-probabilities as answers to each span's question, (asked, asked).

        A row is a question; entries that aren't wanted have no meaning.
        """
        asked, length = self._asked, self._inside.shape[1]
        if not len(asked):
            return torch.zeros_like(wanted, dtype=torch.float)
        pieces = wanted.float() @ self._inside.float() > 0  # (asked, T)
        needed = [
            [bool(part.any()) for part in row.split([window.used_to - window.used_from for window in windows])]
            for row, windows in zip(pieces.cpu(), self._windows, strict=True)
        ]
        self._read(
            [
                window
                for windows, chosen in zip(self._windows, needed, strict=True)
                for window in compress(windows, chosen)
            ]
        )
        nothing = next(iter(self.read.values()), self._system.tag_output.weight).new_zeros(length, 3)
        tags = torch.stack(
            [
                torch.cat(
                    [
                        self.read[window.ids] if is_needed else nothing[: window.used_to - window.used_from]
                        for window, is_needed in zip(windows, chosen, strict=True)
                    ]
                )
                for windows, chosen in zip(self._windows, needed, strict=True)
            ]
        )  # (asked, T, 3)
        total = tags[:, asked.first, BEGIN]
        for further in range(1, self._system.config.widest):
            place = (asked.first + further).clamp(max=length - 1)
            total = total + tags[:, place, INSIDE].masked_fill(further > asked.width, 0)
        return total / (asked.width + 1)

    def _read(self, windows: Sequence[Window]) -> None:
        """Read the windows that haven't been read yet."""
        unread: dict[tuple[int, ...], Window] = {}
        for window in windows:
            if window.ids in self._known:
                self.read[window.ids] = self._known[window.ids]
            elif window.ids not in self.read:
                unread[window.ids] = window
        chosen = list(unread.values())
        for at in range(0, len(chosen), _WINDOWS_AT_ONCE):
            some = chosen[at : at + _WINDOWS_AT_ONCE]
            vectors = self._encode(some).split([window.used_to - window.used_from for window in some])
            # One by one, so that the tags don't depend on what else is read.
            self.read.update({window.ids: self._system.tags(own) for window, own in zip(some, vectors, strict=True)})


def _right(spans: Spans, scores: Tensor, document: Pieces) -> Tensor:
    """Return a mask of the correct entries of the pair scores, (K, 1 + K)."""
    cluster = gold_clusters(spans.pairs(), document.gold, scores)
    same = (cluster[:, None] == cluster) & (cluster[:, None] > 0) & (scores[:, 1:] > -torch.inf)
    return torch.cat([~same.any(dim=1, keepdim=True), same], dim=1)
