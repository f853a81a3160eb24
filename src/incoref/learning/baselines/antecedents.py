"""Shared code for linking to antecedents: clusters from links, gold clusters, the marginal log-likelihood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from incoref.learning.baselines.pieces import Clusters, Span

NO_ANTECEDENT = -1


def clusters_of(spans: Sequence[Span], antecedents: Sequence[int]) -> Clusters:
    """Return the clusters that the links form, in order of creation; spans without links are omitted."""
    clusters: Clusters = []
    cluster_of: dict[int, int] = {}
    for span, antecedent in enumerate(antecedents):
        if antecedent == NO_ANTECEDENT:
            continue
        if antecedent not in cluster_of:
            cluster_of[antecedent] = len(clusters)
            clusters.append([spans[antecedent]])
        cluster_of[span] = cluster_of[antecedent]
        clusters[cluster_of[span]].append(spans[span])
    return clusters


def gold_clusters(spans: Sequence[Span], gold: Mapping[Span, int], like: Tensor) -> Tensor:
    """Return each span's gold cluster, numbered from 1, or 0 for a non-mention, (n,)."""
    return torch.tensor([gold.get(span, -1) + 1 for span in spans], dtype=torch.long, device=like.device)


def marginal_loss(scores: Tensor, gold: Tensor) -> Tensor:
    """Return the negative log of the total gold probability per row, (n,): ``scores`` (n, k), ``gold`` (n, k)."""
    of_gold = scores.masked_fill(~gold, -torch.inf)
    return torch.logsumexp(scores, dim=1) - torch.logsumexp(of_gold, dim=1)
