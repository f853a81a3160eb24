"""Texts labelled by a model, and another model that learns from them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from incoref import corpora
from incoref.errors import IncorefError
from incoref.learning.config import CorpusConfig
from incoref.learning.data import sources
from incoref.learning.ensemble import Ensemble
from incoref.learning.labelling import Labelled, label, label_into, parts_of, sampled
from incoref.resolver import Resolver
from incoref.types import Document
from tiny_models import WORDS, document, random_utterances

if TYPE_CHECKING:
    from tiny_models import TinyModels


def texts(count: int, sentences: int = 6) -> list[Document]:
    """Of sentences that the small models read at once."""
    short = [word for word in WORDS if len(word) < 6]
    return [document(random_utterances(sentences, seed, 7, short), id=f"text{seed}") for seed in range(count)]


def clusters(document: Document) -> list[list[tuple[int, int]]]:
    return sorted(sorted(mention.tokens for mention in entity.mentions) for entity in document.entities)


@pytest.mark.parametrize("kind", ["cached", "stateless"])
def test_labels_are_what_the_model_resolves(tiny: TinyModels, kind: str) -> None:
    model = tiny.model if kind == "cached" else tiny.stateless["int8"]
    given = texts(5)
    for text in given:
        found = label(Ensemble([model]), text, "all")
        assert found is not None
        resolved = Resolver(model).resolve(text, singletons=True, scheme="all")
        assert clusters(found) == clusters(resolved)
        by_span = {m.tokens: entity.type for entity in resolved.entities for m in entity.mentions}
        assert {m.tokens: entity.type for entity in found.entities for m in entity.mentions} == by_span


def test_a_sentence_that_is_too_long_leaves_its_text_out(tiny: TinyModels, tmp_path: Path) -> None:
    words = " ".join(["antidisestablishmentarian"] * 12)
    long = Resolver(tiny.model).resolve(words, id="long")
    assert label(Ensemble([tiny.model]), long) is None
    done = label_into(tmp_path / "out", Ensemble([tiny.model]), [texts(1)[0], long])
    assert (done.documents, done.left_out) == (1, 1)


def test_parts_are_whole_sentences_of_similar_length() -> None:
    [whole] = texts(1, sentences=40)
    total = len(whole.tokens)
    for longest in (None, total):
        [only] = parts_of(whole, longest)
        assert only == whole
    parts = parts_of(whole, 60)
    assert [[token.text for token in s.tokens] for part in parts for s in part.sentences] == [
        [token.text for token in s.tokens] for s in whole.sentences
    ]
    longest_sentence = max(map(len, whole.sentences))
    assert all(60 / 2 - longest_sentence < len(part.tokens) <= 60 + longest_sentence for part in parts)


def test_a_sample_is_as_large_as_asked_for_and_the_same_each_time() -> None:
    given = texts(12, sentences=20)
    assert list(sampled(given)) == given
    total = sum(len(text.tokens) for text in given)
    some = list(sampled(given, words=total // 3))
    assert some == list(sampled(given, words=total // 3)) != list(sampled(given, words=total // 3, seed=2))
    assert total // 3 <= sum(len(text.tokens) for text in some) < total // 3 + max(len(t.tokens) for t in given)
    assert all(text in given for text in some) and some != given[: len(some)]
    assert list(sampled(given, without=[given[3].id])) == given[:3] + given[4:]
    for text, whole in zip(sampled(given, stretch=30), given, strict=True):
        words, all_words = ([token.text for token in t.tokens] for t in (text, whole))
        assert 30 - 7 <= len(words) <= 30
        assert any(all_words[place : place + len(words)] == words for place in range(len(all_words)))


def test_parts_are_read_for_themselves_and_joined_by_name(tiny: TinyModels) -> None:
    joint = 0
    for seed in range(4):
        whole = document(random_utterances(40, seed, 7, "Anna Berta Carl he she met saw .".split()))
        found = label(Ensemble([tiny.model]), whole, longest=60)
        assert found is not None
        spans, entities, before = set[tuple[int, int]](), 0, 0
        for part in parts_of(whole, 60):
            alone = label(Ensemble([tiny.model]), part)
            assert alone is not None
            spans |= {(start + before, end + before) for start, end in (m.tokens for m in alone.mentions)}
            entities += len(alone.entities)
            before += len(part.tokens)
        assert {mention.tokens for mention in found.mentions} == spans
        joint += entities - len(found.entities)
    assert joint > 0


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("part-*")}


def test_a_run_that_was_stopped_goes_on(tiny: TinyModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incoref.learning.labelling.DOCUMENTS", 2)
    given = texts(5)

    def broken() -> Iterator[Document]:
        yield from given[:3]
        raise KeyboardInterrupt

    whole = label_into(tmp_path / "whole", Ensemble([tiny.model]), given)
    assert (whole.documents, whole.tokens) == (5, sum(len(text.tokens) for text in given))
    with pytest.raises(KeyboardInterrupt):
        label_into(tmp_path / "stopped", Ensemble([tiny.model]), broken())
    assert len(files(tmp_path / "stopped")) == 1
    told = list[Labelled]()
    assert label_into(tmp_path / "stopped", Ensemble([tiny.model]), given, tell=told.append) == whole
    assert [done.documents for done in told] == [2, 4, 5]
    assert files(tmp_path / "stopped") == files(tmp_path / "whole")
    with pytest.raises(IncorefError, match="an earlier run began here with other scheme"):
        label_into(tmp_path / "whole", Ensemble([tiny.model]), given, "all")
    with pytest.raises(IncorefError, match="the model knows no scheme 'mine'; it knows ontonotes, all"):
        label_into(tmp_path / "other", Ensemble([tiny.model]), given, "mine")


@pytest.fixture
def labelled(tiny: TinyModels, tmp_path: Path) -> Path:
    label_into(tmp_path / "labelled", Ensemble([tiny.stateless["fp32"]]), texts(6))
    return tmp_path / "labelled"


def test_labelled_texts_are_a_corpus(labelled: Path) -> None:
    found = list(corpora.read(labelled))
    assert [text.id for text in found] == [f"text{number}" for number in range(6)]
    read = sources.sources([CorpusConfig(path=labelled)])
    assert all(source.labelled for source in read)
    for text, source in zip(found, read, strict=True):
        decisions = source.annotated[0].decisions
        assert decisions is not None
        assert source.annotated[0].document.attributes == ()
        assert clusters(source.annotated[0].document) == clusters(text)
        np.testing.assert_allclose(decisions.probabilities.sum(axis=1), 1, atol=1e-6)


def test_faulty_labels_are_refused(labelled: Path, tmp_path: Path) -> None:
    with pytest.raises(IncorefError, match=r"labelled document 'text0' under the scheme 'ontonotes', not 'all'"):
        sources.sources([CorpusConfig(path=labelled, scheme="all")])
    [path] = labelled.glob("part-*")
    first = path.read_text(encoding="utf-8").split("\n")[0]
    data: dict[str, Any] = json.loads(first)
    for broken, match in (
        ({"decisions": {**data["decisions"], "shares": "AAAA"}}, "document 'text0': not a model's decisions"),
        ({"sentences": [["a"]], "speakers": [["-"]], "clusters": []}, "are about other sentences"),
    ):
        (tmp_path / "broken.jsonl").write_text(json.dumps({**data, **broken}), encoding="utf-8")
        with pytest.raises(IncorefError, match=match):
            sources.sources([CorpusConfig(path=tmp_path / "broken.jsonl")])


@pytest.mark.learning
def test_the_model_itself_has_nothing_to_learn_from_its_labels(tiny: TinyModels, labelled: Path) -> None:
    """The gradient vanishes where the probabilities are the model's own; single right answers leave one."""
    import torch

    from incoref.learning.data.examples import Annotation, Example, annotate, tokenise
    from incoref.learning.nets.streaming import action_weights

    network, running = tiny.stateless_torch.eval(), tiny.stateless["fp32"]
    heads = [*network.detector.parameters(), *network.clusterer.parameters()]

    def gradient(annotation: Annotation) -> float:
        network.zero_grad()
        example = Example("text", None, annotation.reading, (annotation,))
        losses = network.losses(example, 0, action_weights(np.ones(4), 0))
        (losses.mentions + losses.links).backward()
        return sum(float(parameter.grad.norm()) for parameter in heads if parameter.grad is not None)

    for source in sources.sources([CorpusConfig(path=labelled)]):
        [annotated] = source.annotated
        reading = tokenise(annotated.document, running.tokenizer, running.config.window)
        soft = annotate(annotated.document, reading, "ontonotes", {}, decisions=annotated.decisions)
        hard = annotate(annotated.document, reading, "ontonotes", {})
        assert soft.derivation.spans == hard.derivation.spans
        assert soft.entity_of.tolist() == hard.entity_of.tolist()
        assert gradient(soft) < gradient(hard) / 20
        cut = annotated.between(2, 5)
        reading = tokenise(cut.document, running.tokenizer, running.config.window)
        part = annotate(cut.document, reading, "ontonotes", {}, decisions=cut.decisions)
        assert part.soft is not None and soft.soft is not None
        with torch.no_grad():
            scores = network.scores(network.word_vectors(reading), part, 0)
        own = scores.legal_actions(part.derivation.legal).softmax(dim=1).numpy()
        after = part.derivation.chunk_steps[0]  # who spoke before the cut is not known in its first sentence
        np.testing.assert_allclose(own[after:], part.soft.actions[after:], atol=0.01)


