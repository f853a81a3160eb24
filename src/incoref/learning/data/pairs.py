"""The mention–entity pairs of a document under teacher forcing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Pairs:
    """Every mention with every entity created before it, ordered by mention, then by creation of the entity."""

    mention: np.ndarray  # (P,) index of the mention
    entity: np.ndarray  # (P,) number of the entity
    state: np.ndarray  # (P,) the entity's state: its latest mention before this one


def pairs_of(entity_of: np.ndarray, founded: int = 0) -> Pairs:
    """Return all pairs of a document, given the entity of each mention, numbered in order of creation.

    When a document is read in parts, ``founded`` entities exist before this part: their states come first.
    """
    newest = np.maximum.accumulate(np.concatenate([[founded - 1], entity_of]))
    before = newest[:-1] + 1  # entities before each mention
    ends = np.cumsum(before)
    starts = ends - before
    states = np.zeros(before.sum(), np.int64)
    latest = np.arange(newest[-1] + 1)  # the latest state of each entity
    for mention, (entity, start, end) in enumerate(zip(entity_of.tolist(), starts, ends, strict=True)):
        states[start:end] = latest[: end - start]
        latest[entity] = founded + mention
    mentions = np.repeat(np.arange(len(entity_of)), before)
    return Pairs(mentions, np.arange(len(states)) - starts[mentions], states)
