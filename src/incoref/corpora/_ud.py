"""The rows and comments that CoNLL-U and CONLL-UA share, read: words, spacing, columns, sentences, documents.

The text follows ``SpaceAfter``; sentences are one space apart, paragraphs a blank line. What has no place in our
values stays in attributes: columns by name (``lemma``, ``upos``, …; absent for ``_``), fields of MISC by theirs, a
multi-word token's row as ``range`` on its first word, rows of empty nodes as ``empty`` on the word before them (or
``empty before`` on the first word), comments on sentence and document. How mentions are marked is the scheme's
business, and writing is that of :mod:`incoref.corpora._ud_writing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from incoref.corpora._assemble import NO_ATTRIBUTES, Span, assemble, make_token
from incoref.errors import FormatError
from incoref.types import Attributes, Document, Sentence, Token

COLUMNS = ("lemma", "upos", "xpos", "feats", "head", "deprel", "deps")
"""Names of the third to ninth column in a token's attributes."""

RANGE, EMPTY, EMPTY_BEFORE, MISC = "range", "empty", "empty before", "misc"
RESERVED = frozenset({*COLUMNS, RANGE, EMPTY, EMPTY_BEFORE, MISC, "Entity", "SpaceAfter"})
"""Names that a field of MISC can't have as a token's attribute; such a field is kept in ``misc``."""

PARAGRAPH_GAP = "\n\n"
META = "meta::"
CACHE_SIZE = 1 << 15
"""Words and relations whose attributes are kept for reuse: it saves time and, in the documents, memory."""

SPECIAL_COMMENTS = ("newdoc", "global.", META)
"""Comments that are not about the sentence they stand before begin so."""

_GUM_NAME = re.compile(r"GUM_([a-z]+)_")
_FIRST_NUMBER = re.compile(r"(\d{1,9})(\.?)")


class Scheme(Protocol):
    """How a format marks mentions, and what else sets it apart from its sister."""

    numbers_run_on: bool
    """Whether words may be numbered through a document rather than anew in each sentence."""

    def take_global(self, name: str, value: str, line: int) -> bool:
        """A ``# global.`` comment; whether documents keep it."""

    def start(self) -> None:
        """A new document."""

    def split(self, row: str, line: int) -> tuple[list[str], str, Attributes]:
        """A row's ten columns of CoNLL-U, its mark of mentions (empty if none), attributes from further columns."""

    def take(self, mark: str, token: int, line: int) -> None:
        """The mark at a token."""

    def take_empty(self, mark: str, token: int, line: int) -> str:
        """The mark at an empty node before this token; returns what of it stays with the node."""

    def finish(self) -> tuple[list[Span], Attributes]:
        """The document's mentions, and attributes for what else its marks said."""


def read(text: str, path: Path | str, scheme: Scheme) -> Iterator[Document]:
    """The documents of a file's text; ``path`` is for error messages and for a document without a name."""
    reader = _Reader(path, scheme)
    rows: list[str] = []
    lines = text.split("\n")
    lines.append("")
    for line, row in enumerate(lines, 1):
        if row and row[0] != "#" and not row.isspace():
            rows.append(row)
            continue
        if rows:
            reader.take_sentence(rows, line - len(rows))
            rows = []
        if row and row[0] == "#":
            name, value = comment_of(row)
            if reader.begun and (name == "newdoc" or name == "newdoc id"):
                yield reader.finish()
            reader.take_comment(name, value, line)
    if not reader.begun:
        raise FormatError("no word in the file", path=path)
    yield reader.finish()


def comment_of(row: str) -> tuple[str, str]:
    """A comment's name and value; one that isn't ``# name = value`` is all name."""
    name, equals, value = row.rstrip().partition(" = ")
    if value and name.startswith("# "):
        return name[2:], value
    whole = f"{name}{equals}{value}"
    return whole.removeprefix("# "), ""


def genre_of(name: str) -> str | None:
    """The genre in a GUM document's name: ``GUM_conversation_risk``."""
    found = _GUM_NAME.match(name)
    return found[1] if found else None


