"""One step of the resolver: where mentions are, whose they are, and that states are values."""

from __future__ import annotations

import numpy as np
import pytest

from incoref.model.clusterer import Floats
from incoref.model.features import QuotationState, Quoted
from incoref.model.step import Heads, ReadingState, turns
from incoref.model.subwords import Utterance
from tiny_models import TinyModels, random_utterances


@pytest.fixture(scope="module")
def heads(tiny: TinyModels) -> Heads:
    return tiny.model.heads


def vectors(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, 32), np.float32)


def step(
    heads: Heads, block: list[Utterance], state: ReadingState
) -> tuple[ReadingState, list[tuple[int, int, int]]]:
    words = sum(len(utterance.words) for utterance in block)
    classes = heads.classes("ontonotes", "unknown")
    state, result = heads.step(block, vectors(words), state, classes)
    return state, [(m.first, m.last, m.sentence) for m in result.mentions]


def test_mentions_are_numbered_through_the_text(heads: Heads) -> None:
    block = random_utterances(3, seed=4)
    length = sum(len(utterance.words) for utterance in block)
    state, first = step(heads, block, heads.start())
    again, second = step(heads, block, state)
    assert first
    assert second == [(a + length, b + length, sentence + 3) for a, b, sentence in first]
    assert (again.tokens, again.sentences) == (2 * length, 6)


def test_quotations_are_found_once_per_sentence(heads: Heads, monkeypatch: pytest.MonkeyPatch) -> None:
    block = [Utterance(("“", "I", "met", "Anna", ",", "”", "he", "said")), *random_utterances(4, seed=4)]
    calls: list[tuple[str, ...]] = []
    find = QuotationState.scan

    def counted(state: QuotationState, words: tuple[str, ...]) -> tuple[list[Quoted], QuotationState]:
        calls.append(words)
        return find(state, words)

    monkeypatch.setattr(QuotationState, "scan", counted)
    state, mentions = step(heads, block, heads.start())
    assert mentions
    assert state.quotations.latest.number == 1
    assert calls == [utterance.words for utterance in block]


def test_a_mentions_sentence_is_the_one_it_starts_in(heads: Heads) -> None:
    block = random_utterances(8, seed=1)
    ends = np.cumsum([len(utterance.words) for utterance in block])
    _, found = step(heads, block, heads.start())
    for first, last, sentence in found:
        assert first <= last
        assert sentence == int(np.searchsorted(ends, first, side="right"))


def test_a_step_leaves_the_old_state_alone(heads: Heads) -> None:
    state = heads.start()
    for seed in range(6):
        block = random_utterances(2, seed)
        means, tokens = state.memory.means.copy(), state.tokens
        after, found = step(heads, block, state)
        again, same = step(heads, block, state)
        assert found == same
        assert state.tokens == tokens
        np.testing.assert_array_equal(state.memory.means, means)
        np.testing.assert_array_equal(again.memory.means, after.memory.means)
        state = after
    assert len(state.memory) > 3


def test_probabilities_belong_to_the_decision(heads: Heads) -> None:
    block = random_utterances(10, seed=2)
    _, result = heads.step(
        block, vectors(sum(len(u.words) for u in block)), heads.start(), heads.classes("all", "talk")
    )
    known = 0
    for mention in result.mentions:
        assert mention.confidence == mention.decision.probabilities.max()
        assert len(mention.decision.probabilities) == known + 1
        assert mention.new == (mention.entity == known)
        known += mention.new
        assert 0 < mention.mention_confidence <= 1


def test_a_turn_starts_where_the_speaker_changes(heads: Heads) -> None:
    assert turns([None, None, "a", "a", "b", None]) == [0, 0, 1, 1, 2, 3]
    assert turns(["a", "b"], turn=7, before="a") == [7, 8]
    state, _ = step(heads, [Utterance(("hello",), "a"), Utterance(("well",), "b")], heads.start())
    assert (state.turn, state.speaker) == (2, "b")
    state, _ = step(heads, [Utterance(("yes",), "b"), Utterance(("no",), "a")], state)
    assert (state.turn, state.speaker) == (3, "a")


def test_nothing_to_read_changes_nothing(heads: Heads) -> None:
    state, _ = step(heads, random_utterances(2), heads.start())
    same, result = heads.step([], vectors(0), state, heads.classes("ontonotes", "unknown"))
    assert result.mentions == ()
    assert (same.tokens, same.sentences, same.turn) == (state.tokens, state.sentences, state.turn)
