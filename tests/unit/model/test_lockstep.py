"""Many chunks at once are decoded as they are one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.model.detector import decode
from incoref.model.lockstep import decode_all
from tiny_models import TinyModels


@settings(max_examples=25)
@given(lengths=st.lists(st.integers(0, 24), max_size=60), seed=st.integers(0, 1000), temperature=st.floats(0.5, 2))
def test_the_same_bits_as_one_by_one(tiny: TinyModels, lengths: list[int], seed: int, temperature: float) -> None:
    scorer, classes = tiny.model.heads.actions, tiny.model.classes()
    draw = np.random.default_rng(seed)
    chunks = [3 * draw.standard_normal((length, 32), np.float32) for length in lengths]
    alone = [decode(scorer.begin(chunk, classes), len(chunk), temperature) for chunk in chunks]
    assert decode_all(scorer, chunks, classes, temperature) == alone


@pytest.mark.slow
def test_the_same_bits_in_the_sizes_of_the_shipped_model() -> None:
    from incoref.model.folder import Model

    model = Model.load()
    scorer, classes = model.heads.actions, model.classes()
    draw = np.random.default_rng(7)
    width = len(model.heads.clusters.attention)
    chunks = [draw.standard_normal((length, width), np.float32) for length in draw.integers(1, 40, 50)]
    alone = [decode(scorer.begin(chunk, classes), len(chunk)) for chunk in chunks]
    assert any(step.mention for steps in alone for step in steps)
    assert decode_all(scorer, chunks, classes) == alone
