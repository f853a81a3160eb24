"""Losses and gradients are computed where the model is: shown on a device without data, so that no GPU is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from incoref.learning.data.examples import Example, annotate, tokenise
from incoref.learning.paper.config import Mode, Setting
from incoref.learning.paper.model import Limits
from paper_models import random_document as paper_document
from paper_models import tiny_config, tiny_model
from tiny_models import SIZES, TinyModels, random_document
from tiny_networks import random_model


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of two devices, but for copies between them; a GPU would do the same."""

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor) and leaf.dim()]
        devices = {tensor.device.type for tensor in tensors}
        assert len(devices) < 2 or "copy" in str(func), f"{func} on {devices}"
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("recompute", [False, True])
def test_the_default_model(tiny: TinyModels, recompute: bool) -> None:
    text = random_document(9)
    reading = tokenise(text, tiny.tokenizer, SIZES)
    example = Example("text", None, reading, (annotate(text, reading, "ontonotes", {"person": 0}),))
    model = random_model().train().to("meta")
    model.recompute = recompute
    with OneDevice():
        found = model.losses(example, 0, torch.ones(4, device="meta"))
        (found.mentions + found.links + found.types).backward()
    assert all(parameter.grad.device.type == "meta" for parameter in model.parameters() if parameter.grad is not None)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("setting", Setting)
def test_the_papers_model(mode: Mode, setting: Setting) -> None:
    config = tiny_config(mode, setting, window=30, backprop_sentences=2, k=2)
    model = tiny_model(config).train().to("meta")
    document = paper_document(3, config, 7)
    with OneDevice():
        for loss in model.losses(document, Limits(recompute_above=10, clusterer_bytes=1 << 12)):
            loss.total.backward()
    assert all(parameter.grad.device.type == "meta" for parameter in model.parameters() if parameter.grad is not None)
