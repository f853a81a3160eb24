"""Feature classes of the paper's model: the embedding row for a width, speaker, count or distance.

Every function accepts a single value or an array.
"""

from __future__ import annotations

import numpy as np

from incoref.learning.data.derivation import EMPTY, Ints
from incoref.learning.paper.config import PaperConfig

LINKED, NEW, START = 0, 1, 2
"""The previous clustering action: a mention joined an entity, started one, or there was none."""


def stack_width_class(width: Ints | int, token: Ints | int, config: PaperConfig) -> Ints:
    """Class of the distance from the top of the stack to ``token``; EMPTY means an empty stack.

    Reference mode has a class for the empty stack, and also uses it if the top is the document's first token.
    """
    width = np.asarray(width)
    capped = np.minimum(np.maximum(width, 0), config.max_width - 1)
    if not config.reference:
        return capped
    return np.where((width == EMPTY) | (width == token), config.max_width, capped)


def span_width_class(width: Ints | int, config: PaperConfig) -> Ints:
    """Class of a span's width, given as last token - first token."""
    return np.minimum(width, config.max_width - 1)


def speaker_class(speaker: Ints | int, config: PaperConfig) -> Ints:
    """Class of a speaker number; in reference mode, the first class belongs to ``<cls>`` and ``<sep>``."""
    first = 1 if config.reference else 2
    return np.minimum(np.maximum(np.subtract(speaker, first), 0), config.max_speakers - 1)


def count_class(mentions: Ints | int, config: PaperConfig) -> Ints:
    """Class of an entity's mention count; reference mode leaves class 0 unused."""
    return _from_one(mentions, config.max_count, config)


def distance_class(mentions: Ints | int, config: PaperConfig) -> Ints:
    """Class of the distance in mentions since an entity's last one; 1 for the next mention."""
    return _from_one(mentions, config.max_distance, config)


def _from_one(value: Ints | int, classes: int, config: PaperConfig) -> Ints:
    return np.minimum(value, classes - 1) if config.reference else np.minimum(value, classes) - 1
