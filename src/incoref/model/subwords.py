"""Split words into sub-words for the encoder, and record which word each sub-word belongs to.

A block is one or more sentences. Where the speaker changes, a sentence starts with the speaker's name and a colon,
which belong to no word. Every sentence ends with the separator.

For an encoder with an uncased vocabulary, a sub-word's id can also encode its word's capitalisation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer
from tokenizers.pre_tokenizers import ByteLevel

from incoref.errors import IncorefError
from incoref.model.features import name_words
from incoref.types import Document

NO_WORD = -1
WRITING = 1 << 20
"""A sub-word's id is its vocabulary id plus this many times its word's capitalisation; no vocabulary is as large."""
WRITINGS = 4
_PLAIN, _CAPITAL, _FIRST_CAPITAL, _CAPITALS = range(WRITINGS)
_LONGEST_NAME = 16  # sub-words of a speaker's name


class Utterance(NamedTuple):
    """A sentence as the model takes it."""

    words: tuple[str, ...]
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Subwords:
    """The sub-words of one or more sentences."""

    ids: npt.NDArray[np.int64]  # (n,) vocabulary ids, with the words' capitalisation if the encoder takes it
    word: npt.NDArray[np.int64]  # (n,) index of the word within these sentences, or NO_WORD

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def words(self) -> int:
        """The number of words."""
        return int(self.word.max(initial=NO_WORD)) + 1


class SubwordTokenizer:
    """A tokenizer in the file format of the ``tokenizers`` library, with the symbols of BERT, XLNet or RoBERTa."""

    def __init__(self, tokenizer: Tokenizer, capitals: bool = False) -> None:
        """With ``capitals``, ids include the words' capitalisation."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if isinstance(tokenizer.pre_tokenizer, ByteLevel):  # RoBERTa's: a word is encoded differently after a space
            tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=True)
        self._tokenizer, self._capitals = tokenizer, capitals
        self.start, self.separator, self.unknown = (
            self._id_of(*names)
            for names in (("[CLS]", "<cls>", "<s>"), ("[SEP]", "<sep>", "</s>"), ("[UNK]", "<unk>"))
        )

    @property
    def mask(self) -> int:
        """The id of the mask symbol, or of the unknown symbol if there is none."""
        return self._id_of("[MASK]", "<mask>", "[UNK]", "<unk>")

    @classmethod
    def load(cls, path: Path | str, capitals: bool = False) -> SubwordTokenizer:
        if not Path(path).is_file():
            raise IncorefError(f"{path}: no such tokenizer file")
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises nothing more specific
            raise IncorefError(f"{path}: not a tokenizer file: {error}") from error
        return cls(tokenizer, capitals)

    def _id_of(self, *names: str) -> int:
        for name in names:
            id = self._tokenizer.token_to_id(name)
            if id is not None:
                return int(id)
        raise IncorefError(f"the tokenizer has no symbol {' or '.join(names)}")

    def encode(self, words: Sequence[str], speaker: str | None = None) -> Subwords:
        """Return a sentence's sub-words, separator included; pass ``speaker`` only where the turn changes."""
        encodable = [word if word.isprintable() else _without_surrogates(word) for word in words]
        encoding = self._tokenizer.encode(encodable, is_pretokenized=True, add_special_tokens=False)
        ids: list[int] = list(encoding.ids)
        owners = [int(word) for word in encoding.word_ids if word is not None]
        if len(set(owners)) < len(words):  # a word of only control characters has no sub-words
            ids, owners = self._with_unknown(ids, owners, len(words))
        if self._capitals:
            writing = writings(words)
            ids = [id + WRITING * writing[owner] for id, owner in zip(ids, owners, strict=True)]
        prefix: list[int] = []
        if speaker is not None:
            name = [*(name_words(speaker) or ("speaker",)), ":"]
            name_ids = self._tokenizer.encode(name, is_pretokenized=True, add_special_tokens=False).ids
            prefix = list(name_ids)[:_LONGEST_NAME]
        return Subwords(
            np.array([*prefix, *ids, self.separator], np.int64),
            np.array([*[NO_WORD] * len(prefix), *owners, NO_WORD], np.int64),
        )

    def _with_unknown(self, ids: list[int], owners: list[int], words: int) -> tuple[list[int], list[int]]:
        rows = [*zip(owners, ids, strict=True), *((word, self.unknown) for word in set(range(words)) - set(owners))]
        rows.sort(key=lambda row: row[0])
        return [row[1] for row in rows], [row[0] for row in rows]


def writings(words: Sequence[str]) -> list[int]:
    """Classify each word's capitalisation; a sentence's first capital says less and has a class of its own."""
    kinds, first = [], True
    for word in words:
        if not word[:1].isupper():
            kinds.append(_PLAIN)
        elif len(word) > 1 and word.isupper():
            kinds.append(_CAPITALS)
        else:
            kinds.append(_FIRST_CAPITAL if first else _CAPITAL)
        first = first and not any(map(str.isalnum, word))
    return kinds


def _without_surrogates(word: str) -> str:
    """Replace lone surrogates, which can't be encoded, with question marks."""
    return word.encode("utf-8", "replace").decode("utf-8")


def utterances_of(document: Document) -> Iterator[Utterance]:
    """Yield the sentences of a document."""
    for sentence in document.sentences:
        yield Utterance(tuple(token.text for token in sentence.tokens), sentence.speaker)


def blocks_of(
    utterances: Iterable[Utterance],
    tokenizer: SubwordTokenizer,
    longest: int,
    k: int | None = 1,
    speaker: str | None = None,
) -> list[list[tuple[Utterance, Subwords]]]:
    """Group sentences into blocks of up to k sentences (None: as many as fit) and at most ``longest`` sub-words.

    A longer sentence is cut into several. ``speaker`` is the speaker of the sentence before the first.
    """
    blocks: list[list[tuple[Utterance, Subwords]]] = []
    room = 0
    for utterance in utterances:
        turn_starts = utterance.speaker != speaker
        speaker = utterance.speaker
        for piece in encode_in_pieces(utterance, turn_starts, tokenizer, longest):
            length = len(piece[1])
            if not blocks or len(blocks[-1]) == k or length > room:
                blocks.append([])
                room = longest
            blocks[-1].append(piece)
            room -= length
    return blocks


def encode_in_pieces(
    utterance: Utterance, turn_starts: bool, tokenizer: SubwordTokenizer, longest: int
) -> list[tuple[Utterance, Subwords]]:
    """Encode a sentence, halving it between words until every piece fits."""
    words, speaker = utterance
    whole = tokenizer.encode(words, speaker if turn_starts else None)
    if len(whole) <= longest:
        return [(utterance, whole)]
    if len(words) == 1:
        return [(utterance, Subwords(whole.ids[:longest], whole.word[:longest]))]
    middle = len(words) // 2
    left = encode_in_pieces(Utterance(words[:middle], speaker), turn_starts, tokenizer, longest)
    return left + encode_in_pieces(Utterance(words[middle:], speaker), False, tokenizer, longest)


def joined(parts: Sequence[Subwords]) -> Subwords:
    """Concatenate sentences, numbering their words consecutively."""
    if len(parts) == 1:
        return parts[0]
    offsets = np.cumsum([0, *(part.words for part in parts)])
    words = [
        np.where(part.word == NO_WORD, NO_WORD, part.word + offset)
        for part, offset in zip(parts, offsets[:-1], strict=True)
    ]
    return Subwords(np.concatenate([part.ids for part in parts]), np.concatenate(words))
