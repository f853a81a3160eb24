"""CoNLL-2012: one word per row, coreference brackets in one column, documents between #begin and #end.

Reads tables of two or more columns. In OntoNotes order, the word is in the fourth column, coreference in the last
and the speaker, if any, in the tenth; part of speech, parse, lemma, frameset, sense, named entity and predicate
arguments are kept as token attributes and written back. In other tables, the columns of words and coreference are
detected by content, and all others are dropped. A file without ``#begin document`` is one document. The reference
scorer's test files, which only have document and coreference columns, are read too (words are ``_``). Part n > 0 of
a document becomes a separate document named ``name_n``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from incoref.corpora._assemble import NO_ATTRIBUTES, Brackets, assemble, make_token
from incoref.corpora._brackets import TANGLED, Bracket, cells, tangled, whole_numbers
from incoref.corpora._conll_columns import BRACKET, NO_MENTION, Columns, find_columns
from incoref.corpora._conll_columns import ONTONOTES as ONTONOTES_COLUMNS
from incoref.corpora.losses import IDS, NAMES, SPACING, Keeps, Losses, is_space_joined
from incoref.errors import FormatError
from incoref.types import Attributes, Document, Sentence, Token

GENRES = frozenset({"bc", "bn", "mz", "nw", "pt", "tc", "wb"})
"""OntoNotes genres: the first component of its document names."""

PART, SPEAKER, ARGUMENTS = "part", "speaker", "arguments"
"""Attributes: a document's part, a token's speaker if not the sentence's, tab-separated predicate arguments."""

_NAMES = ("xpos", "parse", "lemma", "frameset", "sense", "ne")
"""Attributes in columns five to nine and eleven."""
_WRITTEN = (*_NAMES[:5], SPEAKER, _NAMES[5])
_FILLERS = ("-", "*", "-", "-", "-", "-", "*")
_NO_NAMES: dict[str, str] = {}
_SAYS_NOTHING = frozenset({"-", "*", "_", ""})
_BEGINNING = "#begin document"
_BEGIN = re.compile(r"#begin document \((?P<name>.*)\)\s*;?\s*(?:part\s+(?P<part>\S+))?\s*")
_PART_NUMBER = re.compile(r"0*[1-9][0-9]{0,8}")
_WHITE_SPACE = re.compile(r"\s")
_LINE_BREAK = re.compile(r"[\n\r]+")


def genre_of(name: str) -> str | None:
    """The genre in an OntoNotes document name such as ``bc/cctv/00/cctv_0000``."""
    first, slash, _ = name.partition("/")
    return first if slash and first in GENRES else None


def columns_of(row: str) -> list[str]:
    """Split a row at tabs if it has any, otherwise at spaces."""
    row = row.rstrip()
    return row.split("\t") if "\t" in row else [column for column in row.split(" ") if column]


def read(text: str, path: Path | str, columns_of: Callable[[str], list[str]] = columns_of) -> Iterator[Document]:
    """Yield the documents in ``text``; ``path`` is used in error messages and to name an unnamed document."""
    reader: _DocumentReader | None = None
    begun = 0
    if _BEGINNING not in text and "#end document" not in text:
        reader = _DocumentReader(f"{_BEGINNING} ({Path(path).stem}); part 000", path, 1)
    has_header = reader is None
    for line, row in enumerate(text.split("\n"), 1):
        if row.startswith(_BEGINNING):
            if reader is not None:
                raise FormatError(
                    f"'#end document' is missing for the document of line {begun}", path=path, line=line
                )
            reader, begun = _DocumentReader(row, path, line), line
        elif row.startswith("#end document"):
            if reader is None:
                raise FormatError("'#end document' without '#begin document'", path=path, line=line)
            yield reader.finish()
            reader = None
        elif not row or row.isspace():
            if reader is not None:
                reader.end_sentence()
        elif reader is None:
            raise FormatError("a row before '#begin document (name); part 000'", path=path, line=line)
        elif has_header or not row.startswith("# "):
            reader.add(columns_of(row), line)
    if reader is not None and has_header:
        raise FormatError("'#end document' is missing for the document that starts here", path=path, line=begun)
    if reader is not None:
        yield reader.finish()


