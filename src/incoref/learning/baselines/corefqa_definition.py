"""CorefQA step by step: one question, answer and pair at a time. The fast implementation is tested against it."""

from __future__ import annotations

from incoref.learning.baselines.corefqa import BEGIN, INSIDE, CorefQA
from incoref.learning.baselines.pieces import Clusters, Encode, Pieces, Span


def resolve(system: CorefQA, encode: Encode, document: Pieces) -> Clusters:
    """Return the clusters of a document."""
    proposals = system.proposals(encode(document.windows), document)
    mentions, scores = proposals.spans.pairs(), proposals.scores.tolist()
    asked = {mention: _tags(system, encode, document, mention) for mention in mentions}
    cluster_of: dict[Span, list[Span]] = {}
    clusters: Clusters = []
    for number, mention in enumerate(mentions):
        before = range(number)
        likely = sorted(before, key=lambda other: -_answer(asked[mention], mentions[other]))
        best, antecedent = 0.0, None
        for other in sorted(likely[: system.config.answers]):
            score = _pair(system, asked, mention, mentions[other], scores[number] + scores[other])
            if score > best:
                best, antecedent = score, mentions[other]
        if antecedent is None:
            continue
        if antecedent not in cluster_of:
            cluster_of[antecedent] = [antecedent]
            clusters.append(cluster_of[antecedent])
        cluster_of[antecedent].append(mention)
        cluster_of[mention] = cluster_of[antecedent]
    return clusters


Tags = list[list[float]]
"""Log-probabilities of the three tags, per piece of the document."""


def _tags(system: CorefQA, encode: Encode, document: Pieces, mention: Span) -> Tags:
    """Ask about a mention, passage by passage, and return the tags of every piece."""
    tags: Tags = []
    for window in system.windows(document, mention):
        tags += system.tags(encode([window])).tolist()
    return tags


def _answer(tags: Tags, span: Span) -> float:
    """Return the mean log-probability of BEGIN followed by INSIDE tags over a span."""
    first, last = span
    total = tags[first][BEGIN]
    for piece in range(first + 1, last + 1):
        total += tags[piece][INSIDE]
    return total / (last - first + 1)


def _pair(system: CorefQA, asked: dict[Span, Tags], mention: Span, other: Span, mention_scores: float) -> float:
    config = system.config
    there, back = _answer(asked[mention], other), _answer(asked[other], mention)
    both = (1 - config.weight) * there + config.weight * back
    return config.mention_weight * mention_scores + (1 - config.mention_weight) * both
