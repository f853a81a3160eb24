"""Track quotations: which words are inside quotation marks, and which quotations belong to one speech.

Novels name no speakers for their lines, but an "I" in quotation marks is whoever is speaking there. Text is read
sentence by sentence; the state so far is a value, ``QuotationState``. Independent of mentions and entities.
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
"""Sentences without another mark after which a quotation is assumed to be over: a mark is missing, or was none.

Long speeches have a mark at the start of every paragraph. Single marks are often apostrophes.
"""


class Quoted(NamedTuple):
    """A word's position relative to quotations."""

    number: int = 0
    """Number of the latest speech that has begun, from 1; 0 before the first."""
    inside: bool = False
    """Whether the word is quoted."""
    answers: bool = False
    """Whether that speech follows the previous one with no word in between, as another speaker's would."""


UNQUOTED = Quoted()


@dataclass(frozen=True, slots=True)
class QuotationState:
    """The state of quotations after some sentences."""

    latest: Quoted = UNQUOTED
    mark: str = ""
    """The mark that will close the quotation; empty outside quotations."""
    apart: bool = True
    """Whether any word has followed the latest quotation."""
    sentences: int = 0
    """Sentences read since the latest mark."""

    def scan(self, words: Sequence[str]) -> tuple[list[Quoted], QuotationState]:
        """Return the position of each word of the next sentence, and the state after it."""
        if self.mark and self.sentences >= (_LONGEST_SINGLE if self.mark in _APOSTROPHES else _LONGEST):
            return self.ended().scan(words)
        latest, mark, apart, sentences = self.latest, self.mark, self.apart, self.sentences + 1
        if _MARKS.isdisjoint(words):
            return [latest] * len(words), QuotationState(latest, mark, apart or not mark, sentences)
        places: list[Quoted] = []
        interrupted = False  # whether a quotation has ended in this sentence; it may continue after "he said"
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
        """Return the state after the end of a turn: any open quotation has ended."""
        return QuotationState(self.latest._replace(inside=False, answers=False))


NO_QUOTATIONS = QuotationState()


def _begins(words: Sequence[str], place: int) -> bool:
    word = words[place]
    if word not in _CLOSING:
        return False
    first, last = place == 0, place == len(words) - 1
    if word in _APOSTROPHES or word == "`":
        return not last and (first or words[place - 1] in _PUNCTUATION)
    return first or not last or word != '"'  # a plain " at the end of a sentence begins nothing


def _ends(mark: str, words: Sequence[str], place: int) -> bool:
    word = words[place]
    if word != mark:
        return False
    if word in _APOSTROPHES:  # after a word it is an apostrophe, but not at the end of a sentence
        return place > 0 and (words[place - 1] in _PUNCTUATION or place == len(words) - 1)
    return not (word == '"' and place == 0 and len(words) > 1)  # a plain " at the start begins or continues one


def quotations(
    sentences: Iterable[tuple[Sequence[str], str | None]], state: QuotationState, speaker: str | None
) -> tuple[list[list[Quoted]], QuotationState]:
    """Return the positions of the words of each sentence, and the state after the last sentence.

    Sentences are pairs of words and speaker; ``speaker`` is the speaker before the first. Quotations end with their
    speaker's turn.
    """
    by_sentence = []
    for words, said_by in sentences:
        if said_by != speaker:
            state, speaker = state.ended(), said_by
        places, state = state.scan(words)
        by_sentence.append(places)
    return by_sentence, state
