"""Corpora for training: which documents are taken, how annotations of one text come together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref import corpora
from incoref.errors import IncorefError
from incoref.learning.config import CorpusConfig
from incoref.learning.data import sources
from tiny_models import document, random_utterances
from tiny_training import write_corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "some.conll"
    write_corpus(path, 7)
    return path


def ids(config: CorpusConfig) -> list[int]:
    return [int(found.id[-4:]) for found in sources.load(config)]


def test_a_limit_is_spread_over_the_corpus(corpus: Path) -> None:
    assert ids(CorpusConfig(path=corpus, limit=3)) == [0, 2, 4]
    assert ids(CorpusConfig(path=corpus, limit=9)) == list(range(7))


def test_listed_documents_in_their_order(corpus: Path, tmp_path: Path) -> None:
    listing = tmp_path / "ids.txt"
    listing.write_text("bc/text/00/text_0004\nnw/text/00/text_0001\n", encoding="utf-8")
    assert ids(CorpusConfig(path=corpus, documents=listing)) == [4, 1]
    listing.write_text("other", encoding="utf-8")
    with pytest.raises(IncorefError, match=r"ids\.txt lists 'other', which .*some\.conll does not have"):
        ids(CorpusConfig(path=corpus, documents=listing))
    with pytest.raises(IncorefError, match=r"none\.txt: the list of documents can't be read"):
        ids(CorpusConfig(path=corpus, documents=tmp_path / "none.txt"))


def test_a_genre_for_all(corpus: Path) -> None:
    assert {found.genre for found in sources.load(CorpusConfig(path=corpus, genre="tc"))} == {"tc"}


def test_mentions_of_another_annotation_become_singletons(tmp_path: Path) -> None:
    sentences = random_utterances(3, longest=8)
    corpora.write([document(sentences, [[(0, 0), (2, 2)]])], tmp_path / "links.conll", "conll-2012")
    corpora.write([document(sentences, [[(0, 0), (1, 1)]])], tmp_path / "all.conll", "conll-2012")
    [found] = sources.load(CorpusConfig(path=tmp_path / "links.conll", singletons_from=tmp_path / "all.conll"))
    assert [[m.tokens for m in entity.mentions] for entity in found.entities] == [[(0, 1), (2, 3)], [(1, 2)]]
    corpora.write([document(sentences, id="other")], tmp_path / "all.conll", "conll-2012")
    with pytest.raises(IncorefError, match=r"all\.conll has no document 'tiny'"):
        sources.load(CorpusConfig(path=tmp_path / "links.conll", singletons_from=tmp_path / "all.conll"))


def test_singletons_can_be_left_out_of_what_is_learned_from(tmp_path: Path) -> None:
    some = document(random_utterances(3, longest=8), [[(0, 0), (2, 2)], [(1, 1)]])
    corpora.write([some], tmp_path / "some.conll", "conll-2012")
    config = CorpusConfig(path=tmp_path / "some.conll", drop_singletons=True)
    [source] = sources.sources([config])
    assert [[m.tokens for m in entity.mentions] for entity in source.annotated[0].document.entities] == [
        [(0, 1), (2, 3)]
    ]
    assert len(sources.load(config)[0].entities) == 2, "an evaluation drops them on both sides, when it scores"


def test_annotations_of_the_same_text_are_one_source_or_not(corpus: Path) -> None:
    configs = [CorpusConfig(path=corpus, scheme="one", share=0.5), CorpusConfig(path=corpus, scheme="two", weight=2)]
    together, apart = sources.sources(configs), sources.sources(configs, together=False)
    assert [[(a.scheme, a.weight) for a in source.annotated] for source in together] == [[("one", 1), ("two", 2)]] * 7
    assert [len(source.annotated) for source in apart] == [1] * 14
    assert {source.share for source in together} == {0.5}


def test_dialogues_can_be_visited_more_often(tmp_path: Path) -> None:
    sentences = random_utterances(3, longest=8)
    spoken = {"monologue": ("Anna", "Anna", None), "dialogue": ("Anna", "Berta", None)}
    made = [
        document([s._replace(speaker=who) for s, who in zip(sentences, speakers, strict=True)], id=id)
        for id, speakers in spoken.items()
    ]
    corpora.write(made, tmp_path / "talk.conll", "conll-2012")
    config = CorpusConfig(path=tmp_path / "talk.conll", share=0.5, dialogue_share=1.5)
    assert {source.id: source.share for source in sources.sources([config])} == {"monologue": 0.5, "dialogue": 1.5}
    stretches = CorpusConfig(path=tmp_path / "talk.conll", dialogues_only=True, apart=True, longest=5)
    found = sources.sources([config, stretches])
    assert [(source.id, source.longest) for source in found] == [
        ("monologue", None),
        ("dialogue", None),
        ("dialogue", 5),
    ]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 30), st.integers(0, 99))
def test_stretches_are_whole_sentences_and_short_enough(lengths: list[int], longest: int, seed: int) -> None:
    start, end = sources.random_stretch(lengths, longest, np.random.default_rng(seed))
    assert 0 <= start < end <= len(lengths)
    assert sum(lengths[start:end]) <= longest or end == start + 1
    if sum(lengths) <= longest:
        assert (start, end) == (0, len(lengths))
    elif end < len(lengths):
        assert sum(lengths[start : end + 1]) > longest


def test_mentions_move_with_their_sentences() -> None:
    whole = document(random_utterances(4, longest=5, seed=3), [[(0, 0)], [(5, 5), (6, 7)]])
    before = len(whole.sentences[0])
    part = sources.sentences_of(whole, 1, 4)
    assert len(part.tokens) == len(whole.tokens) - before
    for entity in part.entities:
        for mention in entity.mentions:
            words = [token.text for token in part.tokens[slice(*mention.tokens)]]
            assert " ".join(words) == mention.text
            assert part.sentences[mention.sentence].start <= mention.start
