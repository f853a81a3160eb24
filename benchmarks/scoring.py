"""Measure the time to score one document with many clusters, with SciPy (extra ``eval``).

    python benchmarks/scoring.py [--clusters 5000]

The response misplaces a fifth, half or all of the key's mentions. The more are misplaced, the fewer connected
components the graph of shared mentions has; with all of them misplaced, it is connected.
"""

from __future__ import annotations

import argparse
import random
import time

from incoref.evaluation.metrics import Scorer

Clusters = list[list[int]]


def clusters_of(assignment: list[int]) -> Clusters:
    clusters: dict[int, list[int]] = {}
    for mention, cluster in enumerate(assignment):
        clusters.setdefault(cluster, []).append(mention)
    return list(clusters.values())


def document(clusters: int, mentions: int, misplaced: float) -> tuple[Clusters, Clusters]:
    """Return a key with ``clusters`` clusters, and a response with some mentions in random clusters."""
    draw = random.Random(0)
    key = [*range(clusters), *(draw.randrange(clusters) for _ in range(mentions - clusters))]
    response = [draw.randrange(clusters) if draw.random() < misplaced else cluster for cluster in key]
    return clusters_of(key), clusters_of(response)


def seconds(key: Clusters, response: Clusters) -> float:
    start = time.process_time()
    Scorer().add(key, response)
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, default=5000)
    clusters = parser.parse_args().clusters
    cases = [(each, misplaced) for each in (2, 4, 10) for misplaced in (0.2, 0.5, 1.0)]
    documents = {case: document(clusters, case[0] * clusters, case[1]) for case in cases}
    print("| mentions a cluster | misplaced | s |")
    print("|---|---|---|")
    for case in cases:
        print(f"| {case[0]} | {case[1]:.0%} | {seconds(*documents[case]):.2f} |")


if __name__ == "__main__":
    main()
