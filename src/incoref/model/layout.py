"""The layout of the heads' weights, on which training and run time must agree.

Both sides import it from here. A model folder stores it with the heads' weights and is rejected on a mismatch, so a
swapped order is an error rather than a model that is silently worse. Independent of PyTorch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incoref.model.features import REGISTRY
from incoref.model.transitions import Action

TEXT_FEATURES = ("genre", "scheme")
"""Per-text features: inputs to both the detector and the clusterer."""

DETECTOR_PARTS = ("token", "stack", "history", "features")
"""Inputs to the detector's hidden layer, in order."""
DETECTOR_FEATURES = (*TEXT_FEATURES, "width")

SPAN_PARTS = ("first", "last", "mean", "width")
"""Parts of a span vector before projection: first and last word, attention-weighted mean, and width embedding."""
PAIR_PARTS = ("mention", "entity", "product", "features")
"""Inputs to the clusterer's hidden layer, in order; features are those of the pair, then the per-text ones."""

WIDEST = 29
"""The largest width class. A span's class is its last token minus its first; wider spans share the largest class."""
SPAN_WIDTHS = WIDEST + 1
EMPTY_STACK = SPAN_WIDTHS
"""The class of the detector's width feature when the stack is empty."""
STACK_WIDTHS = SPAN_WIDTHS + 1


def head_layout(pair_features: Sequence[str]) -> dict[str, Any]:
    """The layout of heads with these pair features, as JSON."""
    return {
        "actions": [action.name for action in Action],
        "detector": list(DETECTOR_PARTS),
        "detector_features": list(DETECTOR_FEATURES),
        "span": list(SPAN_PARTS),
        "span_widths": SPAN_WIDTHS,
        "pair": list(PAIR_PARTS),
        "text_features": list(TEXT_FEATURES),
        "pair_features": [[name, list(REGISTRY[name].classes)] for name in pair_features],
    }


def pair_features_of(layout: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the pair features of heads with this layout; ValueError if this version would misread their weights."""
    features = dict(layout["pair_features"])
    unknown = [name for name in features if name not in REGISTRY]
    if unknown:
        raise ValueError(
            f"the model has the pair feature '{unknown[0]}', which is not registered; known are {', '.join(REGISTRY)}"
        )
    expected = head_layout(tuple(features))
    for part, value in expected.items():
        if part != "pair_features" and layout.get(part) != value:
            raise ValueError(f"the model has {part} = {layout.get(part)}, this version needs {value}")
    for name, classes in expected["pair_features"]:
        if features[name] != classes:
            raise ValueError(
                f"pair feature '{name}': the model has the classes {', '.join(features[name])}; "
                f"this version needs {', '.join(classes)}"
            )
    return tuple(features)
