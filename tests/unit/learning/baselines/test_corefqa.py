"""CorefQA's fast way against its definition, one question and one answer at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from incoref.learning.baselines.config import CorefQAConfig
from incoref.learning.baselines.corefqa import CorefQA
from incoref.learning.baselines.corefqa_definition import resolve
from incoref.learning.baselines.pieces import Pieces, Window, encode
from incoref.learning.nets.encoder import BlockCausalEncoder, EncoderSizes

START, SEPARATOR = 1, 2


def system(seed: int, **settings: object) -> tuple[CorefQA, BlockCausalEncoder]:
    torch.manual_seed(seed)
    encoder = BlockCausalEncoder(EncoderSizes(20, width=8, layers=1, heads=2, inner=8, positions=64)).double().eval()
    config = CorefQAConfig.model_validate({"hidden": 9, "context": 24, "ratio": 0.4, "widest": 4, **settings})
    made = CorefQA(config, 8, (START, SEPARATOR)).double().eval()
    with torch.no_grad():
        for parameter in [*encoder.parameters(), *made.parameters()]:
            parameter.normal_(std=0.6)
        made.mention_score.output.bias += 8  # else hardly anything links
    return made, encoder


def document(lengths: list[int], seed: int) -> Pieces:
    chance = np.random.default_rng(seed)
    ids = [int(id) for id in chance.integers(3, 20, sum(lengths))]
    sentence = tuple(n for n, length in enumerate(lengths) for _ in range(length))
    zeros = (0,) * len(ids)
    windows = (Window((START, *ids, SEPARATOR), 1, len(ids) + 1),)
    clusters = (((0, 0), (len(ids) - 1, len(ids) - 1)),)
    return Pieces(windows, sentence, zeros, zeros, tuple(range(len(ids))), clusters=clusters)


@given(st.lists(st.integers(2, 9), min_size=1, max_size=4), st.integers(0, 1000), st.sampled_from([1, 3, 50]))
def test_the_fast_way_finds_what_the_definition_finds(lengths: list[int], seed: int, answers: int) -> None:
    made, encoder = system(seed, answers=answers)
    text = document(lengths, seed)
    with torch.inference_mode():
        fast = made.predict(lambda windows: encode(encoder, windows), text)
        plain = resolve(made, lambda windows: encode(encoder, windows), text)
    assert fast.clusters == plain


def test_some_of_these_link() -> None:
    made, encoder = system(3)
    with torch.inference_mode():
        assert made.predict(lambda windows: encode(encoder, windows), document([9, 9, 9], 3)).clusters


def test_a_question_is_the_sentence_with_its_mention_marked() -> None:
    made, _ = system(1)
    text = document([4, 5], 1)
    ids = text.ids
    marked = [START, ids[4], SEPARATOR, *ids[5:7], SEPARATOR, *ids[7:9], SEPARATOR]
    assert made.question(text, (5, 6)) == marked
    windows = made.windows(text, (5, 6))
    passages = [window.ids[window.used_from : window.used_to] for window in windows]
    assert [id for passage in passages for id in passage] == list(ids)
    assert all(len(window.ids) <= made.config.context for window in windows)


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_has_gradients_for_everything(seed: int) -> None:
    made, encoder = system(seed, questions=6)
    for terms in made.training_losses(
        lambda windows: encode(encoder, windows), document([6, 7, 8], seed), np.random.default_rng(seed)
    ):
        torch.stack(list(terms.values())).sum().backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all()
