"""The interface between the trainer and the models that it trains.

There are three implementations: ``streaming.py`` (the default model), ``paper.py`` (the paper's) and ``baseline.py``
(the systems that the paper compares with).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from torch import Tensor, nn

from incoref.learning.config import CorpusConfig
from incoref.learning.data.sources import Source
from incoref.types import Document

Clusters = list[list[tuple[int, int]]]
"""The clusters of a document, as half-open token ranges."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A part of an example's loss: call ``backward`` on the total; the terms are for the log."""

    total: Tensor
    terms: Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class ExampleFacts:
    """What is known about an example before anything is computed."""

    name: str
    tokens: int
    subwords: int
    unknown: int
    """Sub-words unknown to the tokenizer."""
    mentions: int
    """Mentions that can be learned, counted once per annotation."""
    dropped: Counter[str]
    """Mentions that can't be learned, by reason."""


Example = TypeVar("Example")


class Trainable(Protocol[Example]):
    """A model with its training data. Randomness comes from generators that are passed in, and from torch's."""

    @property
    def model(self) -> nn.Module: ...

    @property
    def sources(self) -> Sequence[Source]: ...

    @property
    def parts(self) -> Mapping[str, Iterable[nn.Parameter]]:
        """Parameters by part; the gradient of each part is clipped separately."""
        ...

    def example(self, source: int, rng: np.random.Generator) -> Example:
        """Prepare a source as an example; the same object at every visit if nothing about it is random."""
        ...

    def facts(self, example: Example) -> ExampleFacts: ...

    def losses(self, example: Example, epoch: int, rng: np.random.Generator) -> Iterator[Loss]:
        """Yield an example's loss in one or more parts; ``backward`` is called before the next one is requested."""
        ...

    def predict(self, documents: Iterable[Document], corpus: CorpusConfig) -> Iterator[Clusters]:
        """Yield the clusters of each document, including singletons, in evaluation mode."""
        ...

    def unknown(self, documents: Iterable[Document], corpus: CorpusConfig) -> Iterator[str]:
        """Yield what the model doesn't know in these documents' annotation, as messages for the user."""
        ...

    def save(self, folder: Path) -> None:
        """Write the model with everything needed to build and run it, replacing what is there."""
        ...
