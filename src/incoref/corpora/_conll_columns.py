"""Detects which columns of a CoNLL-style table hold words and coreference brackets.

OntoNotes order (document, part, number, word, …, coreference) is recognised by its numbered third column. In other
tables, coreference is the last column of balanced brackets, and words are in the column with the most distinct
values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

NO_MENTION = frozenset({"-", "_", ""})
BRACKET = re.compile(r"\|?(?:\(([^()|\s]+)(\))?|([^()|\s]+)\))")
"""One bracket of a cell; some files omit the bar between brackets."""

_CELL = re.compile(rf"(?:{BRACKET.pattern})+")
_EMPTY = NO_MENTION | {"*"}


class Columns(NamedTuple):
    """Column indices; negative ones count from the end."""

    word: int | None
    """None if the table has no words, as in the reference scorer's test files."""
    coreference: int = -1
    in_ontonotes_order: bool = False


ONTONOTES = Columns(3, -1, True)


def find_columns(sentences: Sequence[Sequence[Sequence[str]]], document: str) -> Columns | None:
    """Find the columns of a document, given as sentences of rows of cells; None if no column holds brackets."""
    rows = [row for sentence in sentences for row in sentence]
    width = len(rows[0])
    in_order = width >= 5 and _are_numbered(sentences[0])
    if in_order and any(_is_bracketed(row[-1]) for row in rows):
        return ONTONOTES
    if any(len(row) != width for row in rows):
        return ONTONOTES if in_order else None
    table = list(zip(*rows, strict=True))
    first = 4 if in_order else 1  # after the word in OntoNotes' order, which may look like a bracket itself
    bracketed = [number for number, column in enumerate(table) if number >= first and _is_coreference(column)]
    if not bracketed and in_order:
        return ONTONOTES
    if not bracketed and not NO_MENTION.issuperset(table[-1]):
        return None
    coreference = bracketed[-1] if bracketed else width - 1
    if in_order:
        return ONTONOTES._replace(coreference=coreference - width)
    others = [number for number in range(width) if number != coreference and not _counts(table[number])]
    word = max(others, key=lambda number: len(set(table[number])), default=None)
    repeats = word is not None and len(set(table[word])) == 1 and (len(rows) > 1 or table[word][0] == document)
    return Columns(None if repeats else word, coreference - width)


def looks_like_table(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows without a header form a table with coreference in a column other than the first."""
    is_table = len(rows) > 1 and len({len(row) for row in rows}) == 1
    if not is_table or len(rows[0]) < 2:
        return False
    columns = list(zip(*rows, strict=True))
    return _brackets_only(columns[-1]) or any(_is_coreference(column, is_whole=False) for column in columns[1:-1])


def _brackets_only(cells: Sequence[str]) -> bool:
    return any(map(_is_bracketed, cells)) and all(cell in _EMPTY or _is_bracketed(cell) for cell in cells)


def _are_numbered(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the third column numbers a sentence's words, from 0 or 1."""
    first = 1 if rows[0][2] == "1" else 0
    return all(row[2:3] == [str(number)] for number, row in enumerate(rows, first))


def _is_bracketed(cell: str) -> bool:
    return _CELL.fullmatch(cell) is not None


def _is_coreference(cells: Sequence[str], *, is_whole: bool = True) -> bool:
    """Whether a column holds only balanced brackets; unless it ``is_whole``, some may still be open at the end."""
    opened: dict[str, int] = {}
    some = False
    for cell in cells:
        if cell in _EMPTY:
            continue
        if not _is_bracketed(cell):
            return False
        some = True
        for opening, single, closing in BRACKET.findall(cell):
            name = opening or closing
            if "*" in name:
                return False
            opened[name] = opened.get(name, 0) + (1 if opening and not single else 0 if single else -1)
            if opened[name] < 0:
                return False
    return some and not (is_whole and any(opened.values()))


def _counts(cells: Sequence[str]) -> bool:
    """Whether a column numbers words, sentences or parts."""
    return all(cell.isascii() and cell.isdecimal() for cell in cells) and (
        len(set(cells)) == 1 or any(int(b) == int(a) + 1 for a, b in pairwise(cells))
    )
