"""CoNLL-U rows that aren't words: multi-word tokens and empty nodes.

They are kept as attributes of adjacent words. Knows nothing about mentions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path

from incoref.errors import FormatError
from incoref.types import Attributes

RANGE, EMPTY, EMPTY_BEFORE = "range", "empty", "empty before"
"""Attributes: the row of a multi-word token, on its first word; rows of empty nodes, on the word before or after."""


class OddRows:
    """Separates a sentence's rows into words and others, which are attached to words."""

    def __init__(self, columns: Sequence[Sequence[str]], base: int, path: Path | str, first_line: int) -> None:
        """``base`` is the number of the last word before the sentence; numbers out of order are an error."""
        self.words: list[int] = []
        """Indices of the rows that are words."""
        self._columns = columns
        self._ranges: list[tuple[int, int, int]] = []
        self._empty: list[int] = []
        self._marks: dict[int, str] = {}
        range_end = base
        for row, number in enumerate(columns[0]):
            last = base + len(self.words)
            before, dot, index = number.partition(".")
            first, _, end = number.partition("-")
            if number == str(last + 1):
                self.words.append(row)
            elif dot and before == str(last) and index.isdecimal():
                self._empty.append(row)
            elif first == str(last + 1) and range_end <= last and _is_number_above(end, last):
                range_end = int(end)
                self._ranges.append((row, last - base, range_end - base))
            else:
                fault = f"number {number!r} where {last + 1} was expected"
                raise FormatError(fault, path=path, line=first_line + row)
        if not self.words or range_end > base + len(self.words):
            raise FormatError("the sentence ends before its words", path=path, line=first_line + len(columns[0]) - 1)

    def words_before(self, row: int) -> int:
        return bisect_left(self.words, row)

    def is_empty_node(self, row: int) -> bool:
        return row in self._empty

    def keep_mark(self, row: int, mark: str) -> None:
        """Keep a MISC field with its empty node."""
        self._marks[row] = mark

    def give(self, words: Sequence[str], attributes: list[Attributes], gaps: list[str]) -> None:
        """Add the rows to the words' attributes, and the spacing of multi-word tokens to the gaps."""
        for row, first, end in self._ranges:
            attributes[first] += ((RANGE, self._text(row)),)
            rest = self._columns[1][row]
            for place in range(first, end - 1):
                spells = rest.startswith(words[place])
                gaps[place] = "" if spells else " "
                rest = rest[len(words[place]) :] if spells else ""
            gaps[end - 1] = "" if "SpaceAfter=No" in self._columns[9][row].split("|") else " "
        for row in self._empty:
            place = self.words_before(row) - 1
            name = EMPTY if place >= 0 else EMPTY_BEFORE
            known = dict(attributes[max(place, 0)])
            known[name] = f"{known[name]}\n{self._text(row)}" if name in known else self._text(row)
            attributes[max(place, 0)] = tuple(known.items())

    def _text(self, row: int) -> str:
        cells = [column[row] for column in self._columns[:10]]
        if self._marks.get(row):
            cells[9] = self._marks[row] if cells[9] == "_" else f"{self._marks[row]}|{cells[9]}"
        return "\t".join(cells)


def _is_number_above(number: str, least: int) -> bool:
    return number.isdecimal() and len(number) < 10 and int(number) > least
