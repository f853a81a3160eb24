"""Reads the rows and comments common to CoNLL-U and CONLL-UA: words, spacing, columns, sentences, documents.

The text follows ``SpaceAfter``; sentences are separated by a space, paragraphs by a blank line. Everything else is
kept as attributes: columns under their names (``lemma``, ``upos``, …; omitted for ``_``), MISC fields under theirs,
and comments on the sentence or the document. A scheme reads the mention marks; rows that aren't words are handled in
:mod:`incoref.corpora._ud_odd`, and writing in :mod:`incoref.corpora._ud_writing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from operator import add
from pathlib import Path
from typing import Protocol

from incoref.corpora._assemble import Span, assemble, make_token
from incoref.corpora._ud_odd import EMPTY, EMPTY_BEFORE, RANGE, OddRows
from incoref.errors import FormatError
from incoref.types import Attributes, Document, Sentence

COLUMNS = ("lemma", "upos", "xpos", "feats", "head", "deprel", "deps")
"""Attribute names of columns three to nine."""

MISC = "misc"
RESERVED = frozenset({*COLUMNS, RANGE, EMPTY, EMPTY_BEFORE, MISC, "Entity", "SpaceAfter"})
"""Attribute names that a MISC field can't use; such a field is kept in ``misc``."""

NOTHING = frozenset({"_", ""})
"""Empty cells."""

DIGITS = frozenset("0123456789")
"""First characters of rows; most lines are rows, so this check comes first."""

PARAGRAPH_GAP = "\n\n"
META = "meta::"
CACHE_SIZE = 1 << 15
"""Number of attribute tuples cached for reuse, which saves time and also memory in the documents."""

SPECIAL_COMMENTS = ("newdoc", "global.", META)
"""Prefixes of comments that aren't about the sentence they precede."""

_GUM_NAME = re.compile(r"GUM_([a-z]+)_")
_NEW_PARAGRAPH = re.compile("newpar")
_FIRST_NUMBER = re.compile(r"(\d{1,9})(\.?)")


Column = Sequence[str]
"""The cells of a column, one per row."""

Mark = tuple[int, str]
"""Index of a row in its sentence, and its mention mark."""


class Scheme(Protocol):
    """How a format marks mentions, and how else CoNLL-U and CONLL-UA differ."""

    numbers_run_on: bool
    """Whether words may be numbered throughout a document instead of per sentence."""
    speaker_holds: bool
    """Whether a speaker applies until the next one instead of to one sentence."""

    def take_global(self, name: str, value: str, line: int) -> bool:
        """Process a ``# global.`` comment; return whether documents keep it."""

    def start(self) -> None:
        """Start a new document."""

    def table(self, rows: list[str], first_line: int) -> tuple[list[Column], list[str], list[Mark]]:
        """Split a sentence into columns (the ten of CoNLL-U, then others), names of the others, and mention marks."""

    def take(self, marks: list[Mark], first_token: int, first_line: int) -> None:
        """Process the marks of a sentence whose rows are all words, starting at this token and line."""

    def take_empty(self, mark: str, token: int, line: int) -> str:
        """Process the mark of an empty node before this token; return the part that stays with the node."""

    def finish(self) -> tuple[list[Span], Attributes]:
        """Return the document's mentions, and attributes for anything else in its marks."""


def read(text: str, path: Path | str, scheme: Scheme) -> Iterator[Document]:
    """Yield the documents in ``text``; ``path`` is used in error messages and to name an unnamed document."""
    reader = _Reader(path, scheme)
    rows: list[str] = []
    lines = text.split("\n")
    lines.append("")
    for line, row in enumerate(lines, 1):
        if row[:1] in DIGITS or (row and row[0] != "#" and not row.isspace()):
            rows.append(row)
            continue
        if rows:
            reader.take_sentence(rows, line - len(rows))
            rows = []
        if row and row[0] == "#":
            name, value = comment_of(row)
            if (reader.begun and name == "newdoc") or (name == "newdoc id" and (reader.begun or reader.named)):
                yield reader.finish()
            reader.take_comment(name, value, line)
    if not (reader.begun or reader.named):
        raise FormatError("the file contains no words", path=path)
    yield reader.finish()


def comment_of(row: str) -> tuple[str, str]:
    """Split a comment into name and value; one that isn't ``# name = value`` is all name."""
    name, equals, value = row.rstrip().partition(" = ")
    if value and name.startswith("# "):
        return name[2:], value
    whole = f"{name}{equals}{value}"
    return whole.removeprefix("# "), ""


def genre_of(name: str) -> str | None:
    """The genre in a GUM document's name: ``GUM_conversation_risk``."""
    match = _GUM_NAME.match(name)
    return match[1] if match else None


