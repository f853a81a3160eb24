"""The encoder's state is a value, bounded and shared without harm."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from incoref.errors import IncorefError
from incoref.model.encoders import Encoder, EncoderState, Floats, Ints, load_encoder
from incoref.model.subwords import joined
from tiny_models import SIZES, TinyModels, random_utterances


@pytest.fixture(scope="module")
def encoder(tiny: TinyModels) -> Encoder:
    return tiny.model.encoder


@pytest.fixture(scope="module")
def blocks(tiny: TinyModels) -> list[Ints]:
    """More than a window holds."""
    found = tiny.model.blocks(random_utterances(40))
    return [joined([part for _, part in block]).ids for block in found]


def read_all(encoder: Encoder, blocks: list[Ints], state: EncoderState | None = None) -> list[Floats]:
    state = encoder.start() if state is None else state
    found = []
    for block in blocks:
        vectors, state = encoder.encode(block, state)
        found.append(vectors)
    return found


def assert_same(found: list[Floats], expected: list[Floats]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_vectors_have_a_row_for_every_subword(encoder: Encoder, blocks: list[Ints]) -> None:
    for vectors, block in zip(read_all(encoder, blocks), blocks, strict=True):
        assert vectors.shape == (len(block), 32)
        assert vectors.dtype == np.float32


def test_going_on_from_an_old_state_is_as_if_nothing_else_had_happened(encoder: Encoder, blocks: list[Ints]) -> None:
    expected = read_all(encoder, blocks)
    other = np.arange(6, 12)
    state = encoder.start()
    for number, block in enumerate(blocks):
        branch = state
        for _ in range(3):  # others go on from here first, in the same memory
            _, branch = encoder.encode(other, branch)
        vectors, state = encoder.encode(block, state)
        np.testing.assert_allclose(vectors, expected[number], atol=1e-5)


def test_both_branches_go_on_from_where_they_part(encoder: Encoder, blocks: list[Ints]) -> None:
    for parting in (1, 3, 8, 13):
        state = encoder.start()
        for block in blocks[:parting]:
            _, state = encoder.encode(block, state)
        left, right = blocks[parting:], list(reversed(blocks[parting:]))
        states = [state, state]
        found: list[list[Floats]] = [[], []]
        for pair in zip(left, right, strict=True):  # in turns
            for side, block in enumerate(pair):
                vectors, states[side] = encoder.encode(block, states[side])
                found[side].append(vectors)
        assert_same(found[0], read_all(encoder, blocks[:parting] + left)[parting:])
        assert_same(found[1], read_all(encoder, blocks[:parting] + right)[parting:])


def test_a_rebuilt_state_goes_on_like_the_one_it_stands_for(encoder: Encoder, blocks: list[Ints]) -> None:
    state = encoder.start()
    for number, block in enumerate(blocks):
        again = encoder.rebuilt(state.blocks, state.opened)
        assert again.used == state.used
        vectors, after = encoder.encode(block, state)
        np.testing.assert_allclose(encoder.encode(block, again)[0], vectors, atol=1e-5, err_msg=str(number))
        state = after


def test_threads_share_an_encoder(encoder: Encoder, blocks: list[Ints]) -> None:
    expected = read_all(encoder, blocks)
    common = encoder.start()
    for block in blocks[:2]:
        _, common = encoder.encode(block, common)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: read_all(encoder, blocks[2:], common), range(24)))
    for each in found:
        assert_same(each, expected[2:])


def test_the_state_is_bounded(encoder: Encoder, blocks: list[Ints]) -> None:
    state = encoder.start()
    for block in blocks * 10:
        _, state = encoder.encode(block, state)
        assert sum(map(len, state.blocks)) < SIZES.size
        assert state.used <= SIZES.size
        assert state.nbytes <= 2 * 2 * 128 * 32 * 4 + SIZES.size * 8  # keys and values of 128 places, and the ids


def test_a_block_that_fits_no_window_is_refused(encoder: Encoder) -> None:
    with pytest.raises(ValueError, match="at most 33 fit"):
        encoder.encode(np.arange(1, 36), encoder.start())


def test_what_is_no_encoder_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "encoder.onnx"
    broken.write_bytes(b"not a graph")
    with pytest.raises(IncorefError, match=r"encoder\.onnx: ONNX Runtime can't load this encoder"):
        load_encoder(broken, "kv_cache", SIZES, 2)


def test_memory_that_another_text_used_changes_nothing(tiny: TinyModels, blocks: list[Ints]) -> None:
    used = load_encoder(tiny.fp32 / "encoder.onnx", "kv_cache", SIZES, tiny.tokenizer.start)
    first = read_all(used, blocks)
    read_all(used, blocks[::-1])  # windows of every size, given back
    for vectors, again in zip(first, read_all(used, blocks), strict=True):
        np.testing.assert_array_equal(again, vectors)