@pytest.mark.learning
def test_a_model_learns_from_labels(labelled: Path, tmp_path: Path) -> None:
    from incoref.learning.config import Configuration
    from incoref.learning.train.trainer import Trainer
    from tiny_training import write_streaming_run

    path = write_streaming_run(tmp_path / "run")
    config = Configuration.load(path)
    [encoder, corpus] = [config.encoder.path, config.dev[0].path]
    config = replace_paths(config, tmp_path / "run", encoder, corpus)
    config = config.model_copy(
        update={
            "train": (CorpusConfig(path=labelled), CorpusConfig(path=labelled, longest=20, apart=True)),
            "training": config.training.model_copy(update={"epochs": 12, "own_mentions": 1.0, "head_rate": 5e-3}),
        }
    )
    trainer = Trainer(config, tmp_path / "out")
    trainer.run()
    steps = [json.loads(line) for line in (tmp_path / "out" / "log.jsonl").read_text().splitlines()]
    found = [step["loss"] for step in steps if step["kind"] == "step"]
    assert len(found) == 12 * 12
    assert np.mean(found[-24:]) < 0.9 * np.mean(found[:24])


def replace_paths(config: Any, folder: Path, encoder: Path, corpus: Path) -> Any:
    return config.model_copy(
        update={
            "encoder": config.encoder.model_copy(update={"path": folder / encoder}),
            "dev": (config.dev[0].model_copy(update={"path": folder / corpus}),),
        }
    )
