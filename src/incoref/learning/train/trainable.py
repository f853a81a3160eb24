"""What the trainer needs of a model to train it: the one interface between the two.

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
"""The clusters of a document, as half-open ranges of its tokens."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A share in the loss of an example: call ``backward`` on the total; the terms are for the log."""

    total: Tensor
    terms: Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class ExampleFacts:
    """What is known of an example before anything is computed."""

    name: str
    tokens: int
    subwords: int
    unknown: int
    """Sub-words that the tokenizer doesn't know."""
    mentions: int
    """Those that can be learned; once for each annotation."""
    dropped: Counter[str]
    """Those that can't, by reason."""


Example = TypeVar("Example")


class Trainable(Protocol[Example]):
    """A model with its training data. What is random comes from generators that are passed in, and from torch's."""

    @property
    def model(self) -> nn.Module: ...

    @property
    def sources(self) -> Sequence[Source]: ...

    @property
    def parts(self) -> Mapping[str, Iterable[nn.Parameter]]:
        """Parameters by part; the gradient of each part is clipped on its own."""
        ...

    def example(self, source: int, rng: np.random.Generator) -> Example:
        """A source made ready; the same object at every visit where nothing about it is random."""
        ...

    def facts(self, example: Example) -> ExampleFacts: ...

    def losses(self, example: Example, epoch: int, rng: np.random.Generator) -> Iterator[Loss]:
        """The loss of an example in one or more shares; ``backward`` comes before the next is asked for."""
        ...

    def predict(self, documents: Iterable[Document], corpus: CorpusConfig) -> Iterator[Clusters]:
        """The clusters of each document, singletons too, in evaluation mode."""
        ...

    def unknown(self, documents: Iterable[Document], corpus: CorpusConfig) -> Iterator[str]:
        """What the model doesn't know of these documents' annotation, in words for a user."""
        ...

    def save(self, folder: Path) -> None:
        """Write the model, with all that is needed to build and run it, in place of what is there."""
        ...
