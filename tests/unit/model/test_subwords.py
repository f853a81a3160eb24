"""Words to sub-words and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from incoref.errors import IncorefError
from incoref.model.subwords import (
    NO_WORD,
    WRITING,
    WRITINGS,
    SubwordTokenizer,
    Utterance,
    blocks_of,
    encode_in_pieces,
    joined,
    writings,
)
from tiny_models import TinyModels, random_utterances
from tiny_models import tokenizer as tiny_tokenizer


@pytest.fixture(scope="module")
def tokenizer(tiny: TinyModels) -> SubwordTokenizer:
    return tiny.tokenizer


def test_every_subword_knows_its_word(tokenizer: SubwordTokenizer) -> None:
    found = tokenizer.encode(("the", "walked", "man"))
    assert found.word.tolist() == [0, *[1] * 6, 2, NO_WORD]
    assert found.ids[-1] == tokenizer.separator
    assert found.words == 3


def test_words_of_byte_level_vocabularies_have_a_space_before_them() -> None:
    """RoBERTa's pieces of "man" inside a text are not those of "man" at its start."""
    pieces = ["<s>", "</s>", "<unk>", *dict.fromkeys("Ġmanthe")]
    bpe = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, [], unk_token="<unk>"))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    encoded = SubwordTokenizer(bpe).encode(("the", "man"))
    assert [pieces[id] for id in encoded.ids] == [*"Ġthe", *"Ġman", "</s>"]
    assert encoded.word.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, NO_WORD]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The man saw Anna in Hong Kong .", "2 0 0 1 0 1 1 0"),
        ("“ Well , I met NASA ’s McDonald", "0 2 0 1 0 3 0 1"),
        ("1984 Was iPhone A Émigré", "0 1 0 1 1"),
        ("STOP Now", "3 1"),
        ("he left", "0 0"),
    ],
)
def test_how_words_are_written(sentence: str, expected: str) -> None:
    assert writings(sentence.split()) == [int(number) for number in expected.split()]


@given(st.lists(st.text(min_size=1, max_size=8), max_size=10), st.sampled_from((None, "Anna")))
def test_numbers_say_how_words_are_written_and_nothing_else_changes(
    tiny: TinyModels, words: list[str], speaker: str | None
) -> None:
    told = SubwordTokenizer(tiny_tokenizer(), capitals=True).encode(words, speaker)
    plain = tiny.tokenizer.encode(words, speaker)
    assert (told.ids % WRITING).tolist() == plain.ids.tolist()
    assert told.word.tolist() == plain.word.tolist()
    expected = [0 if word == NO_WORD else writings(words)[word] for word in told.word]
    assert (told.ids // WRITING).tolist() == expected
    assert all(0 <= number < WRITINGS for number in expected)


def test_a_turn_starts_with_the_speakers_name(tokenizer: SubwordTokenizer) -> None:
    plain = tokenizer.encode(("he", "left"))
    spoken = tokenizer.encode(("he", "left"), "AnnaBerta")
    prefix = len(spoken) - len(plain)
    assert spoken.word[:prefix].tolist() == [NO_WORD] * prefix
    assert spoken.ids[prefix:].tolist() == plain.ids.tolist()
    assert spoken.ids[:prefix].tolist() == tokenizer.encode(("anna", "berta", ":")).ids[:-1].tolist()


def test_a_speaker_without_a_name_has_a_prefix_too(tokenizer: SubwordTokenizer) -> None:
    assert len(tokenizer.encode(("he",), "")) > len(tokenizer.encode(("he",)))


def test_a_long_name_is_cut(tokenizer: SubwordTokenizer) -> None:
    assert len(tokenizer.encode(("he",), "x" * 500)) <= 16 + len(tokenizer.encode(("he",)))


@pytest.mark.parametrize("word", ["\u200b", "\x00", "\ufeff", "日", "🙂", "\ud800", ""])
def test_no_word_is_lost(tokenizer: SubwordTokenizer, word: str) -> None:
    """Words of control characters, or of what the vocabulary lacks, have the unknown sub-word."""
    found = tokenizer.encode(("the", word, "man"))
    assert sorted(set(found.word.tolist())) == [NO_WORD, 0, 1, 2]
    assert (np.diff(found.word[:-1]) >= 0).all()
    assert found.ids[found.word == 1].tolist() == [tokenizer.unknown]


def test_blocks_of_k_sentences(tokenizer: SubwordTokenizer) -> None:
    texts = [Utterance(("the", "man")) for _ in range(7)]
    assert [len(block) for block in blocks_of(texts, tokenizer, 50, 1)] == [1] * 7
    assert [len(block) for block in blocks_of(texts, tokenizer, 50, 3)] == [3, 3, 1]
    assert [len(block) for block in blocks_of(texts, tokenizer, 7, 3)] == [2, 2, 2, 1]
    assert [len(block) for block in blocks_of(texts, tokenizer, 12, None)] == [4, 3]


@pytest.mark.parametrize("k", [1, 4, None])
def test_blocks_hold_all_words_and_none_is_too_long(tokenizer: SubwordTokenizer, k: int | None) -> None:
    texts = random_utterances(60, longest=40)
    blocks = blocks_of(texts, tokenizer, 33, k)
    words = [word for block in blocks for utterance, _ in block for word in utterance.words]
    assert words == [word for utterance in texts for word in utterance.words]
    assert max(sum(len(part) for _, part in block) for block in blocks) <= 33
    for block in blocks:
        for utterance, part in block:
            assert part.words == len(utterance.words)


def test_only_the_first_piece_of_a_long_sentence_starts_a_turn(tokenizer: SubwordTokenizer) -> None:
    pieces = encode_in_pieces(Utterance(("the", "man") * 10, "Anna"), True, tokenizer, 12)
    assert len(pieces) > 1
    assert all(utterance.speaker == "Anna" for utterance, _ in pieces)
    named = [part.ids[0] == tokenizer.encode((), "Anna").ids[0] for _, part in pieces]
    assert named == [True] + [False] * (len(pieces) - 1)


def test_a_word_longer_than_a_block_is_cut_and_stays_one_word(tokenizer: SubwordTokenizer) -> None:
    ((utterance, part),) = encode_in_pieces(Utterance(("walked" * 10,)), False, tokenizer, 12)
    assert len(part) == 12
    assert part.words == len(utterance.words) == 1


def test_a_speaker_is_named_only_where_the_turn_changes(tokenizer: SubwordTokenizer) -> None:
    texts = [Utterance(("he",), "Anna"), Utterance(("she",), "Anna"), Utterance(("it",), None)]
    lengths = [len(block[0][1]) for block in blocks_of(texts, tokenizer, 50)]
    assert lengths[0] > lengths[1] == lengths[2] == 2
    (first, *_) = blocks_of(texts, tokenizer, 50, speaker="Anna")
    assert len(first[0][1]) == 2


def test_joined_sentences_number_their_words_on(tokenizer: SubwordTokenizer) -> None:
    whole = joined([tokenizer.encode(("the", "man")), tokenizer.encode(("he",))])
    assert whole.word.tolist() == [0, 1, NO_WORD, 2, NO_WORD]
    assert whole.words == 3


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(IncorefError, match=r"tokenizer\.json: no such tokenizer file"):
        SubwordTokenizer.load(tmp_path / "tokenizer.json")


def test_a_tokenizer_without_special_symbols_is_refused() -> None:
    with pytest.raises(IncorefError, match=r"has no symbol \[CLS\]"):
        SubwordTokenizer(Tokenizer(models.WordPiece({"a": 0, "[UNK]": 1}, unk_token="[UNK]")))
