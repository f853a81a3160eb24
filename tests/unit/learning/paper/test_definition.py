"""The vectorised loss against the step-by-step definition, and what the definition itself promises."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from incoref.learning.paper.batches import paper_batches
from incoref.learning.paper.config import Mode, PaperConfig, Setting, inverse_frequency
from incoref.learning.paper.definition import run
from incoref.learning.paper.document import PaperDocument, with_gold
from incoref.learning.paper.model import Limits, PaperModel
from incoref.learning.paper.xlnet_cache import CachedReader
from incoref.model.transitions import Action, replay
from paper_models import random_document, tiny_config, tiny_model

CONFIGS = {
    (mode, setting): tiny_config(mode, setting, **fields)
    for mode in Mode
    for setting, fields in (
        (Setting.SENT_INC, {"cache": 9, "window": 24, "backprop_sentences": 3}),
        (Setting.K_SENTENCE, {"k": 2, "window": 24, "backprop_sentences": 5}),
        (Setting.PART_INC, {"window": 20}),
    )
}
EVERY = pytest.mark.parametrize("config", CONFIGS.values(), ids=["-".join(key) for key in CONFIGS])


def gradients(model: PaperModel) -> dict[str, Tensor]:
    """Of all parameters; one that takes no part has a gradient of 0."""
    return {name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}


def stepwise(model: PaperModel, document: PaperDocument) -> tuple[Tensor, dict[str, Tensor]]:
    model.zero_grad()
    losses = torch.stack(
        [torch.stack([loss.detection, loss.clustering]) for loss in run(model, document, gold=True).losses]
    )
    losses.sum().backward()
    return losses.detach(), gradients(model)


def vectorised(model: PaperModel, document: PaperDocument, limits: Limits) -> tuple[Tensor, dict[str, Tensor]]:
    model.zero_grad()
    losses = []
    for loss in model.losses(document, limits):
        loss.total.backward()
        losses.append(torch.stack([loss.detection, loss.clustering]).detach())
    return torch.stack(losses), gradients(model)


@EVERY
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6), sentences=st.integers(1, 7))
def test_the_vectorised_loss_is_that_of_the_definition_in_values_and_gradients(
    config: PaperConfig, seed: int, sentences: int
) -> None:
    model = tiny_model(config, seed).double()
    document = random_document(seed, config, sentences)
    losses, wanted = stepwise(model, document)
    for limits in (Limits(), Limits(recompute_above=0, clusterer_bytes=4000)):
        found, computed = vectorised(model, document, limits)
        torch.testing.assert_close(found, losses)
        torch.testing.assert_close(computed, wanted)


@EVERY
def test_free_running_gives_a_legal_derivation_and_all_its_mentions(config: PaperConfig) -> None:
    document = random_document(5, config, 7)
    with torch.no_grad():
        found = run(tiny_model(config), document, gold=False)
    assert sum(action is Action.ADVANCE for action in found.actions) == sum(document.buffer_lengths)
    mentions = [span for spans in found.clusters for span in spans]
    assert len(set(mentions)) == len(mentions) == len(found.choices)
    assert sorted(mentions) == sorted(replay(found.actions, sum(document.buffer_lengths)))


@EVERY
def test_free_running_with_cached_keys_and_values_makes_the_same_choices(config: PaperConfig) -> None:
    document, model = random_document(6, config, 7), tiny_model(config).double()
    with torch.no_grad():
        plain = run(model, document, gold=False)
        cached = run(model, document, gold=False, reader=CachedReader(model.encoder))
    assert (cached.actions, cached.choices) == (plain.actions, plain.choices)


@EVERY
def test_gold_choices_are_reproduced_when_teacher_forced(config: PaperConfig) -> None:
    document = random_document(7, config, 7)
    with torch.no_grad():
        found = run(tiny_model(config), document, gold=True)
    assert tuple(found.actions) == document.actions
    assert tuple(found.choices) == document.entity_of


@EVERY
def test_gold_actions_come_back_from_the_mentions(config: PaperConfig) -> None:
    document = random_document(8, config, 7)
    spans = replay(document.actions, sum(document.buffer_lengths))
    again, dropped = with_gold(document, dict(zip(spans, document.entity_of, strict=True)), config)
    assert not dropped
    assert again == document


def test_what_crosses_a_chunk_is_dropped_and_reported() -> None:
    config = CONFIGS[Mode.PAPER, Setting.SENT_INC]
    document = random_document(9, config, 3)
    end = document.buffer_lengths[0]
    gold, dropped = with_gold(document, {(0, 0): 7, (end - 1, end): 7}, config)
    assert dropped == ((end - 1, end),)
    assert gold.entity_of == (0,)


def test_a_document_without_mentions_has_a_detection_loss_alone() -> None:
    config = CONFIGS[Mode.REFERENCE, Setting.SENT_INC]
    document, _ = with_gold(random_document(3, config, 4), {}, config)
    model = tiny_model(config)
    for loss in model.losses(document):
        assert loss.detection > 0
        assert loss.clustering == 0


def test_the_reference_scores_the_first_mention_alone_and_the_paper_not_at_all() -> None:
    for mode, expected in ((Mode.REFERENCE, 1), (Mode.PAPER, 1)):
        config = CONFIGS[mode, Setting.SENT_INC]
        with torch.no_grad():
            found = run(tiny_model(config), random_document(2, config, 5), gold=True)
        assert len(found.cluster_scores[0]) == expected
        assert (found.cluster_scores[0].item() == config.new_score) == (mode is Mode.PAPER)
        assert [len(scores) for scores in found.cluster_scores[1:3]] == [2, 2 + (found.choices[1] == 1)]


def test_class_weights_count_in_the_paper_and_cancel_out_in_the_reference() -> None:
    for mode in Mode:
        even, uneven = (
            tiny_config(mode, Setting.SENT_INC, action_weights=weights) for weights in ((1, 1, 1, 1), (0.5, 3, 2, 20))
        )
        document = random_document(4, even, 5)
        losses = [sum(loss.detection.item() for loss in tiny_model(c).losses(document)) for c in (even, uneven)]
        assert (losses[0] == pytest.approx(losses[1])) == (mode is Mode.REFERENCE)


def test_weights_are_inverse_frequencies() -> None:
    assert inverse_frequency((60, 20, 15, 5)) == pytest.approx((100 / 240, 1.25, 100 / 60, 5.0))
    assert inverse_frequency((3, 0, 0, 0)) == (0.25, 0.0, 0.0, 0.0)


def test_operations_do_not_grow_with_the_number_of_actions() -> None:
    """With the same pieces and stack depth, twice the actions and mentions take the same tensor operations."""
    config = tiny_config(Mode.PAPER, Setting.PART_INC, window=10_000)
    counts = []
    for copies in (3, 12):
        document = random_document(1, config, 1)
        sentence, speakers = document.sentences[0], document.speakers[0]
        assert document.buffer is not None
        long = PaperDocument((sentence,) * copies, (speakers,) * copies, 0, document.buffer * copies)
        spans = {(i * len(speakers), i * len(speakers) + 1): i % 3 for i in range(copies)}
        gold, _ = with_gold(long, spans, config)
        assert len(gold.entity_of) == copies
        model = tiny_model(config)
        with torch.profiler.profile() as profile:
            for loss in model.losses(gold):
                loss.total.backward()
        counts.append(sum(event.count for event in profile.key_averages() if event.key.startswith("aten::")))
    assert counts[1] == pytest.approx(counts[0], rel=0.02)


def test_batches_hand_on_what_the_next_one_needs() -> None:
    config = CONFIGS[Mode.PAPER, Setting.SENT_INC]
    document = random_document(11, config, 8)
    batches = paper_batches(document, config)
    assert sum(len(batch.clustering.entity_of) for batch in batches) == len(document.entity_of)
    assert [len(batch.clustering.founded) for batch in batches[1:]] == [
        len(batch.clustering.latest_states) for batch in batches[:-1]
    ]
    assert batches[-1].mentions_so_far == len(document.entity_of)
