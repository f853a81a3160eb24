"""Blocks that are read alone have the same vectors whatever is read with them, and those of training."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.model.encoders import Floats, Ints, StatelessEncoder
from incoref.model.folder import word_means
from incoref.model.subwords import joined
from incoref.model.windows import WindowSizes
from tiny_models import SIZES, TinyModels, document, random_utterances

STATELESS = WindowSizes(SIZES.size, SIZES.tail, cache=False)


@pytest.fixture(scope="module", params=["fp32", "int8"])
def encoder(tiny: TinyModels, request: pytest.FixtureRequest) -> StatelessEncoder:
    found = tiny.stateless[request.param].encoder
    assert isinstance(found, StatelessEncoder)
    return found


def random_blocks(seed: int, lengths: list[int]) -> list[Ints]:
    draw = np.random.default_rng(seed)
    return [draw.integers(4, 60, length) for length in lengths]


def by_itself(encoder: StatelessEncoder, block: Ints) -> Floats:
    return encoder.encode(block, encoder.start())[0]


@pytest.mark.learning
@pytest.mark.parametrize("k", [1, 3])
def test_vectors_are_those_of_training(tiny: TinyModels, k: int) -> None:
    import torch

    from incoref.learning.data.examples import tokenise

    utterances = random_utterances(40, seed=k)
    model = tiny.stateless["fp32"]
    reading = tokenise(document(utterances), model.tokenizer, STATELESS, k)
    with torch.inference_mode():
        expected = tiny.stateless_torch.word_vectors(reading).numpy()
    rows = []
    for block in model.blocks(utterances, k):
        subwords = joined([part for _, part in block])
        rows.append(word_means(model.encoder.encode(subwords.ids, model.encoder.start())[0], subwords))
    np.testing.assert_allclose(np.concatenate(rows), expected, atol=1e-4)


def test_int8_is_close(tiny: TinyModels) -> None:
    for block in random_blocks(1, [1, 5, 12, 30]):
        exact, rounded = (
            model.encoder.encode(block, model.encoder.start())[0]
            for model in (tiny.stateless["fp32"], tiny.stateless["int8"])
        )
        assert np.abs(exact - rounded).mean() < 0.1 * np.abs(exact).mean()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=9), st.integers(0, 1000))
def test_the_same_bits_in_any_company(encoder: StatelessEncoder, lengths: list[int], seed: int) -> None:
    blocks = random_blocks(seed, lengths)
    for block, found in zip(blocks, encoder.vectors(blocks), strict=True):
        np.testing.assert_array_equal(found, by_itself(encoder, block))


def test_the_same_bits_for_threads_that_read_at_once(encoder: StatelessEncoder) -> None:
    blocks = random_blocks(7, [n % 33 + 1 for n in range(300)])
    expected = [by_itself(encoder, block) for block in blocks]
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda block: by_itself(encoder, block), blocks))
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_block_does_not_depend_on_what_came_before(tiny: TinyModels) -> None:
    model = tiny.stateless["fp32"]
    first, second = random_blocks(3, [9, 12])
    _, state = model.encoder.encode(first, model.encoder.start())
    np.testing.assert_array_equal(
        model.encoder.encode(second, state)[0], model.encoder.encode(second, model.encoder.start())[0]
    )
    assert state.nbytes == 0


def test_a_block_that_fits_no_window_is_refused(encoder: StatelessEncoder) -> None:
    with pytest.raises(ValueError, match="at most 33 fit"):
        by_itself(encoder, np.arange(1, 36))