class _Reader:
    """Builds documents from a file's comments and sentences."""

    def __init__(self, path: Path | str, scheme: Scheme) -> None:
        self._path = path
        self._scheme = scheme
        self._globals: dict[str, str] = {}
        self._start()

    def _start(self) -> None:
        self.begun = self.named = False
        self._name = Path(self._path).stem
        self._genre: str | None = None
        self._attributes = dict(self._globals)
        self._comments: dict[str, str] = {}
        self._speaker: str | None = None
        self._sentences: list[Sentence] = []
        self._pieces: list[str] = []
        self._at = 0
        self._gap = ""
        self._count = 0
        self._scheme.start()

    def take_comment(self, name: str, value: str, line: int) -> None:
        if name.startswith(SPECIAL_COMMENTS):
            if name == "newdoc id":
                self._name, self.named = value, True
            elif name.startswith("global."):
                if self._scheme.take_global(name, value, line):
                    self._globals[name] = self._attributes[name] = value
            elif name.startswith(META) and not self.begun:
                if name == META + "genre":
                    self._genre = value
                else:
                    self._attributes[name.removeprefix(META)] = value
            elif name != "newdoc":
                self._comments[name] = value
        elif name in self._comments:
            self._comments[f"{name} = {value}"] = ""
        else:
            self._comments[name] = value

    def take_sentence(self, rows: list[str], first_line: int) -> None:
        """Add a sentence, column by column, which is twice as fast as row by row."""
        scheme = self._scheme
        columns, further, marks = scheme.table(rows, first_line)
        base = self._count if scheme.numbers_run_on and _words_before(columns[0][0]) == self._count else 0
        odd = None
        if columns[0] != _numbers(base, len(rows)):
            odd = OddRows(columns, base, self._path, first_line)
            columns = [[column[row] for row in odd.words] for column in columns]
        lexical = map(_lexical.__getitem__, zip(*columns[2:6], strict=True))
        syntactic = map(_syntactic.__getitem__, zip(*columns[6:9], strict=True))
        attributes = list(map(add, lexical, syntactic))
        for name, cells in zip(further, columns[10:], strict=True):
            if not NOTHING.issuperset(cells):
                for place, cell in enumerate(cells):
                    if cell not in NOTHING:
                        attributes[place] += ((name, cell),)
        gaps = [" "] * len(attributes)
        for place, misc in enumerate(columns[9]):
            if misc == "SpaceAfter=No":
                gaps[place] = ""
            elif misc != "_":
                fields = misc.split("|")
                if "SpaceAfter=No" in fields:
                    gaps[place] = ""
                    fields.remove("SpaceAfter=No")
                attributes[place] += misc_attributes(fields)
        if odd is None:
            scheme.take(marks, self._count, first_line)
        else:
            for row, mark in marks:
                self._take_mark_among_odd(mark, row, odd, first_line + row)
            odd.give(columns[1], attributes, gaps)
        self._end_sentence(columns[1], attributes, gaps)

    def _take_mark_among_odd(self, mark: str, row: int, odd: OddRows, line: int) -> None:
        token = self._count + odd.words_before(row)
        if odd.is_empty_node(row):
            odd.keep_mark(row, self._scheme.take_empty(mark, token, line))
        elif row in odd.words:
            self._scheme.take([(0, mark)], token, line)
        else:
            raise FormatError("a mention at a multi-word token instead of its words", path=self._path, line=line)

    def _end_sentence(self, words: Column, attributes: list[Attributes], gaps: list[str]) -> None:
        lead = self._lead_in()
        start = self._at + len(lead)
        lengths = list(map(len, words))
        starts = list(accumulate(map(add, lengths, map(len, gaps)), initial=start))
        end = starts.pop() - len(gaps[-1])
        text = "".join(chain.from_iterable(zip(words, gaps, strict=True)))[: end - start]
        comments = self._comments
        speaker = self._speaker_of(comments)
        last = next(reversed(comments), "")
        if last == "text" and comments[last] == text:
            del comments[last]
        tokens = tuple(map(make_token, zip(words, starts, map(add, starts, lengths), attributes, strict=True)))
        self._sentences.append(Sentence(start, end, tokens, speaker, tuple(comments.items())))
        self._pieces += (lead, text)
        self._at, self._gap = end, gaps[-1]
        self._comments = {}
        self._count += len(tokens)
        self.begun = True

    def _speaker_of(self, comments: dict[str, str]) -> str | None:
        if not self._scheme.speaker_holds:
            return comments.pop("speaker", None)
        if "speaker" in comments:
            self._speaker = comments.pop("speaker") or None
        return self._speaker

    def _lead_in(self) -> str:
        """White space before the next sentence."""
        if not self._sentences:
            return ""
        return PARAGRAPH_GAP if any(map(_NEW_PARAGRAPH.match, self._comments)) else self._gap

    def finish(self) -> Document:
        """Return the finished document and start a new one."""
        spans, attributes = self._scheme.finish()
        document = assemble(
            self._name,
            "".join(self._pieces),
            self._sentences,
            spans,
            self._genre or genre_of(self._name),
            (*self._attributes.items(), *attributes),
        )
        self._start()
        return document


def _words_before(number: str) -> int:
    """The number of words before a row with this number, if words are numbered throughout the document."""
    match = _FIRST_NUMBER.match(number)
    return -1 if match is None else int(match[1]) - (0 if match[2] else 1)


@lru_cache(1 << 10)
def _numbers(base: int, length: int) -> tuple[str, ...]:
    return tuple(map(str, range(base + 1, base + length + 1)))


class _Attributes(dict[tuple[str, ...], Attributes]):
    """Cache from cells of certain columns to attributes; faster than a function with ``lru_cache``."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __missing__(self, cells: tuple[str, ...]) -> Attributes:
        if len(self) >= CACHE_SIZE:
            self.clear()
        self[cells] = made = tuple([pair for pair in zip(self._names, cells, strict=True) if pair[1] != "_"])
        return made


_lexical, _syntactic = _Attributes(*COLUMNS[:4]), _Attributes(*COLUMNS[4:])


def misc_attributes(fields: list[str]) -> Attributes:
    """Convert MISC fields to attributes; those without a usable, unique name are joined in ``misc``."""
    named: dict[str, str] = {}
    rest = []
    for field in fields:
        name, _, value = field.partition("=")
        if name and value and name not in RESERVED and name not in named:
            named[name] = value
        else:
            rest.append(field)
    if rest:
        named[MISC] = "|".join(rest)
    return tuple(named.items())
