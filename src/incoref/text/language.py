"""Detects text that hardly looks like English, by the share of Latin letters and of common English words.

Meant for a warning, not for identifying languages. Makes no claim about short text: a line of chat may contain no
common word. Independent of the model.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FEWEST_WORDS = 12
"""Texts with fewer words are only judged by their script."""
FEWEST_LETTERS = 4
_LEAST_SHARE = 1 / 20
"""Minimum share of common words. English has three to nine times as many, other languages in Latin script none."""

FEWEST_WORDS_SO_FAR = 30
_MANY, _LEAST_SHARE_SO_FAR = 60, 1 / 40
"""With these thresholds, 3 of 207 texts in GUM (train, dev) are flagged at some sentence: they begin with lists."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CLITICS = ("n't", "'ve", "'ll", "'re", "'m", "'s", "'d")
_SMALL_WORDS = frozenset(
    """
    about after again against and are because been before being between both but call can could did does doing don
    down each every few find from get give going got have having hello hey him his how into it its just know like
    make my need not off ok okay only other our ours out own play please said send she should show tell than thank
    thanks that the their them then there these they think this those through to today tomorrow too under until up
    very want were what when where which while who whose why with would yeah yes you your yours
    """.split()
)
"""Excludes words that other languages spell the same way, such as "in", "was", "he", "so", "will", "for"."""


class Evidence(NamedTuple):
    """Counts over a text, or accumulated over several."""

    letters: int = 0
    latin: int = 0
    """Letters in Latin script."""
    words: int = 0
    """Words with letters in Latin script."""
    small: int = 0
    """Common English words."""

    def with_text(self, text: str) -> Evidence:
        letters, latin, words, small = self
        for match in _WORD.finditer(text):
            word = match[0]
            inside = len(word) if word.isascii() else sum(map(_is_latin, word))
            letters, latin = letters + len(word), latin + inside
            if inside:
                word = word.lower().replace("’", "'")
                words += 1
                small += word in _SMALL_WORDS or word.endswith(_CLITICS)
        return Evidence(letters, latin, words, small)

    @property
    def hardly_english(self) -> bool:
        """Whether a complete text hardly looks like English."""
        return self._hardly_latin or (self.words >= FEWEST_WORDS and self.small < _LEAST_SHARE * self.words)

    @property
    def hardly_english_so_far(self) -> bool:
        """Whether an arriving text hardly looks like English; needs more evidence, as it may begin with names."""
        none = self.words >= FEWEST_WORDS_SO_FAR and not self.small
        return self._hardly_latin or none or (self.words >= _MANY and self.small < _LEAST_SHARE_SO_FAR * self.words)

    @property
    def _hardly_latin(self) -> bool:
        return self.letters >= FEWEST_LETTERS and 2 * self.latin < self.letters


NO_EVIDENCE = Evidence()


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter < "\u1f00"
