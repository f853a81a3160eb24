"""Documents as the paper's model reads them, in both modes, and its mentions back to words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from incoref.errors import IncorefError
from incoref.learning.paper.config import Mode, PaperConfig, Setting
from incoref.learning.paper.reading import read_paper, with_annotation, word_clusters
from incoref.model.subwords import SubwordTokenizer, Utterance
from incoref.model.transitions import Action, Span
from incoref.types import Document
from tiny_models import WORDS, document, random_document
from tiny_training import write_xlnet

CLS, SEP = 3, 4


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> SubwordTokenizer:
    folder = tmp_path_factory.mktemp("xlnet") / "encoder"
    write_xlnet(folder)
    return SubwordTokenizer.load(folder / "tokenizer.json")


def config(mode: Mode, setting: Setting = Setting.SENT_INC, **fields: object) -> PaperConfig:
    return PaperConfig.model_validate({"mode": mode, "setting": setting, "genres": ("nw", "bc"), **fields})


def text(*sentences: str, speakers: tuple[str | None, ...] = (), genre: str | None = "bc") -> Document:
    said = [*speakers, *[None] * (len(sentences) - len(speakers))]
    made = document([Utterance(tuple(s.split()), speaker) for s, speaker in zip(sentences, said, strict=True)])
    return Document(made.id, made.text, made.sentences, made.entities, genre)


def test_words_are_the_buffer_in_paper_mode(tokenizer: SubwordTokenizer) -> None:
    found = read_paper(text("the teacher saw", "it"), tokenizer, config(Mode.PAPER)).document
    first, second = found.sentences
    assert (first[0], first[-1], second[0], second[-1]) == (CLS, SEP, CLS, SEP)
    assert len(first) > 5  # "teacher" is several sub-words
    assert found.buffer is not None
    assert found.buffer[0] == (1, 2, len(first) - 2)
    assert found.buffer_lengths == (3, 1)
    assert found.genre == 1


def test_all_sub_words_are_the_buffer_in_reference_mode(tokenizer: SubwordTokenizer) -> None:
    reading = read_paper(text("the teacher saw", "it"), tokenizer, config(Mode.REFERENCE))
    found = reading.document
    assert found.buffer is None
    assert found.buffer_lengths == found.lengths
    assert [speakers[0] for speakers in found.speakers] == [1, 1]
    assert reading.word[0] == reading.word[found.lengths[0] - 1] == -1
    assert reading.words_of((1, found.lengths[0] - 2)) == (0, 2)
    assert reading.words_of((0, 2)) is None


def test_speakers_are_numbered_by_appearance(tokenizer: SubwordTokenizer) -> None:
    said = text("I saw", "you", "I left", "it", speakers=("Berta", "Anna", "Berta", None))
    found = read_paper(said, tokenizer, config(Mode.PAPER)).document
    assert [speakers[0] for speakers in found.speakers] == [2, 3, 2, 4]


def test_the_reference_drops_ontonotes_slashes(tokenizer: SubwordTokenizer) -> None:
    slashed, plain = text("he left /."), text("he left .")
    reference, paper = config(Mode.REFERENCE), config(Mode.PAPER)
    assert read_paper(slashed, tokenizer, reference).document == read_paper(plain, tokenizer, reference).document
    assert read_paper(slashed, tokenizer, paper).document != read_paper(plain, tokenizer, paper).document


def test_reference_part_inc_reads_segments_of_whole_sentences(tokenizer: SubwordTokenizer) -> None:
    sentences = ["he saw it", "she met the man", "they left", "I was in the city"]
    found = read_paper(text(*sentences), tokenizer, config(Mode.REFERENCE, Setting.PART_INC, window=10)).document
    words = [[i for i in segment if i not in (CLS, SEP)] for segment in found.sentences]
    assert [len(segment) for segment in words] == [7, 7]
    assert all((segment[0], segment[-1]) == (CLS, SEP) and len(segment) <= 10 for segment in found.sentences)


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("setting", Setting)
def test_a_long_sentence_is_cut(tokenizer: SubwordTokenizer, mode: Mode, setting: Setting) -> None:
    reading = read_paper(text("he " * 50), tokenizer, config(mode, setting, window=12))
    assert max(reading.document.lengths) <= 12
    assert sorted(set(reading.word.tolist()) - {-1}) == list(range(50))


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("setting", Setting)
@pytest.mark.parametrize("seed", range(4))
def test_gold_mentions_come_back(tokenizer: SubwordTokenizer, mode: Mode, setting: Setting, seed: int) -> None:
    made = random_document(9, seed)
    given = Document(made.id, made.text, made.sentences, made.entities, "nw")
    chosen = config(mode, setting, k=3, window=600)
    reading = read_paper(given, tokenizer, chosen)
    found, dropped = with_annotation(reading, given, chosen)
    assert not dropped
    clusters: dict[int, list[tuple[int, int]]] = {}
    for span, entity in zip(mentions_of(found.actions), found.entity_of, strict=True):
        clusters.setdefault(entity, []).append(span)
    words = word_clusters(reading, clusters.values())
    wanted = [sorted(mention.tokens for mention in entity.mentions) for entity in given.entities]
    assert sorted(sorted(cluster) for cluster in words) == sorted(wanted)


def mentions_of(actions: Sequence[Action]) -> list[Span]:
    """The mentions of a whole document's derivation, of any chunks."""
    stack: list[int] = []
    found, token = [], 0
    for action in actions:
        if action is Action.ADVANCE:
            token += 1
        elif action is Action.PUSH:
            stack.append(token)
        else:
            found.append((stack[-1] if action is Action.PEEK else stack.pop(), token))
    return found


def test_dropped_mentions_have_reasons(tokenizer: SubwordTokenizer) -> None:
    sentences = [Utterance(tuple(WORDS[:4])), Utterance(tuple(WORDS[4:8]))]
    made = document(sentences, [[(0, 1), (1, 2)], [(3, 4)], [(5, 5)], [(5, 5)]])
    given = Document(made.id, made.text, made.sentences, made.entities, "nw")
    found, dropped = with_annotation(read_paper(given, tokenizer, config(Mode.PAPER)), given, config(Mode.PAPER))
    assert dict(dropped) == {"crossing another": 1, "across a block's end": 1, "same span as another": 1}
    assert len(found.entity_of) == 2


@pytest.mark.parametrize(("genre", "stated"), [(None, "no genre"), ("xx", "the genre 'xx'")])
def test_a_genre_must_be_known(tokenizer: SubwordTokenizer, genre: str | None, stated: str) -> None:
    with pytest.raises(IncorefError, match=rf"'tiny' has {stated}; paper\.genres knows nw, bc"):
        read_paper(text("he", genre=genre), tokenizer, config(Mode.PAPER))
