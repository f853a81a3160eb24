"""The mention–entity pairs of a document under teacher forcing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Pairs:
    """Every mention with every entity founded before it, mention by mention, entities in order of foundation."""

    mention: np.ndarray  # (P,) number of the mention
    entity: np.ndarray  # (P,) number of the entity
    state: np.ndarray  # (P,) the entity's state: its latest mention before this one


def pairs_of(entity_of: np.ndarray, founded: int = 0) -> Pairs:
    """All pairs of a document from the entity number of each mention, numbered in order of foundation.

    When a document is read in parts, ``founded`` entities exist before this one: their states come first.
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
