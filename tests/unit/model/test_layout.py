"""The layout of the heads' weights: checked when a model is loaded, and free in the order of pair features."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from incoref import Resolver
from incoref.errors import IncorefError
from incoref.model.folder import Model, read_heads
from incoref.model.layout import TEXT_FEATURES
from tiny_models import TinyModels, random_document


def copied(tiny: TinyModels, to: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Path:
    """A copy of a model folder whose heads' weights and layout are changed."""
    shutil.copytree(tiny.fp32, to)
    weights, layout = read_heads(to / "head.safetensors")
    change(weights, layout)
    save_file(weights, to / "head.safetensors", {"layout": json.dumps(layout)})
    return to


def swap(part: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(weights: dict[str, Any], layout: dict[str, Any]) -> None:
        layout[part][0], layout[part][1] = layout[part][1], layout[part][0]

    return change


@pytest.mark.parametrize("part", ["actions", "detector", "detector_features", "span", "pair", "text_features"])
def test_a_swapped_order_is_refused(tiny: TinyModels, tmp_path: Path, part: str) -> None:
    with pytest.raises(IncorefError, match=rf"head.safetensors: .*the model has {part} = "):
        Model.load(copied(tiny, tmp_path / "model", swap(part)))


def test_other_classes_of_a_feature_are_refused(tiny: TinyModels, tmp_path: Path) -> None:
    def change(weights: dict[str, Any], layout: dict[str, Any]) -> None:
        classes = dict(layout["pair_features"])["match"]
        classes[1], classes[2] = classes[2], classes[1]

    with pytest.raises(IncorefError, match="pair feature 'match': the model has the classes NONE, SAME_HEAD"):
        Model.load(copied(tiny, tmp_path / "model", change))


def test_an_unknown_feature_is_refused(tiny: TinyModels, tmp_path: Path) -> None:
    def change(weights: dict[str, Any], layout: dict[str, Any]) -> None:
        layout["pair_features"][0][0] = "shoe_size"

    with pytest.raises(IncorefError, match="the pair feature 'shoe_size', which is not registered; known are count"):
        Model.load(copied(tiny, tmp_path / "model", change))


def test_pair_features_come_in_any_order(tiny: TinyModels, tmp_path: Path) -> None:
    def reverse(weights: dict[str, Any], layout: dict[str, Any]) -> None:
        count, size = len(layout["pair_features"]), weights["clusterer.pair_features.tables.match.weight"].shape[1]
        text = size * len(TEXT_FEATURES)
        hidden = weights["clusterer.hidden.linear.weight"]
        start, end = hidden.shape[1] - text - size * count, hidden.shape[1] - text
        blocks = np.split(hidden[:, start:end], count, axis=1)
        weights["clusterer.hidden.linear.weight"] = np.concatenate(
            [hidden[:, :start], *reversed(blocks), hidden[:, end:]], axis=1
        )
        layout["pair_features"].reverse()

    turned = Model.load(copied(tiny, tmp_path / "model", reverse))
    text = random_document(20, seed=4)
    assert turned.heads.clusters.features[0] == "narrated"
    found, expected = (
        [[m.tokens for m in entity.mentions] for entity in Resolver(model).resolve(text, singletons=True).entities]
        for model in (turned, tiny.model)
    )
    assert found == expected
    assert len(expected) > 1
