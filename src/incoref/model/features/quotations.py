"""Where a text quotes someone: which words stand in quotation marks, and which of the quotations are one speech.

Novels have no speakers, but their quotations do: an "I" in quotation marks is whoever speaks there. Read sentence by
sentence: what was read is a value, ``QuotationState``. Knows no mentions and no entities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_CLOSING = {"“": "”", "``": "''", '"': '"', "„": "“", "«": "»", "‘": "’", "'": "'", "`": "'"}
_APOSTROPHES = frozenset("’'")
_MARKS = frozenset(_CLOSING) | frozenset(_CLOSING.values())
_PUNCTUATION = frozenset(". , ; : ! ? - -- – — … ... ”".split())
_LONGEST, _LONGEST_SINGLE = 10, 4
"""Sentences after which a quotation without another mark is taken to be over: one was left out, or was none.

Long speeches have a mark at the start of every paragraph. Single marks are often apostrophes.
"""


class Quoted(NamedTuple):
    """Where a word stands."""

    number: int = 0
    """Of the latest speech that has begun, from one; zero before the first."""
    inside: bool = False
    """Whether the word is quoted."""
    answers: bool = False
    """Whether that speech follows the one before without a word between them, as another's does."""


UNQUOTED = Quoted()


@dataclass(frozen=True, slots=True)
class QuotationState:
    """What is known of quotations after some sentences."""

    latest: Quoted = UNQUOTED
    mark: str = ""
    """The one that will end the quotation; none outside."""
    apart: bool = True
    """Whether a word has been said since the latest quotation ended."""
    sentences: int = 0
    """How many have been read since the latest mark."""

    def scan(self, words: Sequence[str]) -> tuple[list[Quoted], QuotationState]:
        """Where each word of the next sentence stands, and the state after it."""
        if self.mark and self.sentences >= (_LONGEST_SINGLE if self.mark in _APOSTROPHES else _LONGEST):
            return self.ended().scan(words)
        latest, mark, apart, sentences = self.latest, self.mark, self.apart, self.sentences + 1
        if _MARKS.isdisjoint(words):
            return [latest] * len(words), QuotationState(latest, mark, apart or not mark, sentences)
        places: list[Quoted] = []
        interrupted = False  # whether a quotation has ended in this sentence: it goes on after "he said"
        for place, word in enumerate(words):
            if mark and _ends(mark, words, place):
                latest, mark, apart, interrupted, sentences = latest._replace(inside=False), "", False, True, 0
            elif not mark and _begins(words, place):
                mark, sentences = _CLOSING[word], 0
                if interrupted and apart:
                    latest = latest._replace(inside=True)
                else:
                    latest = Quoted(latest.number + 1, True, not apart)
            elif mark and _CLOSING.get(word) == mark:
                sentences = 0
            elif not mark and word not in _MARKS:
                apart = True
            places.append(latest)
        return places, QuotationState(latest, mark, apart, sentences)

    def ended(self) -> QuotationState:
        """The state once whoever quoted someone has ended to speak."""
        return QuotationState(self.latest._replace(inside=False, answers=False))


NO_QUOTATIONS = QuotationState()


def _begins(words: Sequence[str], place: int) -> bool:
    word = words[place]
    if word not in _CLOSING:
        return False
    first, last = place == 0, place == len(words) - 1
    if word in _APOSTROPHES or word == "`":
        return not last and (first or words[place - 1] in _PUNCTUATION)
    return first or not last or word != '"'  # the last word of a sentence begins nothing, where that can be asked


def _ends(mark: str, words: Sequence[str], place: int) -> bool:
    word = words[place]
    if word != mark:
        return False
    if word in _APOSTROPHES:  # after a word it is an apostrophe, but not at the end of a sentence
        return place > 0 and (words[place - 1] in _PUNCTUATION or place == len(words) - 1)
    return not (word == '"' and place == 0 and len(words) > 1)  # what opens a sentence begins a quotation, or goes on


def quotations(
    sentences: Iterable[tuple[Sequence[str], str | None]], state: QuotationState, speaker: str | None
) -> tuple[list[list[Quoted]], QuotationState]:
    """Where the words of each sentence stand, and the state after the last; sentences are words and who says them.

    ``speaker`` is the one before the first. Quotations end with their speaker's turn.
    """
    by_sentence = []
    for words, said_by in sentences:
        if said_by != speaker:
            state, speaker = state.ended(), said_by
        places, state = state.scan(words)
        by_sentence.append(places)
    return by_sentence, state
