"""CoNLL-2012: one token a row, coreference brackets in the last column, documents between #begin and #end.

Reads any number of columns from five: the word is the fourth, the coreference the last, the speaker the tenth where
there is one. The scorer's own test files, with nothing but document and coreference, are read too (words are ``_``).
Knows nothing of files; see :mod:`incoref.corpora` for those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from incoref.corpora._assemble import NO_ATTRIBUTES, Brackets, assemble
from incoref.errors import FormatError
from incoref.types import Attributes, Document, Sentence, Token

GENRES = frozenset({"bc", "bn", "mz", "nw", "pt", "tc", "wb"})
"""OntoNotes' genres, the first part of its documents' names."""

_BEGIN = re.compile(r"#begin document \((?P<name>.*)\)\s*;?\s*(?:part\s+(?P<part>\S+))?\s*$")
_SEGMENT = re.compile(r"\|?(?:\(([^()|\s]+)(\))?|([^()|\s]+)\))")
_COLUMNS = {4: "xpos", 5: "parse", 6: "lemma", 7: "frameset", 8: "sense", 10: "ne"}
_PLACEHOLDERS = frozenset({"-", "*", "_", ""})
_NOTHING = frozenset({"-", "_", ""})


def columns_of(row: str) -> list[str]:
    """A row's columns: between tabs if it has any, else between spaces."""
    row = row.rstrip()
    return row.split("\t") if "\t" in row else [column for column in row.split(" ") if column]


def read(text: str, path: Path | str, columns_of: Callable[[str], list[str]] = columns_of) -> Iterator[Document]:
    """The documents of a file's text; ``path`` is for error messages."""
    reader: _DocumentReader | None = None
    begun = 0
    for line, row in enumerate(text.split("\n"), 1):
        if row.startswith("#begin document"):
            if reader is not None:
                raise FormatError(
                    f"'#end document' is missing for the document of line {begun}", path=path, line=line
                )
            reader, begun = _DocumentReader(row, columns_of, path, line), line
        elif row.startswith("#end document"):
            if reader is None:
                raise FormatError("'#end document' without '#begin document'", path=path, line=line)
            yield reader.finish()
            reader = None
        elif reader is not None:
            reader.take(row, line)
        elif row and not row.isspace():
            raise FormatError("a row before '#begin document (name); part 000'", path=path, line=line)
    if reader is not None:
        raise FormatError("'#end document' is missing for the document that starts here", path=path, line=begun)


class _DocumentReader:
    """Takes one document's rows."""

    def __init__(self, header: str, columns_of: Callable[[str], list[str]], path: Path | str, line: int) -> None:
        found = _BEGIN.match(header)
        if found is None:
            raise FormatError("expected '#begin document (name); part 000'", path=path, line=line)
        self._name, self._part = found["name"], found["part"]
        self._columns_of = columns_of
        self._path = path
        self._brackets = Brackets(path)
        self._segments: dict[str, list[tuple[bool, str, bool]]] = {}
        self._kept: dict[tuple[str, ...], Attributes] = {}
        self._sentences: list[Sentence] = []
        self._tokens: list[Token] = []
        self._words: list[str] = []
        self._texts: list[str] = []
        self._speaker: str | None = None
        self._width = 0
        self._number = 0
        self._at = 0

    def take(self, row: str, line: int) -> None:
        if not row or row.isspace():
            self._end_sentence()
            return
        columns = self._columns_of(row)
        width = len(columns)
        coreference = columns[-1]
        if self._width != width and self._tokens:
            raise FormatError(f"{width} columns where the sentence has {self._width}", path=self._path, line=line)
        if width < 5 and width != 2:
            raise FormatError(f"a row of {width} columns; at least 5 are needed", path=self._path, line=line)
        self._width = width
        word = columns[3] if width > 2 else "_"
        attributes = NO_ATTRIBUTES
        if width > 5:
            key = (*columns[4:9], *columns[10:-1]) if width > 10 else tuple(columns[4:-1])
            known = self._kept.get(key)
            attributes = known if known is not None else self._keep(key)
        if width > 10:
            speaker = None if columns[9] in _NOTHING else columns[9]
            if not self._tokens:
                self._speaker = speaker
            elif speaker != self._speaker:
                attributes = (*attributes, ("speaker", speaker or ""))
        end = self._at + len(word)
        self._tokens.append(Token(word, self._at, end, attributes))
        self._words.append(word)
        self._at = end + 1
        if coreference not in _NOTHING:
            self._take_brackets(coreference, line)
        self._number += 1

    def _take_brackets(self, coreference: str, line: int) -> None:
        token, brackets = self._number, self._brackets
        segments = self._segments.get(coreference)
        if segments is None:
            segments = self._segments[coreference] = self._split(coreference, line)
        for opens, entity, closes in segments:
            if opens:
                brackets.open(entity, token, line)
            if closes:
                brackets.close(entity, token + 1, line)

    def _split(self, coreference: str, line: int) -> list[tuple[bool, str, bool]]:
        """The brackets of a cell: opens, entity, closes. Some files leave out the bar between them."""
        segments = []
        at = 0
        while at < len(coreference):
            found = _SEGMENT.match(coreference, at)
            if found is None:
                raise FormatError(
                    f"unknown bracket {coreference[at:]!r} in the last column; expected '(id', 'id)' or '(id)'",
                    path=self._path,
                    line=line,
                )
            opening, single, closing = found.groups()
            segments.append((opening is not None, opening or closing, opening is None or single is not None))
            at = found.end()
        return segments

    def _keep(self, key: tuple[str, ...]) -> Attributes:
        """The columns that say something, by name; those of the predicates' arguments together."""
        pairs = [
            (_COLUMNS[place], value)
            for place, value in zip((4, 5, 6, 7, 8, 10), key, strict=False)
            if value not in _PLACEHOLDERS
        ]
        arguments = key[6:]
        if any(value not in _PLACEHOLDERS for value in arguments):
            pairs.append(("arguments", "\t".join(arguments)))
        kept = self._kept[key] = tuple(pairs)
        return kept

    def _end_sentence(self) -> None:
        if self._tokens:
            text = " ".join(self._words)
            self._sentences.append(
                Sentence(self._at - len(text) - 1, self._at - 1, tuple(self._tokens), self._speaker)
            )
            self._texts.append(text)
            self._tokens, self._words, self._speaker = [], [], None

    def finish(self) -> Document:
        self._end_sentence()
        part = self._part
        number = int(part) if part and part.isdecimal() else 0
        return assemble(
            f"{self._name}_{number}" if number else self._name,
            "\n".join(self._texts),
            self._sentences,
            self._brackets.finish(),
            genre_of(self._name),
            (("part", part),) if part else NO_ATTRIBUTES,
        )


def genre_of(name: str) -> str | None:
    """OntoNotes' genre, if the document is named as OntoNotes names its own: ``bc/cctv/00/cctv_0000``."""
    first, slash, _ = name.partition("/")
    return first if slash and first in GENRES else None