class _Reader:
    """Takes a file's comments and sentences, one document after the other."""

    def __init__(self, path: Path | str, scheme: Scheme) -> None:
        self._path = path
        self._scheme = scheme
        self._globals: dict[str, str] = {}
        self._start()

    def _start(self) -> None:
        self.begun = False
        self._name = Path(self._path).stem
        self._genre: str | None = None
        self._attributes = dict(self._globals)
        self._comments: dict[str, str] = {}
        self._sentences: list[Sentence] = []
        self._pieces: list[str] = []
        self._at = 0
        self._gap = ""
        self._count = 0
        self._scheme.start()

    def take_comment(self, name: str, value: str, line: int) -> None:
        if name.startswith(SPECIAL_COMMENTS):
            if name == "newdoc id":
                self._name = value
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
        scheme, pieces = self._scheme, self._pieces
        count, at, gap = self._count, self._at, self._lead_in()
        tokens: list[Token] = []
        odd = _OddRows(self._path, scheme, count, rows[0])
        expected = odd.base + 1
        for line, row in enumerate(rows, first_line):
            columns, mark, attributes = scheme.split(row, line)
            number, word, misc = columns[0], columns[1], columns[9]
            if number != str(expected):
                odd.take(columns, mark, tokens, line)
                continue
            _, _, lemma, upos, xpos, feats, head, deprel, deps, _ = columns
            attributes = _lexical(lemma, upos, xpos, feats) + _syntactic(head, deprel, deps) + attributes
            pieces.append(gap)
            at += len(gap)
            gap = " "
            if misc != "_":
                fields = misc.split("|")
                if "SpaceAfter=No" in fields:
                    gap = ""
                    fields.remove("SpaceAfter=No")
                if fields:
                    attributes += misc_attributes(fields)
            if odd.pending:
                attributes += odd.release()
            if odd.range_end:
                gap = odd.gap_after(word, expected)
            if mark:
                scheme.take(mark, count + len(tokens), line)
            end = at + len(word)
            pieces.append(word)
            tokens.append(make_token((word, at, end, attributes)))
            at = end
            expected += 1
        if not tokens or odd.range_end:
            raise FormatError("the sentence ends before its words", path=self._path, line=line)
        self._at, self._gap = at, gap
        self._end_sentence(tuple(tokens))

    def _lead_in(self) -> str:
        """White space before a sentence's first word."""
        if not self._sentences:
            return ""
        return PARAGRAPH_GAP if any(name.startswith("newpar") for name in self._comments) else self._gap

    def _end_sentence(self, tokens: tuple[Token, ...]) -> None:
        comments = self._comments
        speaker = comments.pop("speaker", None)
        last = next(reversed(comments), "")
        if last == "text" and comments[last] == "".join(self._pieces[1 - 2 * len(tokens) :]):
            del comments[last]
        self._sentences.append(Sentence(tokens[0].start, tokens[-1].end, tokens, speaker, tuple(comments.items())))
        self._comments = {}
        self._count += len(tokens)
        self.begun = True

    def finish(self) -> Document:
        """The document so far; what comes next belongs to another."""
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


class _OddRows:
    """The rows of a sentence that are no words: multi-word tokens and empty nodes."""

    def __init__(self, path: Path | str, scheme: Scheme, count: int, first_row: str) -> None:
        self._path = path
        self._scheme = scheme
        self._count = count
        self.base = count if scheme.numbers_run_on and _words_before(first_row) == count else 0
        """The number of the word before the sentence."""
        self.pending: Attributes = NO_ATTRIBUTES
        """Attributes for the next word."""
        self.range_end = 0
        """Number of the last word of the multi-word token that is open, or 0."""
        self._range_rest = ""
        self._range_gap = " "

    def take(self, columns: list[str], mark: str, tokens: list[Token], line: int) -> None:
        number = columns[0]
        last = self.base + len(tokens)
        before, dot, index = number.partition(".")
        first, _, range_end = number.partition("-")
        if dot and before == str(last) and index.isdecimal():
            self._take_empty(columns, mark, tokens, line)
        elif first == str(last + 1) and _at_least(range_end, last + 1) and not self.range_end:
            self.range_end = int(range_end)
            self._range_rest = columns[1]
            self._range_gap = "" if "SpaceAfter=No" in columns[9].split("|") else " "
            self.pending += ((RANGE, "\t".join(columns)),)
        else:
            raise FormatError(f"number {number!r} where {last + 1} was expected", path=self._path, line=line)

    def _take_empty(self, columns: list[str], mark: str, tokens: list[Token], line: int) -> None:
        if mark:
            kept = self._scheme.take_empty(mark, self._count + len(tokens), line)
            fields = [] if columns[9] == "_" else [columns[9]]
            columns[9] = "|".join([*([kept] if kept else []), *fields]) or "_"
        row = "\t".join(columns)
        if not tokens:
            self.pending = _appended(self.pending, EMPTY_BEFORE, row)
        else:
            token = tokens[-1]
            tokens[-1] = token._replace(attributes=_appended(token.attributes, EMPTY, row))

    def release(self) -> Attributes:
        pending, self.pending = self.pending, NO_ATTRIBUTES
        return pending

    def gap_after(self, word: str, number: int) -> str:
        """White space after a word of a multi-word token: none inside it as long as the words spell it."""
        if number == self.range_end:
            self.range_end = 0
            return self._range_gap
        if self._range_rest.startswith(word):
            self._range_rest = self._range_rest[len(word) :]
            return ""
        self._range_rest = ""
        return " "


def _words_before(row: str) -> int:
    found = _FIRST_NUMBER.match(row)
    return -1 if found is None else int(found[1]) - (0 if found[2] else 1)


def _at_least(number: str, least: int) -> bool:
    return number.isdecimal() and len(number) < 10 and int(number) >= least


def _appended(attributes: Attributes, name: str, row: str) -> Attributes:
    """The attributes with one more row under a name that may hold several."""
    known = dict(attributes)
    known[name] = f"{known[name]}\n{row}" if name in known else row
    return tuple(known.items())


@lru_cache(CACHE_SIZE)
def _lexical(lemma: str, upos: str, xpos: str, feats: str) -> Attributes:
    pairs = (("lemma", lemma), ("upos", upos), ("xpos", xpos), ("feats", feats))
    return tuple([pair for pair in pairs if pair[1] != "_"])


@lru_cache(CACHE_SIZE)
def _syntactic(head: str, deprel: str, deps: str) -> Attributes:
    pairs = (("head", head), ("deprel", deprel), ("deps", deps))
    return tuple([pair for pair in pairs if pair[1] != "_"])


def misc_attributes(fields: list[str]) -> Attributes:
    """Fields of MISC as attributes; one without a name of its own joins the others in ``misc``."""
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