class _DocumentReader:
    """Builds a document from its rows."""

    def __init__(self, header: str, path: Path | str, line: int) -> None:
        match = _BEGIN.fullmatch(header)
        if match is None:
            raise FormatError("expected '#begin document (name); part 000'", path=path, line=line)
        self._name, self._part = match["name"], match["part"] or ""
        self._path = path
        self._rows: list[list[list[str]]] = [[]]
        self._lines: list[int] = []
        self._brackets = Brackets(path)
        self._split: dict[str, list[tuple[str, bool, bool]]] = {}
        self._kept: dict[tuple[str, ...], Attributes] = {}
        self._sentences: list[Sentence] = []
        self._tokens: list[Token] = []
        self._pieces: list[str] = []
        self._speaker: str | None = None
        self._count = 0
        self._start = self._at = 0

    def add(self, columns: list[str], line: int) -> None:
        """Add a row, already split into columns."""
        rows = self._rows[-1]
        if rows and len(columns) != len(rows[0]):
            fault = f"{len(columns)} columns where the sentence has {len(rows[0])}"
            raise FormatError(fault, path=self._path, line=line)
        if len(columns) < 2:
            raise FormatError("too few columns: a row needs a word and its coreference", path=self._path, line=line)
        rows.append(columns)
        self._lines.append(line)

    def end_sentence(self) -> None:
        if self._rows[-1]:
            self._rows.append([])

    def _take(self, columns: list[str], line: int, places: Columns) -> None:
        attributes = NO_ATTRIBUTES
        width = len(columns)
        if width < 5 and places.in_ontonotes_order:
            raise FormatError(f"{width} columns; expected at least five", path=self._path, line=line)
        if width > 5 and places.in_ontonotes_order:
            key = (*columns[4:9], *columns[10:-1]) if width > 10 else tuple(columns[4:-1])
            known = self._kept.get(key)
            attributes = known if known is not None else self._keep(key)
            if width > 10:
                speaker = None if columns[9] in NO_MENTION else columns[9]
                if not self._tokens:
                    self._speaker = speaker
                elif speaker != self._speaker:
                    attributes = (*attributes, (SPEAKER, speaker or ""))
        word = "_" if places.word is None else columns[places.word]
        end = self._at + len(word)
        self._tokens.append(make_token((word, self._at, end, attributes)))
        self._pieces.append(word)
        self._at = end + 1
        cell = columns[places.coreference]
        if cell not in NO_MENTION and (places.in_ontonotes_order or cell != "*"):
            self._take_brackets(cell, line)
        self._count += 1

    def _take_brackets(self, cell: str, line: int) -> None:
        brackets, token = self._brackets, self._count
        known = self._split.get(cell)
        for entity, opens, closes in known if known is not None else self._split_cell(cell, line):
            if opens and closes:
                brackets.add(entity, token, token + 1)
            elif opens:
                brackets.open(entity, token, line)
            else:
                brackets.close(entity, token + 1, line)

    def _split_cell(self, cell: str, line: int) -> list[tuple[str, bool, bool]]:
        """Parse the brackets of a cell into (entity, opens, closes). Some files omit the bar between brackets."""
        brackets = []
        at = 0
        while at < len(cell):
            match = BRACKET.match(cell, at)
            if match is None or (not at and cell[0] == "|"):
                raise FormatError(
                    f"unknown bracket {cell[at:]!r} in the column of coreference; expected '(id', 'id)' or '(id)'",
                    path=self._path,
                    line=line,
                )
            opening, single, closing = match.groups()
            brackets.append((opening or closing, opening is not None, opening is None or single is not None))
            at = match.end()
        self._split[cell] = brackets
        return brackets

    def _keep(self, key: tuple[str, ...]) -> Attributes:
        """The non-empty columns by name; predicate arguments are joined into one attribute."""
        pairs = [pair for pair in zip(_NAMES, key, strict=False) if pair[1] not in _SAYS_NOTHING]
        arguments = key[len(_NAMES) :]
        if any(value not in _SAYS_NOTHING for value in arguments):
            pairs.append((ARGUMENTS, "\t".join(arguments)))
        kept = self._kept[key] = tuple(pairs)
        return kept

    def _end_sentence(self) -> None:
        end = self._at - 1
        self._sentences.append(Sentence(self._start, end, tuple(self._tokens), self._speaker))
        self._pieces.append("\n")
        self._tokens = []
        self._start = self._at

    def finish(self) -> Document:
        sentences = [rows for rows in self._rows if rows]
        places = find_columns(sentences, self._name) if sentences else None
        if sentences and places is None:
            fault = "no column holds coreference: brackets such as '(1', '1)' and '(1)', and '-' elsewhere"
            raise FormatError(fault, path=self._path, line=self._lines[0])
        lines = iter(self._lines)
        for rows in sentences:
            for columns in rows:
                self._take(columns, next(lines), places or ONTONOTES_COLUMNS)
            self._end_sentence()
        number = int(self._part) if _PART_NUMBER.fullmatch(self._part) else 0
        return assemble(
            f"{self._name}_{number}" if number else self._name,
            " ".join(self._pieces).replace(" \n ", "\n").removesuffix(" \n"),
            self._sentences,
            self._brackets.finish(),
            genre_of(self._name),
            ((PART, self._part),) if self._part.strip("0") else NO_ATTRIBUTES,
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """How the formats of this family differ when written."""

    between: str
    """The columns between word and coreference when they are empty, each preceded by a tab."""
    no_mention: str
    """Marks tokens where no mention begins or ends."""
    part: str
    keeps: Keeps


ONTONOTES = Layout(
    between="\t-\t*\t-\t-\t-\t-\t*",
    no_mention="-",
    part="000",
    keeps=Keeps(token_attributes={*_NAMES, ARGUMENTS, SPEAKER}, document_attributes={PART}),
)


def write(documents: Iterable[Document], losses: Losses, layout: Layout = ONTONOTES) -> Iterator[str]:
    """Yield the documents as text, in pieces."""
    for document in documents:
        losses.count(document, layout.keeps)
        losses.add("genres", int(document.genre != genre_of(document.id)))
        losses.add(SPACING, int(not is_space_joined(document)))
        numbers = whole_numbers(document.entities)
        losses.add(IDS, sum(number != id for id, number in numbers.items()))
        brackets = []
        for entity in document.entities:
            opening, closing = f"({numbers[entity.id]}", f"{numbers[entity.id]})"
            brackets += [Bracket(*mention.tokens, opening, closing) for mention in entity.mentions]
        losses.add(TANGLED, tangled(brackets))
        yield "".join(_lines(document, cells(brackets, "|"), layout, losses))


def _lines(document: Document, marks: dict[int, str], layout: Layout, losses: Losses) -> Iterator[str]:
    name, part = _name_and_part(document, layout)
    losses.add(NAMES, int(_LINE_BREAK.search(name) is not None))
    yield f"#begin document ({_LINE_BREAK.sub(' ', name)}); part {part}\n"
    prefix = f"{_WHITE_SPACE.sub('_', name) or '-'}\t{int(part) if part.isdecimal() else 0}"
    no_mention, has_columns = layout.no_mention, bool(layout.keeps.token_attributes)
    losses.add("sentences without words", sum(not sentence.tokens for sentence in document.sentences))
    at = 0
    for sentence in document.sentences:
        tokens = sentence.tokens
        if not tokens:
            continue
        between = _columns(sentence, losses) if has_columns else [layout.between] * len(tokens)
        for number, token in enumerate(tokens):
            word = token[0]
            if not word.isprintable() or not word or " " in word:
                word = _without_white_space(word, losses)
            yield f"{prefix}\t{number}\t{word}{between[number]}\t{marks.get(at, no_mention)}\n"
            at += 1
        yield "\n"
    yield "#end document\n"


def _without_white_space(word: str, losses: Losses) -> str:
    if not word or _WHITE_SPACE.search(word):
        losses.add("words that are empty or contain white space (now _)")
    return _WHITE_SPACE.sub("_", word) or "_"


def _name_and_part(document: Document, layout: Layout) -> tuple[str, str]:
    """Split a document id into name and part, which the reader has joined."""
    part = dict(document.attributes).get(PART, "")
    if not _PART_NUMBER.fullmatch(part):
        return document.id, part if part and not _WHITE_SPACE.search(part) else layout.part
    name = document.id.removesuffix(f"_{int(part)}")
    return (name, part) if name != document.id else (name, layout.part)


def _columns(sentence: Sentence, losses: Losses) -> list[str]:
    """The columns between word and coreference for each token of a sentence."""
    speaker = sentence.speaker or ""
    named = [dict(token[3]) if token[3] else _NO_NAMES for token in sentence.tokens]
    width = max([names[ARGUMENTS].count("\t") + 1 for names in named if ARGUMENTS in names], default=0)
    columns = []
    for names in named:
        get = names.get
        cells, lost = _spell(
            get("xpos", ""),
            get("parse", ""),
            get("lemma", ""),
            get("frameset", ""),
            get("sense", ""),
            get(SPEAKER, speaker),
            get("ne", ""),
        )
        if width:
            cells, lost = _with_arguments(cells, lost, names.get(ARGUMENTS, ""), width)
        if lost:
            losses.add("columns that would read as empty or hold white space", 1, lost)
        columns.append(cells)
    return columns


@lru_cache(1 << 15)
def _spell(*values: str) -> tuple[str, tuple[str, ...]]:
    """Columns five to eleven, each preceded by a tab, and the names of those that can't be written unchanged."""
    row, lost = "", []
    for name, filler, value in zip(_WRITTEN, _FILLERS, values, strict=True):
        cell = _WHITE_SPACE.sub("_", value)
        if cell != value or (value and value in _SAYS_NOTHING):
            lost.append(name)
        row += f"\t{filler if cell in _SAYS_NOTHING else cell}"
    return row, tuple(lost)


def _with_arguments(cells: str, lost: tuple[str, ...], arguments: str, width: int) -> tuple[str, tuple[str, ...]]:
    values = arguments.split("\t") if arguments else []
    written = [_WHITE_SPACE.sub("_", value) or "*" for value in values]
    lost = (*lost, ARGUMENTS) if written != values else lost
    return "\t".join([cells, *written, *["*"] * (width - len(values))]), lost
