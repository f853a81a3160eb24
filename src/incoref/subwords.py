"""Words to sub-words for the encoder, with the way back: which word each sub-word belongs to.

A block is one or more sentences. A sentence whose speaker is not the one before it starts with the speaker's name and
a colon, which belong to no word, and every sentence ends with the separator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from incoref.errors import IncorefError
from incoref.features import name_words

NO_WORD = -1


@dataclass(frozen=True, slots=True)
class Subwords:
    """Sub-words of some sentences."""

    ids: npt.NDArray[np.int64]  # (n,)
    word: npt.NDArray[np.int64]  # (n,) number of the word within these sentences, or NO_WORD

    def __len__(self) -> int:
        return len(self.ids)


class SubwordTokenizer:
    """A WordPiece tokenizer in the file layout of the ``tokenizers`` library."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.start, self.separator, self.unknown = (
            self._id_of(first, second) for first, second in (("[CLS]", "<s>"), ("[SEP]", "</s>"), ("[UNK]", "<unk>"))
        )

    @classmethod
    def load(cls, path: Path | str) -> SubwordTokenizer:
        if not Path(path).is_file():
            raise IncorefError(f"{path}: no such tokenizer file")
        return cls(Tokenizer.from_file(str(path)))

    def _id_of(self, *names: str) -> int:
        for name in names:
            found = self._tokenizer.token_to_id(name)
            if found is not None:
                return int(found)
        raise IncorefError(f"the tokenizer has no symbol {' or '.join(names)}")

    def encode(self, words: Sequence[str], speaker: str | None = None) -> Subwords:
        """Sub-words of a sentence, its separator included; ``speaker`` only where the turn changes."""
        encoding = self._tokenizer.encode(list(words), is_pretokenized=True, add_special_tokens=False)
        ids: list[int] = list(encoding.ids)
        owners = [int(word) for word in encoding.word_ids if word is not None]
        if len(set(owners)) < len(words):  # a word of control characters alone has no sub-word
            ids, owners = self._with_unknown(ids, owners, len(words))
        prefix: list[int] = []
        if speaker is not None:
            name = [*(name_words(speaker) or ("speaker",)), ":"]
            prefix = list(self._tokenizer.encode(name, is_pretokenized=True, add_special_tokens=False).ids)
        return Subwords(
            np.array([*prefix, *ids, self.separator], np.int64),
            np.array([*[NO_WORD] * len(prefix), *owners, NO_WORD], np.int64),
        )

    def _with_unknown(self, ids: list[int], owners: list[int], words: int) -> tuple[list[int], list[int]]:
        rows = [*zip(owners, ids, strict=True), *((word, self.unknown) for word in set(range(words)) - set(owners))]
        rows.sort(key=lambda row: row[0])
        return [row[1] for row in rows], [row[0] for row in rows]
