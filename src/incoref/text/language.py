"""Whether a text looks like English at all: counts of letters and of small words that few other languages have.

Meant for a warning, not for telling languages apart. Silent on little text: a line of chat may hold no such word.
Knows no model.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FEWEST_WORDS = 12
"""Of fewer words, only the script is looked at."""
FEWEST_LETTERS = 4
_LEAST_SHARE = 1 / 20
"""Of small words. English text has three to nine times as many; texts in other languages of the Latin script none."""

FEWEST_WORDS_SO_FAR = 30
_MANY, _LEAST_SHARE_SO_FAR = 60, 1 / 40
"""At some sentence, three of 207 texts of GUM (train, dev) are taken for another language: they begin with lists."""

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
"""Left out: what other languages write too, such as "in", "was", "he", "so", "will", "for"."""


class Evidence(NamedTuple):
    """What some text shows; that of several texts is added up."""

    letters: int = 0
    latin: int = 0
    """Letters of the Latin script."""
    words: int = 0
    """Words of it."""
    small: int = 0
    """Small words of English."""

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
        """Of a whole text."""
        return self._hardly_latin or (self.words >= FEWEST_WORDS and self.small < _LEAST_SHARE * self.words)

    @property
    def hardly_english_so_far(self) -> bool:
        """Of a text that goes on, asked again and again: the title and the names it may begin with prove nothing."""
        none = self.words >= FEWEST_WORDS_SO_FAR and not self.small
        return self._hardly_latin or none or (self.words >= _MANY and self.small < _LEAST_SHARE_SO_FAR * self.words)

    @property
    def _hardly_latin(self) -> bool:
        return self.letters >= FEWEST_LETTERS and 2 * self.latin < self.letters


NO_EVIDENCE = Evidence()


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter < "\u1f00"
