"""The running side against the learning side: the same vectors, the same scores, the same decisions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch

from incoref.learning.data.examples import Reading, annotate, mention_facts, tokenise
from incoref.learning.nets.streaming import StreamingModel
from incoref.learning.train.prediction import predict
from incoref.model import transitions
from incoref.model.encoders import Encoder, load_encoder
from incoref.model.folder import Model, word_means
from incoref.model.step import Heads
from incoref.model.subwords import blocks_of, joined
from incoref.model.transitions import Action
from incoref.resolver import Resolver
from tiny_models import LONG, SIZES, WITH_MARKS, WORDS, TinyModels, document, random_document, random_utterances

Floats = npt.NDArray[np.float32]


def trained_vectors(model: StreamingModel, reading: Reading) -> Floats:
    with torch.inference_mode():
        found: Floats = model.word_vectors(reading).numpy()
    return found


def streamed_vectors(model: Model, utterances_seed: int, count: int, k: int | None = 1) -> Floats:
    state = model.encoder.start()
    rows = []
    for block in model.blocks(random_utterances(count, utterances_seed), k):
        subwords = joined([part for _, part in block])
        vectors, state = model.encoder.encode(subwords.ids, state)
        rows.append(word_means(vectors, subwords))
    return np.concatenate(rows)


@pytest.mark.parametrize("k", [1, 3])
def test_streamed_vectors_are_those_of_training(tiny: TinyModels, k: int) -> None:
    text = document(random_utterances(60, seed=k))
    reading = tokenise(text, tiny.tokenizer, SIZES, k)
    assert len(reading.lengths) > 5  # windows
    expected = trained_vectors(tiny.torch, reading)
    np.testing.assert_allclose(streamed_vectors(tiny.model, k, 60, k), expected, atol=1e-4)


def test_a_stream_of_100_000_tokens_gives_the_vectors_of_training_in_bounded_memory(tiny: TinyModels) -> None:
    """The vectors of every sentence, to 1e-3; the state never grows beyond that of one window."""
    utterances = random_utterances(4_500, seed=5, longest=45, words=WORDS[:20])
    reading = tokenise(document(utterances), tiny.tokenizer, LONG)
    assert sum(reading.chunks) > 100_000
    expected = trained_vectors(tiny.torch, reading)
    encoder = load_encoder(tiny.fp32 / "encoder.onnx", "kv_cache", LONG, tiny.tokenizer.start)
    state = encoder.start()
    done = largest = 0
    worst = 0.0
    for block in blocks_of(utterances, tiny.tokenizer, LONG.longest_block):
        subwords = joined([part for _, part in block])
        vectors, state = encoder.encode(subwords.ids, state)
        words = word_means(vectors, subwords)
        worst = max(worst, float(np.abs(words - expected[done : done + len(words)]).max()))
        done += len(words)
        largest = max(largest, state.nbytes)
    assert done == len(expected)
    assert worst < 1e-3
    one_window = 2 * 2 * 256 * 32 * 4  # layers, keys and values, places, width, bytes
    assert largest <= one_window + LONG.size * 8


def test_one_block_at_a_time_in_torch_and_in_onnx(tiny: TinyModels) -> None:
    encoder: Encoder = tiny.model.encoder
    torch_encoder = tiny.torch.encoder
    sizes = torch_encoder.sizes
    cache = torch.zeros(sizes.layers, 2, sizes.heads, 0, sizes.width // sizes.heads)
    rng = np.random.default_rng(0)
    state = encoder.start()
    used = 0
    with torch.inference_mode():
        for length in (1, 7, 3, 12, 5, 9):
            ids = np.array([tiny.tokenizer.start]) if not used else rng.integers(4, sizes.vocabulary, length)
            vectors, added = torch_encoder.step(torch.from_numpy(ids), torch.tensor(used), cache)
            cache = torch.cat([cache, added], dim=3)
            if used:
                ours, state = encoder.encode(ids, state)
                np.testing.assert_allclose(ours, vectors.numpy(), atol=1e-4)
            used += len(ids)
    assert state.used == used


def teacher_forced_scores(
    heads: Heads, reading: Reading, vectors: Floats, actions: npt.NDArray[np.int64], entity_of: list[int]
) -> tuple[list[Floats], list[Floats]]:
    """The running side's scores along a given derivation: of every action, and of every mention's choices."""
    classes = heads.classes("ontonotes", "news")
    constant = heads.clusters.constant(classes)
    memory = heads.clusters.empty()
    action_scores, link_scores = [], []
    step = before = found = 0
    for length in reading.chunks:
        rows = vectors[before : before + length]
        scoring = heads.actions.begin(rows, classes)
        state = transitions.start(length)
        while not state.finished:
            action = Action(int(actions[step]))
            top = state.stack.top if state.stack else None
            action_scores.append(np.array(scoring.scores(state.position, top), np.float32))
            span = transitions.mention_of(state, action)
            if span is not None:
                vector = heads.clusters.spans(rows, [span])[0]
                facts = mention_facts(reading, [(before + span[0], before + span[1])])[0]
                link_scores.append(
                    heads.clusters.scores(
                        memory, vector, memory.states.classes(facts, heads.clusters.features), constant
                    )
                )
                heads.clusters.add(memory, vector, facts, entity_of[found])
                found += 1
            scoring.taken(state.position, action)
            state = transitions.apply(state, action)
            step += 1
        before += length
    return action_scores, link_scores


@pytest.mark.parametrize("seed", range(4))
def test_scores_along_a_gold_derivation_are_those_of_training(tiny: TinyModels, seed: int) -> None:
    text = random_document(25, seed)
    reading = tokenise(text, tiny.tokenizer, SIZES)
    annotation = annotate(text, reading, "ontonotes", {})
    model = tiny.torch
    heads = model.heads()
    vectors = trained_vectors(model, reading)
    actions, links = teacher_forced_scores(
        heads, reading, vectors, annotation.derivation.action, annotation.entity_of.tolist()
    )
    with torch.inference_mode():
        expected = model.scores(torch.from_numpy(vectors), annotation, model.names.genres.index("news"))
    np.testing.assert_allclose(np.stack(actions), expected.actions.numpy(), atol=1e-3)
    ours = np.concatenate([scores[:-1] for scores in links])
    np.testing.assert_allclose(ours, expected.pairs.numpy(), atol=1e-3)
    np.testing.assert_allclose([scores[-1] for scores in links], expected.new.numpy(), atol=1e-3)


@pytest.mark.parametrize("k", [1, 4])
def test_decisions_are_those_of_the_learning_side(tiny: TinyModels, k: int) -> None:
    documents = [document(random_utterances(40, seed, words=WITH_MARKS)) for seed in range(3)]
    expected = list(predict(tiny.torch, documents, tiny.tokenizer, SIZES, "ontonotes", k=k))
    assert any(len(cluster) > 2 for clusters in expected for cluster in clusters)
    for text, clusters in zip(documents, expected, strict=True):
        found = Resolver(tiny.model).resolve(text, singletons=True, setting=f"k={k}")
        assert [sorted(mention.tokens for mention in entity.mentions) for entity in found.entities] == [
            sorted(cluster) for cluster in clusters
        ]


def test_int8_weights_stay_close(tiny: TinyModels) -> None:
    exact = streamed_vectors(tiny.model, 0, 30)
    rounded = streamed_vectors(Model.load(tiny.int8), 0, 30)
    error = np.linalg.norm(rounded - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert error.mean() < 0.05
