"""Classes of the paper model's features: which row of its embedding table a width, a speaker, a count takes.

Every function takes one value or an array of them.
"""

from __future__ import annotations

import numpy as np

from incoref.learning.data.derivation import EMPTY, Ints
from incoref.learning.paper.config import PaperConfig

LINKED, NEW, START = 0, 1, 2
"""The clustering action before: a mention joined an entity, founded one, or there was none."""


def stack_width_class(width: Ints | int, token: Ints | int, config: PaperConfig) -> Ints:
    """From the top of the stack to ``token`` of the document; a width of EMPTY is the empty stack.

    The reference has a class for the empty stack, and takes a top at the document's first token for empty too.
    """
    width = np.asarray(width)
    capped = np.minimum(np.maximum(width, 0), config.max_width - 1)
    if not config.reference:
        return capped
    return np.where((width == EMPTY) | (width == token), config.max_width, capped)


def span_width_class(width: Ints | int, config: PaperConfig) -> Ints:
    """Last token - first token."""
    return np.minimum(width, config.max_width - 1)


def speaker_class(speaker: Ints | int, config: PaperConfig) -> Ints:
    """Speakers in order of appearance; the reference gives the first class to ``<cls>`` and ``<sep>``."""
    first = 1 if config.reference else 2
    return np.minimum(np.maximum(np.subtract(speaker, first), 0), config.max_speakers - 1)


def count_class(mentions: Ints | int, config: PaperConfig) -> Ints:
    """Mentions of an entity; the reference leaves the class of 0 unused."""
    return _from_one(mentions, config.max_count, config)


def distance_class(mentions: Ints | int, config: PaperConfig) -> Ints:
    """Mentions since an entity's last one, 1 for the very next."""
    return _from_one(mentions, config.max_distance, config)


def _from_one(value: Ints | int, classes: int, config: PaperConfig) -> Ints:
    return np.minimum(value, classes - 1) if config.reference else np.minimum(value, classes) - 1
