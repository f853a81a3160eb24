"""Measure the speed of inference on one document, sentence by sentence, on one core.

    python benchmarks/inference.py CORPUS [--model FOLDER] [--checkpoint FOLDER] [--passes 3]

Reads the longest document of CORPUS several times and takes the minimum CPU time for each sentence, to reduce the
effect of other load. With --checkpoint (a run's folder ``best``), the same model also runs in a straightforward
implementation with transformers and PyTorch: the whole window, if any, is encoded again for every sentence, and the
heads run one action at a time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from incoref import corpora
from incoref.model.features import REGISTRY
from incoref.model.folder import Model, ModelState, word_means
from incoref.model.layout import EMPTY_STACK, WIDEST
from incoref.model.step import BlockResult, ReadingState
from incoref.model.subwords import WRITING, WRITINGS, Subwords, Utterance, joined, utterances_of
from incoref.model.transitions import EFFECTS

Block = list[tuple[Utterance, Subwords]]


def measured(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def read(model: Model, blocks: Sequence[Block]) -> tuple[list[ModelState], list[BlockResult]]:
    """Return the state before every block, and its result."""
    classes = model.classes()
    state = model.start()
    states, results = [], []
    for block in blocks:
        states.append(state)
        state, result = model.step(block, state, classes)
        results.append(result)
    return states, results


def seconds_of(model: Model, blocks: Sequence[Block]) -> list[float]:
    """Return seconds per block; as in a session, old states are dropped and their memory is reused."""
    classes = model.classes()
    state = model.start()
    seconds = []
    for block in blocks:
        start = time.process_time()
        state, _ = model.step(block, state, classes)
        seconds.append(time.process_time() - start)
    return seconds


def vectors_of(model: Model, block: Block, state: ModelState) -> np.ndarray:
    subwords = joined([part for _, part in block])
    return word_means(model.encoder.encode(subwords.ids, state.encoder)[0], subwords)


def action_time(
    model: Model, blocks: Sequence[Block], states: Sequence[ModelState], entities: int
) -> tuple[int, float]:
    """Return the number of live entities and the heads' seconds per action, over the document's last blocks."""
    start: ReadingState = next((s.reading for s in states if len(s.reading.memory) >= entities), states[-1].reading)
    classes = model.classes()
    seconds, actions = 0.0, 0
    for block, state in list(zip(blocks, states, strict=True))[-40:]:
        vectors = vectors_of(model, block, state)
        utterances = [utterance for utterance, _ in block]
        seconds += min(measured(lambda: model.heads.step(utterances, vectors, start, classes)) for _ in range(5))  # noqa: B023
        actions += len(model.heads.step(utterances, vectors, start, classes)[1].steps)
    return len(start.memory), seconds / actions


class Plain:
    """A checkpoint's model in plain transformers and PyTorch, without caching or factoring."""

    def __init__(self, checkpoint: Path) -> None:
        import torch
        from transformers import BertConfig, BertModel

        from incoref.learning.nets.encoder import WRITING_TABLE
        from incoref.learning.train.checkpoints import load_model

        torch.set_num_threads(1)
        self.torch = torch
        self.model, _ = load_model(checkpoint)
        sizes = self.model.encoder.sizes
        config = BertConfig(
            vocab_size=sizes.vocabulary,
            hidden_size=sizes.width,
            num_hidden_layers=sizes.layers,
            num_attention_heads=sizes.heads,
            intermediate_size=sizes.inner,
            max_position_embeddings=sizes.positions,
            layer_norm_eps=sizes.epsilon,
            type_vocab_size=WRITINGS,
        )
        self.bert = BertModel(config, add_pooling_layer=False).eval()
        weights = self.model.encoder.state_dict()
        types = "embeddings.token_type_embeddings.weight"  # here, token types represent capitalisation
        writings = weights.get(WRITING_TABLE, torch.zeros(WRITINGS, 1))
        self.bert.load_state_dict({**weights, types: weights[types][0] + writings}, strict=False)

    def encode(self, window: Sequence[np.ndarray]) -> np.ndarray:
        """Encode a whole window of blocks; the caller uses only the last block's vectors."""
        torch = self.torch
        number = torch.from_numpy(np.repeat(np.arange(len(window)), [len(block) for block in window]))
        ids = torch.from_numpy(np.concatenate(window))
        mask = torch.zeros(len(ids), len(ids)).masked_fill(number[:, None] < number[None, :], -torch.inf)
        with torch.inference_mode():
            found = self.bert(
                input_ids=ids[None] % WRITING, token_type_ids=ids[None] // WRITING, attention_mask=mask[None, None]
            ).last_hidden_state[0]
        return np.asarray(found)

    def decide(self, vectors: np.ndarray, result: BlockResult, state: ReadingState, classes: dict[str, int]) -> None:
        """Score every step of a derivation, and every mention against all entities."""
        torch, detector, clusterer = self.torch, self.model.detector, self.model.clusterer
        with torch.inference_mode():
            tokens = torch.from_numpy(vectors)
            constant = [torch.tensor([number]) for number in classes.values()]
            h, c = detector.action_start[:, None]
            stack = [(detector.stack_start[:1], detector.stack_start[1:])]
            starts: list[int] = []
            entities = torch.from_numpy(state.memory.means)
            pair_classes = torch.zeros(len(REGISTRY), len(entities), dtype=torch.long)
            for step in result.steps:
                width = torch.tensor([min(WIDEST, step.position - starts[-1]) if starts else EMPTY_STACK])
                features = detector.features(dict(zip((*classes, "width"), (*constant, width), strict=True)))
                row = torch.cat([tokens[step.position][None], stack[-1][0], h, features], dim=-1)
                detector.output(torch.relu(detector.hidden.linear(row))).softmax(-1)
                action = torch.tensor([[int(step.action)]])
                _, (h, c) = detector.action_lstm(detector.action_embedding(action), (h[None], c[None]))
                h, c = h[0], c[0]
                if EFFECTS[step.action].pushes:
                    starts.append(step.position)
                    stack.append(detector.stack_cell(tokens[step.position][None], stack[-1]))
                if step.mention is not None:
                    first, last = step.mention
                    of_span = {"width": torch.tensor([min(WIDEST, last - first)])}
                    span = clusterer.spans(tokens, np.array([first]), np.array([last]), of_span)
                    mentions = span.expand(len(entities), -1)
                    by_name = dict(zip(REGISTRY, pair_classes, strict=True))
                    repeated = [number.expand(len(entities)) for number in constant]
                    features = clusterer.pair_features({**by_name, **dict(zip(classes, repeated, strict=True))})
                    pairs = torch.cat([mentions, entities, mentions * entities, features], dim=-1)
                    clusterer.output(torch.relu(clusterer.hidden.linear(pairs)))
                    clusterer.new_scores(span)
                if EFFECTS[step.action].pops:
                    starts.pop()
                    stack.pop()

    def seconds(
        self, blocks: Sequence[Block], states: Sequence[ModelState], results: Sequence[BlockResult], model: Model
    ) -> float:
        """Return the seconds for all blocks, each starting from the state recorded by our own implementation."""
        classes, total = model.classes(), 0.0
        for block, state, result in zip(blocks, states, results, strict=True):
            subwords = joined([part for _, part in block])
            start = np.array([model.tokenizer.start])
            fits = 1 + sum(map(len, state.encoder.blocks)) + len(subwords) <= model.config.window.size
            window = [start, *(state.encoder.blocks if fits else ()), subwords.ids]

            def step(window: list[np.ndarray] = window, subwords: Subwords = subwords) -> np.ndarray:
                return word_means(self.encode(window)[-len(subwords) :], subwords)

            vectors = step()
            total += measured(step)
            total += measured(lambda: self.decide(vectors, result, state.reading, classes))  # noqa: B023
        return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--passes", type=int, default=3)
    chosen = parser.parse_args()
    started = time.process_time()
    model = Model.load(chosen.model)
    loading = time.process_time() - started
    document = max(corpora.read(chosen.corpus), key=lambda found: len(found.tokens))
    blocks = model.blocks(utterances_of(document))
    words = np.array([sum(len(utterance.words) for utterance, _ in block) for block in blocks])
    best = np.min([seconds_of(model, blocks) for _ in range(chosen.passes)], axis=0)
    states, results = read(model, blocks)
    print(f"{model.config.name}: {document.id}, {words.sum()} words, {len(blocks)} sentences")
    print(f"loading: {1000 * loading:.0f} ms")
    print(f"streaming: {words.sum() / best.sum():.0f} words/s")
    filled = np.array([state.encoder.used for state in states])
    full = (filled > 0.6 * model.config.window.size) | (not model.config.window.cache)
    for kind, some in (
        ("all", words > 0),
        ("of 17 to 23 words, any window over 60% full", (abs(words - 20) <= 3) & full),
    ):
        if some.any():
            p50, p90, p99 = (1000 * np.percentile(best[some], p) for p in (50, 90, 99))
            print(f"{some.sum()} sentences, {kind}: p50 {p50:.1f} ms, p90 {p90:.1f} ms, p99 {p99:.1f} ms")
    live, action = action_time(model, blocks, states, 100)
    print(f"an action, clustering with {live} live entities included: {1e6 * action:.0f} µs")
    if chosen.checkpoint:
        count = min(60, len(blocks))
        plain = Plain(chosen.checkpoint).seconds(blocks[-count:], states[-count:], results[-count:], model)
        ours = best[-count:].sum()
        print(f"plain implementation: {1000 * plain / count:.1f} ms a sentence, ours {1000 * ours / count:.1f}")
        print(f"ratio: {plain / ours:.1f}")


if __name__ == "__main__":
    main()
