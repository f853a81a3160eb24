"""Feature classes of all pairs of a text whose entities are known, for training. Independent of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from incoref.model.features.base import REGISTRY, Ints
from incoref.model.features.mention import MentionFacts
from incoref.model.features.states import EntityStates, PairStates


@dataclass(frozen=True, slots=True)
class _MentionNumbers:
    """The numeric facts of each pair's mention, for element-wise features."""

    first: Ints
    sentence: Ints
    turn: Ints
    pronoun: Ints
    gender: Ints


def classes_of_pairs(
    mentions: Sequence[MentionFacts], entity_of: npt.NDArray[np.int64], latest: npt.NDArray[np.int64]
) -> npt.NDArray[np.int8]:
    """Return the classes of every mention against every entity before it, (registered features, pairs).

    Pairs are ordered by mention. The result equals ``EntityStates.classes`` for one mention after the other, each
    joining its entity in ``entity_of``, but element-wise features are computed for all pairs at once. ``latest``
    holds, for each pair, the entity's latest mention before the pair's own mention.
    """
    classes = np.zeros((len(REGISTRY), len(latest)), np.int8)
    rows = list(zip(classes, REGISTRY.values(), strict=True))
    one_by_one = [(row, feature) for row, feature in rows if not feature.elementwise]
    states = EntityStates()
    after = np.zeros((states.columns.shape[0], len(mentions)), np.int64)  # each mention's entity once it has joined
    entities, done = [], 0
    for number, (mention, entity) in enumerate(zip(mentions, entity_of.tolist(), strict=True)):
        for row, feature in one_by_one:
            if feature.applies(mention):
                row[done : done + len(states)] = feature.classify(mention, states)
        entities.append(len(states))
        done += len(states)
        states.add(mention, entity)
        after[:, number] = states.columns[:, entity]
    of_pair = np.repeat(np.arange(len(mentions)), entities)
    numbers = [(m.first, m.sentence, m.turn, m.pronoun, m.gender) for m in mentions]
    mention_numbers = _MentionNumbers(*np.array(numbers, np.int64).reshape(-1, 5)[of_pair].T)
    pair_states = PairStates(states, after[:, latest], of_pair)
    for row, feature in rows:
        if feature.elementwise:
            row[:] = feature.classify(mention_numbers, pair_states)
    return classes


def pair_priors(classes: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    """Return what the features' priors add to each pair's score, (pairs,), from ``classes_of_pairs``."""
    total = np.zeros(classes.shape[1], np.float32)
    for row, feature in zip(classes, REGISTRY.values(), strict=True):
        if feature.prior is not None:
            total += feature.prior[row]
    return total
