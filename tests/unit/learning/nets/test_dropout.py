"""Dropout drops its share, keeps the mean, and draws from torch's own generator."""

from __future__ import annotations

import pytest
import torch

from incoref.learning.nets.layers import Dropout


@pytest.mark.parametrize("share", [0.1, 0.3, 0.9])
def test_drops_its_share_and_keeps_the_mean(share: float) -> None:
    torch.manual_seed(1)
    found = Dropout(share)(torch.ones(1000, 1001))
    assert (found == 0).float().mean().item() == pytest.approx(share, abs=0.002)
    assert found.mean().item() == pytest.approx(1, abs=0.01)
    assert found.max().item() == pytest.approx(1 / (1 - share), rel=1e-3)


def test_every_place_is_dropped_now_and_then() -> None:
    torch.manual_seed(1)
    values = torch.ones(7)
    found = torch.stack([Dropout(0.5)(values) for _ in range(400)])
    assert ((found == 0).float().mean(dim=0) - 0.5).abs().max().item() < 0.12


def test_gradients_flow_through_what_is_kept() -> None:
    values = torch.ones(50, 3, requires_grad=True)
    found = Dropout(0.4)(values)
    found.sum().backward()
    assert torch.equal(values.grad, found.detach())


def test_the_same_seed_drops_the_same() -> None:
    dropout, values = Dropout(0.3), torch.randn(40, 9)
    found = []
    for _ in range(2):
        torch.manual_seed(5)
        found.append(dropout(values))
    assert torch.equal(*found)


def test_nothing_is_dropped_outside_training() -> None:
    values = torch.randn(40, 9)
    assert torch.equal(Dropout(0.3).eval()(values), values)
    assert torch.equal(Dropout(0.0)(values), values)
