"""Predict with a model in training: vectors from PyTorch, decisions from the run-time code.

So the scores that training reports are those of the exported model, except for differences in the encoder's
arithmetic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import torch

from incoref.learning.data.examples import tokenise
from incoref.learning.nets.streaming import StreamingModel
from incoref.model.subwords import SubwordTokenizer
from incoref.model.windows import WindowSizes
from incoref.options import UNKNOWN_GENRE
from incoref.types import Document


def predict(
    model: StreamingModel,
    documents: Iterable[Document],
    tokenizer: SubwordTokenizer,
    sizes: WindowSizes,
    scheme: str,
    genre: str = UNKNOWN_GENRE,
    k: int = 1,
) -> Iterator[list[list[tuple[int, int]]]]:
    """Yield the clusters of each document as half-open ranges of tokens, including singletons."""
    heads = model.heads()
    classes = heads.classes(scheme, genre)
    training = model.training
    model.eval()
    try:
        for document in documents:
            reading = tokenise(document, tokenizer, sizes, k)
            with torch.inference_mode():
                vectors = model.word_vectors(reading).cpu().numpy()
            state = heads.start()
            clusters: dict[int, list[tuple[int, int]]] = defaultdict(list)
            for block, length in zip(reading.utterances, reading.chunks, strict=True):
                rows = vectors[state.tokens : state.tokens + length]
                state, result = heads.step(block, rows, state, classes)
                for mention in result.mentions:
                    clusters[mention.entity].append((mention.first, mention.last + 1))
            yield list(clusters.values())
    finally:
        model.train(training)
