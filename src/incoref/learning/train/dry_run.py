"""Inspect a run before it starts: its data, the lengths of its texts, and the memory and time it will need.

Memory and time are measured, not guessed: the model computes losses and gradients of a few documents, from one of
median length to the longest. The memory for each is first estimated from the previous one; if the machine doesn't
have that much, the document isn't tried.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from incoref.learning.data import sources
from incoref.learning.train.trainable import ExampleFacts
from incoref.learning.train.trainer import Trainer

_OPTIMISER_BYTES = 8
"""Bytes of a parameter's two moments, which exist from the first update on."""


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """A corpus of the configuration."""

    name: str
    role: str
    documents: int
    sentences: int
    tokens: int
    mentions: int
    entities: int
    longest: int
    """Tokens of the longest document."""
    unknown: tuple[str, ...]
    """What the model doesn't know about it, as messages."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A trial computation of one document's losses and gradients."""

    document: str
    tokens: int
    seconds: float
    peak_bytes: int | None
    """Peak memory of the whole process so far (on a GPU: of its tensors); unknown on some systems."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is known about a run before it starts."""

    corpora: tuple[CorpusFacts, ...]
    parameters: int
    trained: int
    device: str
    updates: int
    tokens: int
    """Tokens read in training, over all epochs."""
    examples: tuple[ExampleFacts, ...]
    measured: tuple[Measured, ...]
    not_tried: tuple[str, ...]
    """Documents that would need more memory than is available."""
    available_bytes: int | None

    @property
    def dropped(self) -> Counter[str]:
        return sum((example.dropped for example in self.examples), Counter())

    @property
    def longest(self) -> ExampleFacts:
        return max(self.examples, key=lambda example: example.tokens)

    @property
    def hours(self) -> float | None:
        """Estimated hours of training, without evaluation."""
        seconds, tokens = (sum(getattr(m, name) for m in self.measured) for name in ("seconds", "tokens"))
        return seconds / tokens * self.tokens / 3600 if tokens else None

    @property
    def needed_bytes(self) -> int | None:
        """Memory for the longest document that was tried, and for the optimiser."""
        peaks = [m.peak_bytes for m in self.measured if m.peak_bytes is not None]
        return max(peaks) + _OPTIMISER_BYTES * self.trained if peaks else None


def inspect(trainer: Trainer) -> Inspection:
    """Inspect everything that a run will use."""
    trainable, training = trainer.trainable, trainer.config.training
    examples = [
        trainable.facts(trainable.example(source, np.random.default_rng((training.seed, 2, 0))))
        for source in range(len(trainable.sources))
    ]
    visits = Counter(source for plan in trainer.plans for update in plan for source in update)
    parameters = list(trainer.model.parameters())
    measured, not_tried = _measure(trainer, examples)
    return Inspection(
        corpora=tuple(_corpora(trainer)),
        parameters=sum(parameter.numel() for parameter in parameters),
        trained=sum(parameter.numel() for parameter in parameters if parameter.requires_grad),
        device=str(parameters[0].device),
        updates=trainer.total,
        tokens=sum(examples[source].tokens * count for source, count in visits.items()),
        examples=tuple(examples),
        measured=tuple(measured),
        not_tried=tuple(not_tried),
        available_bytes=available_memory(parameters[0].device),
    )


def _corpora(trainer: Trainer) -> list[CorpusFacts]:
    inspected = []
    corpora = [("train", corpus, sources.load(corpus)) for corpus in trainer.config.train]
    for role, corpus, documents in [*corpora, *(("dev", *pair) for pair in trainer.dev)]:
        inspected.append(
            CorpusFacts(
                name=corpus.title,
                role=role,
                documents=len(documents),
                sentences=sum(len(document.sentences) for document in documents),
                tokens=sum(len(document.tokens) for document in documents),
                mentions=sum(len(entity) for document in documents for entity in document.entities),
                entities=sum(len(document.entities) for document in documents),
                longest=max((len(document.tokens) for document in documents), default=0),
                unknown=tuple(trainer.trainable.unknown(documents, corpus)),
            )
        )
    return inspected


def _measure(trainer: Trainer, examples: Sequence[ExampleFacts]) -> tuple[list[Measured], list[str]]:
    """Compute losses and gradients of documents of increasing length, while memory suffices."""
    by_length = sorted(range(len(examples)), key=lambda i: examples[i].tokens)
    places = {int(share * (len(by_length) - 1)) for share in (0.5, 0.9, 1.0)}
    device = next(trainer.model.parameters()).device
    measured: list[Measured] = []
    not_tried = []
    trainer.backward([by_length[0]], step=0, epoch=0)  # the first one is slower than the rest
    before = peak_memory(device)
    for source in (by_length[place] for place in sorted(places)):
        facts = examples[source]
        if measured and _too_much(facts.tokens, measured[-1], before, device):
            not_tried.append(facts.name)
            continue
        started = time.monotonic()
        trainer.backward([source], step=0, epoch=0)
        seconds = time.monotonic() - started
        measured.append(Measured(facts.name, facts.tokens, seconds, peak_memory(device)))
    trainer.optimiser.zero_grad(set_to_none=True)
    return measured, not_tried


def _too_much(tokens: int, last: Measured, before: int | None, device: torch.device) -> bool:
    """Whether a longer document may need more memory than is free, assuming at worst quadratic growth with length."""
    free = available_memory(device)
    if free is None or before is None or last.peak_bytes is None:
        return False
    growth = (tokens / last.tokens) ** 2 - 1
    return (last.peak_bytes - before) * growth > free


def peak_memory(device: torch.device) -> int | None:
    """Return the peak memory of this process, or on a GPU of its tensors; None if unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if sys.platform == "win32":
        return None
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def available_memory(device: torch.device) -> int | None:
    """Return the memory that is free for this process; None if unknown."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["MemAvailable"].split()[0]) * 1024
