"""Rounding of weights to int8: close to the weights, closer still for the inputs it is made for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.learning.onnx_graph import encoder_graph
from incoref.learning.preparation import read
from incoref.learning.quantisation import (
    SEVEN_BITS,
    Floats,
    Inputs,
    Rounded,
    inputs_of,
    plainly_rounded,
    rounded_for,
)
from incoref.subwords import SubwordTokenizer
from tiny_models import SIZES, random_document, random_model, tokenizer


def restored(found: Rounded) -> Floats:
    weight = found.integers * found.scale
    return np.asarray(weight if found.divisor is None else weight / found.divisor[:, None])


def seen(rows: Floats) -> Inputs:
    return Inputs(np.abs(rows).max(axis=0), (rows.T @ rows).astype(np.float64))


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 12))
def test_plain_rounding_is_off_by_half_a_step_at_most(seed: int, rows: int, columns: int) -> None:
    weight = np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)
    weight[:, 0] = 0
    found = plainly_rounded(weight)
    assert np.abs(found.integers).max() <= SEVEN_BITS
    assert (np.abs(restored(found) - weight) <= found.scale / 2 + 1e-6).all()


@pytest.mark.parametrize("size", [24, 300])  # within one block of rows, and over several
def test_outputs_change_less_when_inputs_are_known(size: int) -> None:
    draw = np.random.default_rng(size)
    rows = (draw.normal(size=(900, size // 4)) @ draw.normal(size=(size // 4, size))).astype(np.float32)
    weight = draw.normal(size=(size, 30)).astype(np.float32)
    plain, close = plainly_rounded(weight), rounded_for(weight, seen(rows))
    error = {name: np.abs(rows @ (restored(r) - weight)).mean() for name, r in (("plain", plain), ("close", close))}
    assert error["close"] < 0.6 * error["plain"]
    assert np.abs(close.integers).max() <= SEVEN_BITS


def test_inputs_that_are_large_in_one_place_are_evened_out() -> None:
    draw = np.random.default_rng(1)
    rows = draw.normal(size=(500, 16)).astype(np.float32)
    rows[:, 3] *= 100
    found = rounded_for(draw.normal(size=(16, 8)).astype(np.float32), seen(rows))
    assert found.divisor is not None
    high = np.abs(rows / found.divisor).max(axis=0)
    assert high[3] / np.median(high) < 0.1 * np.abs(rows[:, 3]).max() / np.median(np.abs(rows).max(axis=0))


def test_a_place_that_is_never_used_does_no_harm() -> None:
    rows = np.random.default_rng(2).normal(size=(50, 6)).astype(np.float32)
    rows[:, 2] = 0
    found = rounded_for(np.eye(6, 4, dtype=np.float32), seen(rows))
    assert np.isfinite(restored(found)).all()
    assert rows @ restored(found) == pytest.approx(rows @ np.eye(6, 4), abs=0.1)


def test_every_product_of_the_encoder_is_watched() -> None:
    model = random_model()
    reading = read(random_document(6), SubwordTokenizer(tokenizer()), SIZES)
    inputs = inputs_of(model.encoder, [lambda: model.word_vectors(reading)])
    products = {
        node.name for node in encoder_graph(model.encoder, True).graph.node if node.op_type == "DynamicQuantizeMatMul"
    }
    assert inputs.keys() == products
    evened = encoder_graph(model.encoder, True, inputs).graph.node
    assert {f"{name}.evened" for name in products} <= {node.name for node in evened}
