"""XLNet's recurrence: in one pass for training, with cached keys and values for inference, as transformers has it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from transformers import XLNetModel

from incoref.errors import IncorefError
from incoref.learning.paper import xlnet
from incoref.learning.paper.definition import Recurrence
from incoref.learning.paper.xlnet import Memory, encode, load_xlnet, new_xlnet
from incoref.learning.paper.xlnet_cache import CachedReader, CachedXLNet
from paper_models import VOCABULARY, XLNET

PIECES = st.lists(st.tuples(st.integers(1, 7), st.integers(0, 12)), min_size=1, max_size=6)
"""Length of each piece and the cache before it."""


@pytest.fixture(scope="module")
def model() -> XLNetModel:
    torch.manual_seed(1)
    model = new_xlnet(XLNET).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model.double()


def tokens(pieces: list[tuple[int, int]]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(len(pieces))
    return [torch.randint(VOCABULARY, (length,), generator=generator) for length, _ in pieces]


def gradients(model: XLNetModel, vectors: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    weights = torch.arange(vectors.numel(), dtype=vectors.dtype).cos().view_as(vectors)
    (vectors * weights).sum().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@settings(max_examples=20)
@given(PIECES, st.integers(1, 6), st.sampled_from([None, 1, 10, 1000]))
def test_one_pass_equals_the_recurrence_in_values_and_gradients(
    model: XLNetModel, pieces: list[tuple[int, int]], together: int, recomputed_at_once: int | None
) -> None:
    recompute = recomputed_at_once is not None
    recurrence, ids = Recurrence(model), tokens(pieces)
    expected = torch.cat([recurrence.encode(some, cache) for some, (_, cache) in zip(ids, pieces, strict=True)])
    wanted = gradients(model, expected)
    memory: Memory | None = None
    found, cached = [], 0
    for start in range(0, len(pieces), together):
        lengths, seen = [], []
        for length, cache in pieces[start : start + together]:
            seen.append(min(cache, cached))
            lengths.append(length)
            cached = seen[-1] + length
        some = torch.cat(ids[start : start + together])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(xlnet, "_RECOMPUTED_AT_ONCE", recomputed_at_once)
            vectors, memory = encode(model, some, lengths, seen, memory, recompute)
        assert len(memory[0]) == cached
        found.append(vectors)
    torch.testing.assert_close(torch.cat(found), expected)
    torch.testing.assert_close(gradients(model, torch.cat(found)), wanted)


@settings(max_examples=15)
@given(PIECES)
def test_cached_keys_and_values_equal_the_recurrence(model: XLNetModel, pieces: list[tuple[int, int]]) -> None:
    plain, cached = Recurrence(model), CachedReader(model)
    with torch.no_grad():
        for ids, (_, cache) in zip(tokens(pieces), pieces, strict=True):
            torch.testing.assert_close(cached.encode(ids, cache), plain.encode(ids, cache))


def test_single_precision_equals_the_recurrence_to_a_ten_thousandth() -> None:
    torch.manual_seed(2)
    model = new_xlnet(XLNET).eval()
    plain, cached = Recurrence(model), CachedReader(model)
    with torch.no_grad():
        for length in (30, 5, 60, 1, 22):
            ids = torch.randint(VOCABULARY, (length,))
            torch.testing.assert_close(cached.encode(ids, 48), plain.encode(ids, 48), atol=1e-4, rtol=0)


def test_a_cache_can_be_continued_twice(model: XLNetModel) -> None:
    encoder = CachedXLNet(model)
    start, left, right = torch.arange(6), torch.arange(6, 10), torch.arange(10, 13)
    _, cache = encoder.encode(start, encoder.empty_cache())
    first, grown = encoder.encode(left, cache)
    other, _ = encoder.encode(right, cache)
    again, _ = encoder.encode(left, cache)
    torch.testing.assert_close(again, first)
    assert (len(cache), len(grown), len(grown.last(3))) == (6, 10, 3)
    fresh = CachedXLNet(model)
    _, alone = fresh.encode(start, fresh.empty_cache())
    torch.testing.assert_close(fresh.encode(right, alone)[0], other)


def test_pretrained_weights_load_from_a_folder(tmp_path: Path) -> None:
    saved = new_xlnet(XLNET)
    saved.save_pretrained(tmp_path)
    loaded = load_xlnet(str(tmp_path))
    torch.testing.assert_close(dict(loaded.named_parameters()), dict(saved.named_parameters()))


def test_a_name_that_is_not_cached_says_where_to_put_the_files() -> None:
    with pytest.raises(IncorefError, match=r"no-such/encoder.*config\.json and model\.safetensors"):
        load_xlnet("no-such/encoder")


def test_a_folder_without_a_configuration_is_named(tmp_path: Path) -> None:
    with pytest.raises(IncorefError, match=r"config\.json"):
        load_xlnet(str(tmp_path))


def test_an_encoder_set_up_for_pretraining_is_refused() -> None:
    with pytest.raises(IncorefError, match="attn_type"):
        new_xlnet({**XLNET, "attn_type": "uni"})
