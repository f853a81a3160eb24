"""Check that a model folder still gives the clusters it gave when it was made.

``golden.json`` holds the texts and their clusters.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from incoref.errors import IncorefError
from incoref.model.folder import Model
from incoref.model.subwords import Utterance
from incoref.types import Document, Sentence, Token

Clusters = list[list[list[int]]]


@dataclass(frozen=True, slots=True)
class Golden:
    """A text of tokenised sentences with speakers, and its clusters as half-open token ranges."""

    sentences: tuple[tuple[str, ...], ...]
    speakers: tuple[str | None, ...]
    clusters: Clusters

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Golden:
        return cls(tuple(map(tuple, data["sentences"])), tuple(data["speakers"]), data["clusters"])


def document_of(sentences: Sequence[Sequence[str]], speakers: Sequence[str | None]) -> Document:
    """Build a document from tokenised sentences: words joined by spaces, one sentence per line."""
    placed, offset = [], 0
    for words, speaker in zip(sentences, speakers, strict=True):
        start, tokens = offset, []
        for word in words:
            tokens.append(Token(word, offset, offset + len(word)))
            offset += len(word) + 1
        offset = max(offset, start + 1)
        placed.append(Sentence(start, offset - 1, tuple(tokens), speaker))
    return Document("golden", "\n".join(" ".join(words) for words in sentences), tuple(placed))


def clusters_of(model: Model, sentences: Sequence[Sequence[str]], speakers: Sequence[str | None]) -> Clusters:
    """Return the model's clusters for a text, in the format of ``golden.json``."""
    utterances = [Utterance(tuple(words), speaker) for words, speaker in zip(sentences, speakers, strict=True)]
    clusters: Clusters = []
    state, classes = model.start(), model.classes()
    for block in model.blocks(utterances, model.block_size()):
        state, result = model.step(block, state, classes)
        for mention in result.mentions:
            clusters += [[]] if mention.new else []
            clusters[mention.entity].append([mention.first, mention.last + 1])
    return clusters


def check(model: Model) -> int:
    """Check the model against its ``golden.json``. Return the number of texts; the first mismatch is an error."""
    path = model.folder / "golden.json"
    try:
        texts = [Golden.from_json(item) for item in json.loads(path.read_text(encoding="utf-8"))["texts"]]
    except FileNotFoundError as error:
        raise IncorefError(f"{path}: missing, so the model can't be checked") from error
    except (ValueError, KeyError, TypeError) as error:
        raise IncorefError(f"{path}: not a golden file: {error!r}") from error
    for number, text in enumerate(texts, start=1):
        clusters = clusters_of(model, text.sentences, text.speakers)
        if clusters != text.clusters:
            raise IncorefError(
                f"{path}: text {number} gave the clusters {clusters}, not {text.clusters}; "
                "the model's files or this machine's arithmetic are not what they were"
            )
    return len(texts)
