"""Several models that decide together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from incoref.errors import IncorefError
from incoref.learning.ensemble import Ensemble, Reading
from incoref.model.folder import Model, word_means
from incoref.model.step import HeadNames, Temperatures, after, mention_facts
from incoref.model.subwords import utterances_of
from incoref.model.transitions import EFFECTS, LEGAL, Action
from incoref.types import Document
from tiny_models import WORDS, document, random_utterances

if TYPE_CHECKING:
    from tiny_models import TinyModels


def text(seed: int, sentences: int = 6) -> Document:
    """Sentences that the small models read at once."""
    short = [word for word in WORDS if len(word) < 6]
    return document(random_utterances(sentences, seed, 7, short), id=f"text{seed}")


def read(models: Sequence[Model], given: Document) -> Reading:
    reading = Ensemble(models).read(given, "all")
    assert reading is not None
    return reading


def warmer(model: Model, mention: float, link: float) -> Model:
    """The same model with other temperatures."""
    heads = replace(model.heads, temperatures=Temperatures(mention, link))
    return Model(model.folder, model.config, model.tokenizer, model.encoder, heads)


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


def followed(model: Model, given: Document, reading: Reading) -> Iterator[tuple[list[np.ndarray], list[np.ndarray]]]:
    """The logarithms of a model's own probabilities along decisions made by others, sentence by sentence."""
    heads, classes = model.heads, model.classes("all")
    state, memory, encoder = heads.start(), heads.clusters.empty(), model.encoder.start()
    links = iter(reading.links)
    blocks = model.blocks(utterances_of(given))
    for [(utterance, subwords)], steps in zip(blocks, reading.steps, strict=True):
        vectors, encoder = model.encoder.encode(subwords.ids, encoder)
        words = word_means(vectors, subwords)
        of_actions, of_links, stack, last = [], [], list[int](), None
        scoring = heads.actions.begin(words, classes)
        for step in steps:
            legal = LEGAL[last, bool(stack), step.position == len(utterance.words) - 1]
            scores = scoring.scores(step.position, stack[-1] if stack else None)
            logits = np.full(len(Action), -np.inf)
            logits[list(legal)] = np.array(scores)[list(legal)] / heads.temperatures.mention
            of_actions.append(np.log(softmax(logits), where=logits > -np.inf, out=logits))
            scoring.taken(step.position, step.action)
            if EFFECTS[step.action].pops:
                stack.pop()
            if EFFECTS[step.action].pushes:
                stack.append(step.position)
            last = step.action
        spans = [step.mention for step in steps if step.mention is not None]
        facts, quotations = mention_facts([utterance], state, spans)
        mentions = heads.clusters.spans(words, spans) if spans else []
        for fact, mention in zip(facts, mentions, strict=True):
            scores = heads.clusters.link_scores(memory, mention, fact, heads.clusters.constant(classes))
            of_links.append(np.log(softmax(scores / heads.temperatures.link)))
            heads.clusters.add(memory, mention, fact, next(links).entity)
        state = after(state, [utterance], state.memory, quotations)
        yield of_actions, of_links


def test_a_model_with_itself_decides_as_alone(tiny: TinyModels) -> None:
    model = tiny.stateless["int8"]
    for seed in range(4):
        alone, twice = read([model], text(seed)), read([model, model], text(seed))
        assert [link.entity for link in twice.links] == [link.entity for link in alone.links]
        assert [[step.action for step in steps] for steps in twice.steps] == [
            [step.action for step in steps] for steps in alone.steps
        ]
        assert twice.types == alone.types


def test_probabilities_are_the_geometric_mean_of_the_models(tiny: TinyModels) -> None:
    """Of a model whose sentences attend to earlier ones and one that reads each alone."""
    models = [warmer(tiny.model, 1.5, 0.7), tiny.stateless["fp32"]]
    links = 0
    for seed in range(4):
        given = text(seed)
        reading = read(models, given)
        own = [list(followed(model, given, reading)) for model in models]
        decided = iter(reading.links)
        for steps, *sentences in zip(reading.steps, *own, strict=True):
            for step, *logs in zip(steps, *(actions for actions, _ in sentences), strict=True):
                expected = softmax(np.mean(logs, axis=0))
                found = [step.probabilities.get(action, 0.0) for action in Action]
                np.testing.assert_allclose(found, expected, atol=1e-5)
                assert step.action == expected.argmax()
            for logs in zip(*(of_links for _, of_links in sentences), strict=True):
                link = next(decided)
                np.testing.assert_allclose(link.probabilities, softmax(np.mean(logs, axis=0)), atol=1e-5)
                assert link.entity == link.probabilities.argmax()
                links += 1
    assert links > 20


def test_models_that_cannot_decide_together_are_rejected(tiny: TinyModels) -> None:
    model = tiny.model

    def other(names: HeadNames) -> Model:
        return Model(model.folder, replace(model.config, names=names), model.tokenizer, model.encoder, model.heads)

    with pytest.raises(IncorefError, match="different entity types: no types and person, place, thing"):
        Ensemble([model, other(replace(model.config.names, types=()))])
    with pytest.raises(IncorefError, match="no annotation scheme that all of them know"):
        Ensemble([model, other(replace(model.config.names, schemes=("mine",)))])
    assert Ensemble([model, other(replace(model.config.names, schemes=("mine", "all")))]).schemes == ("all",)
