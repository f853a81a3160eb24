"""Several models that decide together: at every action and link, by the mean of their scores.

One model is an ensemble of one. Encoders and tokenizers may differ, but all models must know the same entity types
and the scheme that is asked for. Independent of what is done with the decisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from incoref.errors import IncorefError
from incoref.model.clusterer import Decision, decided
from incoref.model.detector import Scoring, Step, decode
from incoref.model.folder import Block, Model, word_means
from incoref.model.matmul import Floats
from incoref.model.step import after, mention_facts
from incoref.model.subwords import joined, utterances_of
from incoref.model.transitions import Action
from incoref.types import Document


@dataclass(frozen=True, slots=True)
class Reading:
    """The decisions of a text."""

    steps: tuple[tuple[Step, ...], ...]
    """Of each sentence."""
    links: tuple[Decision, ...]
    """Of each mention."""
    types: tuple[str | None, ...]
    """Of each entity."""


class Ensemble:
    def __init__(self, models: Sequence[Model]) -> None:
        self.models = tuple(models)
        types = {model.config.names.types for model in models}
        if len(types) > 1:
            listed = " and ".join(", ".join(names) or "no types" for names in sorted(types))
            raise IncorefError(f"the models can't decide together: they know different entity types: {listed}")
        self.schemes = tuple(
            scheme
            for scheme in models[0].config.names.schemes
            if all(scheme in model.config.names.schemes for model in models)
        )
        if not self.schemes:
            raise IncorefError(
                "the models can't decide together: there is no annotation scheme that all of them know"
            )

    @property
    def fingerprint(self) -> str:
        return " ".join(model.fingerprint for model in self.models)

    def read(self, document: Document, scheme: str) -> Reading | None:
        """Read a document sentence by sentence; None if a sentence is too long for a model to read at once."""
        utterances = list(utterances_of(document))
        blocks = [model.blocks(utterances, 1) for model in self.models]
        if any(len(of_model) > len(utterances) for of_model in blocks):
            return None
        heads = [model.heads for model in self.models]
        classes = [model.classes(scheme) for model in self.models]
        constants = [head.clusters.constant(known) for head, known in zip(heads, classes, strict=True)]
        memories = [head.clusters.empty() for head in heads]
        state = heads[0].start()
        steps, links = list[tuple[Step, ...]](), list[Decision]()
        vectors = zip(
            *(_word_vectors(model, mine) for model, mine in zip(self.models, blocks, strict=True)), strict=True
        )
        for utterance, rows in zip(utterances, vectors, strict=True):
            together = _Mean(
                [head.actions.begin(own, known) for head, own, known in zip(heads, rows, classes, strict=True)],
                [head.temperatures.mention for head in heads],
            )
            steps.append(tuple(decode(together, len(rows[0]))))
            spans = [step.mention for step in steps[-1] if step.mention is not None]
            all_facts, quotations = mention_facts([utterance], state, spans)
            own_spans = [
                head.clusters.spans(own, spans) if spans else [] for head, own in zip(heads, rows, strict=True)
            ]
            for facts, *mention in zip(all_facts, *own_spans, strict=True):
                members = list(zip(heads, memories, mention, constants, strict=True))
                scores = [
                    head.clusters.link_scores(memory, span, facts, constant) / np.float32(head.temperatures.link)
                    for head, memory, span, constant in members
                ]
                links.append(decided(np.mean(scores, axis=0)))
                for head, memory, span, _ in members:
                    head.clusters.add(memory, span, facts, links[-1].entity)
            state = after(state, [utterance], state.memory, quotations)
        names = self.models[0].config.names.types
        of_entities = np.sum([memory.type_scores for memory in memories], axis=0)
        return Reading(
            tuple(steps), tuple(links), tuple(names[row.argmax()] if names else None for row in of_entities)
        )


class _Mean:
    """The mean of several detectors' scores of the same chunk's actions, each divided by its temperature."""

    def __init__(self, scorings: Sequence[Scoring], temperatures: Sequence[float]) -> None:
        self._scorings, self._temperatures = scorings, np.array(temperatures)[:, None]

    def scores(self, position: int, top: int | None) -> Sequence[float]:
        scores = np.array([scoring.scores(position, top) for scoring in self._scorings])
        mean: list[float] = (scores / self._temperatures).mean(axis=0).tolist()
        return mean

    def taken(self, position: int, action: Action) -> None:
        for scoring in self._scorings:
            scoring.taken(position, action)


def _word_vectors(model: Model, blocks: Sequence[Block]) -> Iterator[Floats]:
    """Yield the word vectors of each block."""
    subwords = [joined([part for _, part in block]) for block in blocks]
    at_once = model.encoder.encode_all([part.ids for part in subwords])
    if at_once is not None:
        yield from map(word_means, at_once, subwords)
        return
    state = model.encoder.start()
    for part in subwords:
        vectors, state = model.encoder.encode(part.ids, state)
        yield word_means(vectors, part)
