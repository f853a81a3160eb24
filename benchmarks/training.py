"""Measure the speed-up of vectorised training of the paper's model, and of inference with cached keys and values.

    python benchmarks/training.py [--threads 1] [--tokens 1000] [--mentions 110] [--only PART]

Runs the forward and backward pass on one random document, with random weights in the paper's sizes, by the vectorised
implementation and by the step-by-step definition. Times are CPU times, the minimum of a few runs.

    python benchmarks/training.py --memory

trains on one document of 10,000 tokens and 1,500 mentions, including the optimiser, and prints the resident memory.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Callable

import torch
from torch import Tensor

from incoref.learning.paper.batches import PaperBatch
from incoref.learning.paper.config import XLNET_BASE, PaperConfig, Setting
from incoref.learning.paper.definition import StepByStep, run
from incoref.learning.paper.document import PaperDocument, with_gold
from incoref.learning.paper.model import Limits, PaperModel
from incoref.learning.paper.xlnet import Memory, new_xlnet
from incoref.learning.paper.xlnet_cache import CachedXLNet
from incoref.model.transitions import Span

SENTENCE = 22
ONE_LAYER = XLNET_BASE | {"n_layer": 1, "vocab_size": 100, "dropout": 0.0}
"""An unused encoder, as detector and clusterer receive given vectors of the right size."""


def random_document(tokens: int, mentions: int, config: PaperConfig) -> PaperDocument:
    """Create sentences of 22 tokens; mentions of up to 6 tokens, some nested; 4.4 per entity, as in OntoNotes."""
    draw = random.Random(0)
    count = tokens // SENTENCE
    sentences = [tuple(draw.randrange(5, 100) for _ in range(SENTENCE)) for _ in range(count)]
    spans: dict[Span, int] = {}
    while len(spans) < mentions:
        sentence, first, width = draw.randrange(count), draw.randrange(SENTENCE - 6), draw.randrange(6)
        start = sentence * SENTENCE + first
        spans[start, start + width] = draw.randrange(round(mentions / 4.4))
        spans = {span: spans[span] for span in _derivable(spans)}
    document = PaperDocument(tuple(sentences), tuple((2,) * SENTENCE for _ in sentences), 0)
    gold, dropped = with_gold(document, spans, config)
    assert not dropped
    return gold


def _derivable(spans: dict[Span, int]) -> list[Span]:
    """Return the spans, without the newest one if it crosses another."""
    *_, (first, last) = spans
    crosses = any(a < first <= b < last or first < a <= last < b for a, b in spans)
    return list(spans)[:-1] if crosses else list(spans)


class GivenVectors(PaperModel):
    """Detector and clusterer on given vectors, without encoding."""

    clusters = True

    def give(self, vectors: Tensor) -> None:
        self._given, self._next = vectors, 0

    def _vectors(self, batch: PaperBatch, memory: Memory | None, limits: Limits) -> tuple[Tensor, Memory]:
        return self.encode(torch.from_numpy(batch.ids), 0), ()

    def encode(self, ids: Tensor, cache: int) -> Tensor:
        self._next += len(ids)
        return self._given[self._next - len(ids) : self._next]

    def _clustering(
        self, vectors: Tensor, batch: PaperBatch, genre: int, founded: Tensor | None, limits: Limits
    ) -> tuple[Tensor, Tensor | None]:
        if not self.clusters:
            return vectors.new_zeros(1), None
        return super()._clustering(vectors, batch, genre, founded, limits)


class DetectionAlone(StepByStep):
    def _cluster(self, mention: Span, *_: object) -> None:
        self._done.choices.append(0)
        self._done.cluster_scores.append(torch.zeros(1))


def backward(losses: list[Tensor]) -> None:
    torch.stack(losses).sum().backward()


def least(action: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def report(name: str, slow: float, quick: float) -> None:
    print(f"| {name} | {slow:.2f} | {quick:.3f} | {slow / quick:.1f} |", flush=True)


def heads(tokens: int, mentions: int) -> None:
    config = PaperConfig(setting=Setting.PART_INC, window=10**6, dropout=0.0, xlnet=ONE_LAYER)
    document = random_document(tokens, mentions, config)
    torch.manual_seed(0)
    model = GivenVectors(config)
    vectors = torch.randn(sum(document.lengths), ONE_LAYER["d_model"], requires_grad=True)

    def quick() -> None:
        model.zero_grad()
        model.give(vectors)
        for loss in model.losses(document):
            loss.total.backward()

    def slow(kind: type[StepByStep]) -> None:
        model.zero_grad()
        model.give(vectors)
        backward([loss.total for loss in kind(model, document, True, model).run().losses])

    model.clusters = False
    quick()
    report("detector", least(lambda: slow(DetectionAlone), 2), least(quick, 5))
    model.clusters = True
    quick()
    report("detector and clusterer", least(lambda: slow(StepByStep), 1), least(quick, 3))


def step(tokens: int, mentions: int, setting: Setting) -> None:
    """Measure a whole training step: encoder, detector, clusterer, optimiser."""
    config = PaperConfig(setting=setting)
    document = random_document(tokens, mentions, config)
    torch.manual_seed(0)
    model = PaperModel(config).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-6)

    def quick() -> None:
        optimiser.zero_grad()
        for loss in model.losses(document):
            loss.total.backward()
        optimiser.step()

    def slow() -> None:
        optimiser.zero_grad()
        backward([loss.total for loss in run(model, document, gold=True).losses])
        optimiser.step()

    quick()
    report(f"training step, XLNet-base, {setting}", least(slow, 1), least(quick, 2))


def inference(cached: int = 384) -> None:
    torch.manual_seed(0)
    model = new_xlnet(XLNET_BASE).eval()
    before, sentence = torch.randint(100, (cached,)), torch.randint(100, (SENTENCE,))
    with torch.inference_mode():
        memory = model(before[None], use_mems=True).mems
        model.mem_len = cached
        encoder = CachedXLNet(model)
        _, cache = encoder.encode(before, encoder.empty_cache())
        apart = (
            model(sentence[None], mems=memory, use_mems=True).last_hidden_state[0]
            - encoder.encode(sentence, cache)[0]
        )

        def slow() -> None:
            model(sentence[None], mems=memory, use_mems=True)

        def quick() -> None:
            nonlocal cache
            _, cache = encoder.encode(sentence, cache.last(cached))

        report(f"{SENTENCE} tokens after {cached} cached, XLNet-base", least(slow, 15), least(quick, 15))
    print(f"\nLargest difference of the vectors: {apart.abs().max().item():.1e}")


def memory(setting: Setting) -> None:
    """Measure memory after a first step on a short document, so that it includes the optimiser's state."""
    config = PaperConfig(setting=setting)
    model = PaperModel(config).train()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-6)
    for tokens, mentions in ((100, 10), (10_000, 1500)):
        document = random_document(tokens, mentions, config)
        optimiser.zero_grad()
        start = time.process_time()
        for loss in model.losses(document):
            loss.total.backward()
        optimiser.step()
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
    print(f"{setting}: {largest:.2f} GiB, {time.process_time() - start:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--mentions", type=int, default=110)
    parser.add_argument("--only", choices=("heads", "step", "inference"))
    parser.add_argument("--memory", type=Setting, choices=list(Setting), nargs="?", const=Setting.SENT_INC)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory:
        memory(options.memory)
        return
    print("| | step by step, s | ours, s | ratio |\n|---|---|---|---|")
    if options.only in (None, "heads"):
        heads(options.tokens, options.mentions)
    if options.only in (None, "step"):
        for setting in (Setting.SENT_INC, Setting.PART_INC):
            step(options.tokens, options.mentions, setting)
    if options.only in (None, "inference"):
        inference()


if __name__ == "__main__":
    main()
