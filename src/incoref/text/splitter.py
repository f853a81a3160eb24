"""Splits running text, in arbitrary pieces, into sentences of words with exact character offsets.

A splitter is stateless: text that hasn't been returned as sentences yet is a value, ``Pending``, which is passed in
and returned. However a text is cut into pieces, the sentences are the same, and each is returned at the same
character. Independent of speakers, files and models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from incoref.text.boundaries import Gap, Verdict, column_at, judge
from incoref.text.characters import BLANK, FULL_WIDTH_CLOSERS, FULL_WIDTH_STOPS
from incoref.text.lexicon import FUSED
from incoref.text.words import cut
from incoref.types import Attributes, Sentence, Token

FORCED: Attributes = (("split", "length"),)
"""Attributes of a sentence that was cut off only because it was too long."""

LONGEST_STRETCH = 400
"""Maximum length of a stretch without blanks; longer ones are cut."""

_STRETCH = re.compile(
    rf"((?:[^{BLANK}{FULL_WIDTH_STOPS}]{{1,{LONGEST_STRETCH}}}+|(?=[{FULL_WIDTH_STOPS}]))"
    rf"([{FULL_WIDTH_STOPS}]{{1,{LONGEST_STRETCH}}}+[{FULL_WIDTH_CLOSERS}]{{0,9}}+)?)([{BLANK}]*+)"
)
_BLANKS = re.compile(rf"[{BLANK}]*+")
_CLAUSE_ENDS = frozenset(",;:—–-")


class Progress(NamedTuple):
    """How far a pending text has been read. Can be recomputed from the text; kept only to save time."""

    position: int
    tokens: tuple[Token, ...]


_NOTHING_READ = Progress(0, ())


@dataclass(frozen=True, slots=True)
class Pending:
    """Text whose sentence hasn't ended yet. It doesn't start with a blank."""

    text: str = ""
    offset: int = 0
    """Offset of this text in the whole text."""
    column: int = 0
    """Number of characters before the text on its line, not counting indentation."""
    progress: Progress = field(default=_NOTHING_READ, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "offset": self.offset, "column": self.column}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Pending:
        return cls(data["text"], data["offset"], data["column"])


class Splitter(Protocol):
    """Splits text that arrives in pieces into sentences."""

    def feed(self, pending: Pending, piece: str) -> tuple[list[Sentence], Pending]:
        """Return the sentences that are now certain to have ended, and the text still pending."""
        ...

    def flush(self, pending: Pending) -> tuple[list[Sentence], Pending]:
        """Return the sentences in the pending text, given that nothing follows, and an empty ``Pending``."""
        ...


@dataclass(frozen=True, slots=True)
class RuleSplitter:
    """Splits English and similar text by rules alone."""

    max_tokens: int = 200
    max_characters: int = 5000
    """A sentence that exceeds either limit is cut, at a comma or similar if there is one in its second half."""

    def feed(self, pending: Pending, piece: str) -> tuple[list[Sentence], Pending]:
        """Return the sentences that are now certain to have ended, and the text still pending."""
        return self._read(pending, piece, final=False)

    def flush(self, pending: Pending) -> tuple[list[Sentence], Pending]:
        """Return the sentences in the pending text, given that nothing follows; the next text starts a new line."""
        sentences, _ = self._read(pending, "", final=True)
        return sentences, Pending(offset=pending.offset + len(pending.text))

    def _read(self, pending: Pending, piece: str, *, final: bool) -> tuple[list[Sentence], Pending]:
        text, offset, column = pending.text + piece, pending.offset, pending.column
        sentence, position, tokens = 0, pending.progress.position, list(pending.progress.tokens)
        sentences: list[Sentence] = []
        if not pending.text:
            sentence = position = end_of_blanks(text)
            column = column_at(text, 0, position, column) if column else 0
        while match := _STRETCH.match(text, position):
            stretch, full_width_stop, blanks = match.groups()
            after, last = match.end(), stretch[-1]
            end = after - len(blanks)
            if after < len(text) and blanks == " " and (last.isalnum() or last in ",;:") and len(tokens) != 1:
                verdict = Verdict.GO_ON
            elif after < len(text) and not blanks:
                verdict = Verdict.END if full_width_stop else Verdict.GO_ON
            else:
                verdict = judge(Gap(text, sentence, position, end, after, column, final))
            if verdict is Verdict.WAIT:
                break
            _append_words(tokens, stretch, offset + position, verdict is Verdict.ABBREVIATED)
            position = after
            too_long = len(tokens) > self.max_tokens or end - sentence > self.max_characters
            if verdict is not Verdict.END and tokens and not too_long:
                continue
            if tokens:
                kept = longest_part(tokens, self.max_tokens, self.max_characters) if too_long else len(tokens)
                sentences.append(sentence_of(tokens[:kept], FORCED if too_long else ()))
                if kept < len(tokens):
                    position = tokens[kept].start - offset
                tokens = []
            column = column_at(text, sentence, position, column)
            sentence = position
        read = Progress(position - sentence, tuple(tokens))
        return sentences, Pending(text[sentence:], offset + sentence, column, read)


def longest_part(tokens: Sequence[Token], max_tokens: int, max_characters: int) -> int:
    """The number of tokens to keep together: all if they fit, else up to the end of a clause, else as many as fit."""
    if len(tokens) <= max_tokens and tokens[-1].end - tokens[0].start <= max_characters:
        return len(tokens)
    limit = tokens[0].start + max_characters
    most = 1
    while most < min(len(tokens), max_tokens) and tokens[most].end <= limit:
        most += 1
    clauses = (count for count in range(most, most // 2, -1) if tokens[count - 1].text in _CLAUSE_ENDS)
    return next(clauses, most)


def end_of_blanks(text: str) -> int:
    blanks = _BLANKS.match(text)
    return blanks.end() if blanks else 0


def _append_words(tokens: list[Token], stretch: str, start: int, abbreviated: bool) -> None:
    if stretch.isalpha() and stretch.isascii() and stretch.lower() not in FUSED:
        tokens.append(Token(stretch, start, start + len(stretch)))
        return
    cuts = cut(stretch)
    if abbreviated and len(cuts) > 1 and cuts[-2][1] == cuts[-1][0] and stretch[cuts[-1][0] :] == ".":
        cuts = (*cuts[:-2], (cuts[-2][0], cuts[-1][1]))
    for first, end in cuts:
        tokens.append(Token(stretch[first:end], start + first, start + end))


def sentence_of(tokens: Sequence[Token], attributes: Attributes = ()) -> Sentence:
    return Sentence(tokens[0].start, tokens[-1].end, tuple(tokens), None, attributes)
