"""CONLL-UA, the format of CODI-CRAC: CoNLL-U with further columns, identity in the one named IDENTITY.

Columns are separated by tabs or aligned by spaces. A mark is ``(EntityID=7|MarkableID=markable_12|Min=3,4`` and its
end a bare ``)``, which closes the mention opened last; at a token, ends come before starts, as the Universal Anaphora
scorer wants them. Ends that name their markable (``markable_12)``) are read too. Fields other than the entity stay in
the mention's attributes (``Type`` is its type). A markable that doesn't refer (its entity ends in ``-Pseudo``) is not
a mention: it stays in the document's attributes. Markables with the same id are parts of one mention. Words may be
numbered through the document or per sentence; they are written numbered through. A ``# speaker`` holds until the next
one; a bare ``# speaker`` says that nobody speaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import count, pairwise
from pathlib import Path
from urllib.parse import unquote

from incoref.corpora import _ud
from incoref.corpora._assemble import NO_ATTRIBUTES, Span, make_span
from incoref.corpora._brackets import (
    PARTS,
    Bracket,
    cells,
    joined,
    make_bracket,
    parts_of,
    percent_encoded,
    without_crossing,
)
from incoref.corpora._ud_writing import Writer
from incoref.corpora.losses import DOCUMENT_ATTRIBUTES, MENTION_ATTRIBUTES, Keeps, Losses
from incoref.errors import FormatError
from incoref.types import Attributes, Document

COLUMNS = (
    *("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC"),
    *("IDENTITY", "BRIDGING", "DISCOURSE_DEIXIS", "REFERENCE", "NOM_SEM"),
)
NON_REFERRING = "non-referring"
"""Attribute of a document: the markables that don't refer, each as first token, end, fields (``3:5:EntityID=…``)."""
SPLIT_ANTECEDENT = "ElementOf"
"""Attribute of a mention that is one of several antecedents of a plural: the plural's entity."""

MARKABLE = "MarkableID"
"""Attribute of a mention: its id."""

_ENTITY, _TYPE, _PSEUDO = "EntityID", "Type", "-Pseudo"
_CROSSING = "mentions that cross another, which these brackets can't express (left out)"
_OWN_FIELDS = frozenset({"entityid", "markableid", "type"})
_MADE_UP = "markable_new"
"""How ids begin that the writer makes for mentions without one; they are none of the mention's attributes."""
_AGAIN = frozenset({"EntityID", "Markable"})
"""How a field begins that a markable has had already."""
_BREAKING = re.compile(r"[()|@\s]")
_UNSAFE = re.compile(r"[()|@\s%]")
_STORED = re.compile(r"(\d{1,9}):(\d{1,9}):([^()\s]+)")


def read(text: str, path: Path | str) -> Iterator[Document]:
    """The documents of a file's text; ``path`` is for error messages and for a document without a name."""
    return _ud.read(text, path, _Identity(path))


_Open = tuple[int, int, int, str, str, str | None, Attributes]
"""A markable whose end has not come yet: place among the spans, first token, line, entity, id, type, attributes."""


class _Identity:
    """Reads the column IDENTITY."""

    numbers_run_on = True
    speaker_holds = True

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._set_columns(COLUMNS)
        self.start()

    def _set_columns(self, names: Sequence[str]) -> None:
        self._names = names
        self._places = [names.index(column) for column in COLUMNS[:10]]
        self._identity = names.index(COLUMNS[10])
        self._further = [place for place, name in enumerate(names) if name not in COLUMNS[:11]]

    def start(self) -> None:
        self._stack: list[_Open] = []
        self._spans: list[Span | None] = []
        self._markables: list[str] = []

    def take_global(self, name: str, value: str, line: int) -> bool:
        if name != "global.columns":
            return True
        names = value.split()
        missing = [column for column in COLUMNS[:11] if column not in names]
        if missing:
            raise FormatError(f"no column {missing[0]} in '# global.columns'", path=self._path, line=line)
        self._set_columns(names)
        return False

    def table(self, rows: list[str], first_line: int) -> tuple[list[_ud.Column], list[str], list[_ud.Mark]]:
        width = len(self._names)
        cells = [row.rstrip().split("\t") if "\t" in row else row.split() for row in rows]
        if set(map(len, cells)) != {width}:
            for line, row in enumerate(cells, first_line):
                if len(row) != width:
                    self._fit(row, line)
        columns = list(zip(*cells, strict=True))
        marks = [
            (row, mark) for row, cell in enumerate(columns[self._identity]) if cell != "_" and (mark := cell.strip())
        ]
        places = [*self._places, *self._further]
        return [columns[place] for place in places], [self._names[place] for place in self._further], marks

    def _fit(self, row: list[str], line: int) -> None:
        """Rows may lack columns behind IDENTITY, or have empty ones behind the last."""
        width = len(self._names)
        if len(row) <= self._identity:
            fault = f"a row of {len(row)} columns; IDENTITY is number {self._identity + 1}"
            raise FormatError(fault, path=self._path, line=line)
        if any(cell.strip() not in _ud.NOTHING for cell in row[width:]):
            raise FormatError(f"{len(row)} columns; '# global.columns' names {width}", path=self._path, line=line)
        row[width:] = []
        row += ["_"] * (width - len(row))

    def take(self, marks: list[_ud.Mark], first_token: int, first_line: int) -> None:
        for row, mark in marks:
            token, line = first_token + row, first_line + row
            ends, *openings = mark.split("(")
            if ends:
                self._close(ends, token + 1, line)
            for opening in openings:
                fields, end, further_ends = opening.partition(")")
                self._open(fields.rstrip("@"), token, line)
                if end:
                    self._close(f"){further_ends}", token + 1, line)

    def _open(self, fields: str, token: int, line: int) -> None:
        entity, markable, type, attributes = _read_fields(fields)
        if not entity:
            raise FormatError(f"a markable without EntityID: '({fields}'", path=self._path, line=line)
        self._stack.append((len(self._spans), token, line, entity, markable, type, attributes))
        self._spans.append(None)
        self._markables.append(markable)

    def _close(self, ends: str, end: int, line: int) -> None:
        """Brackets that close: ``)`` the mention opened last, ``markable_12)`` the one of this name."""
        stack = self._stack
        *markables, rest = ends.split(")")
        for markable in markables:
            place = len(stack) - 1
            if markable:
                markable = unquote(markable)
                while place >= 0 and stack[place][4] != markable:
                    place -= 1
            if place < 0:
                which = f"markable {markable}" if markable else "a markable"
                raise FormatError(f"{which} ends here but none is open", path=self._path, line=line)
            number, first, _, entity, _, type, attributes = stack.pop(place)
            self._spans[number] = make_span((first, end, entity, type, attributes))
        if rest:
            fault = f"unknown bracket {rest!r} in IDENTITY; expected '(EntityID=…' or ')'"
            raise FormatError(fault, path=self._path, line=line)

    def take_empty(self, mark: str, token: int, line: int) -> str:
        raise FormatError("an empty node can't have a mention in CONLL-UA", path=self._path, line=line)

    def finish(self) -> tuple[list[Span], Attributes]:
        if self._stack:
            _, _, line, entity, *_ = self._stack[0]
            fault = f"a markable of entity {entity} starts here and never ends in this document"
            raise FormatError(fault, path=self._path, line=line)
        spans = [span for span in self._spans if span is not None]
        markables = self._markables
        non_referring = [span for span in spans if span[2].endswith(_PSEUDO)]
        if non_referring or len(set(markables)) < len(markables):
            by_markable: dict[str, list[Span]] = {}
            for number, (span, markable) in enumerate(zip(spans, markables, strict=True)):
                if not span.entity.endswith(_PSEUDO):
                    by_markable.setdefault(markable or f" {number}", []).append(span)
            spans = [span for parts in by_markable.values() for span in _mentions(parts)]
        stored = [f"{span.first}:{span.end}:{_fields(*span[2:])}" for span in non_referring]
        return spans, ((NON_REFERRING, " ".join(stored)),) if stored else NO_ATTRIBUTES


def _read_fields(fields: str) -> tuple[str, str, str | None, Attributes]:
    """Entity, markable, type and attributes of a markable; the usual order of fields is quicker to read."""
    first, _, others = fields.partition("|")
    second, _, rest = others.partition("|")
    if first[:9] != "EntityID=" or second[:11] != "MarkableID=" or "%" in fields or rest[:8] in _AGAIN:
        return _read_any_fields(fields)
    markable = second[11:]
    type, attributes = _read_rest(rest)
    return (
        first[9:],
        markable,
        type,
        attributes if markable.startswith(_MADE_UP) else ((MARKABLE, markable), *attributes),
    )


@lru_cache(_ud.CACHE_SIZE)
def _read_rest(rest: str) -> tuple[str | None, Attributes]:
    _, _, type, attributes = _read_any_fields(rest) if rest else ("", "", None, NO_ATTRIBUTES)
    return type, attributes


def _read_any_fields(fields: str) -> tuple[str, str, str | None, Attributes]:
    entity = markable = ""
    type: str | None = None
    attributes = []
    for field in fields.split("|"):
        name, _, spelt = field.partition("=")
        value = unquote(spelt) if "%" in spelt else spelt
        plain = _plain(name)
        if plain == "entityid":
            entity = value
        elif plain == "markableid":
            markable = value
            if not spelt.startswith(_MADE_UP):
                attributes.append((MARKABLE, value))
        elif plain == "type":
            type = value or None
        else:
            attributes.append((name, value))
    return entity, markable, type, tuple(attributes)


def _mentions(parts: list[Span]) -> list[Span]:
    """Spans of one markable as one mention, if they can be its parts."""
    if len(parts) == 1:
        return parts
    in_order = sorted(parts)
    if any(a.end >= b.first or a.entity != b.entity for a, b in pairwise(in_order)):
        return parts
    return [joined(in_order)]


_KEEPS = Keeps(
    types=True, token_attributes=None, sentence_attributes=None, mention_attributes=None, document_attributes=None
)


def write(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """The documents as text, in pieces."""
    writer = Writer(losses, COLUMNS[10:])
    yield f"# global.columns = {' '.join(COLUMNS)}\n"
    for document in documents:
        losses.count(document, _KEEPS)
        brackets = [*_brackets(document, losses), *_non_referring(document, losses)]
        nested = without_crossing(brackets)
        losses.add(_CROSSING, len(brackets) - len(nested))
        marks = cells(nested, "", closing_first=True)
        headers = {name: value for name, value in document.attributes if name.startswith("global.")}
        headers.pop("global.columns", None)
        rest = tuple(pair for pair in document.attributes if pair[0] != NON_REFERRING)
        yield writer.document(replace(document, attributes=rest), marks, headers)


def _brackets(document: Document, losses: Losses) -> Iterator[Bracket]:
    """The mentions, each with a markable's id of its own."""
    given = {value for mention in document.mentions for name, value in mention.attributes if name == MARKABLE}
    fresh = (name for number in count(1) if (name := f"{_MADE_UP}_{number}") not in given)
    used: set[str] = set()
    spelt: dict[tuple[str | None, Attributes], tuple[str, frozenset[str]]] = {}
    for entity in document.entities:
        id = f"{entity.id}_" if entity.id.endswith(_PSEUDO) or not entity.id else entity.id
        losses.add("entity ids that had to be changed", int(id != entity.id))
        opening = f"({_ENTITY}={percent_encoded(id, _BREAKING)}|{MARKABLE}="
        for mention in entity.mentions:
            markable, others = _without_markable(mention.attributes)
            if markable and markable not in used:
                used.add(markable)
                name = _spelt_id(markable)
            else:
                losses.add(MENTION_ATTRIBUTES, int(bool(markable)), [MARKABLE])
                name = next(fresh)
            key = (mention.type, others)
            fields, lost = known if (known := spelt.get(key)) else spelt.setdefault(key, _spell(*key))
            if lost:
                losses.add(MENTION_ATTRIBUTES, 1, lost)
            if mention.type == "":
                losses.add("mention types")
            for first, end in parts_of(mention):
                yield make_bracket((first, end, f"{opening}{name}{fields}", ")"))


def _spelt_id(markable: str) -> str:
    """A markable's id as it is written; one that would pass for made up gets its first letter encoded."""
    if markable.startswith(_MADE_UP):
        return f"%{ord(markable[0]):02X}{percent_encoded(markable[1:], _BREAKING)}"
    return percent_encoded(markable, _BREAKING) if _UNSAFE.search(markable) else markable


def _without_markable(attributes: Attributes) -> tuple[str, Attributes]:
    """A markable's id, if there is one, and the other attributes."""
    if attributes and attributes[0][0] == MARKABLE:
        return attributes[0][1], attributes[1:]
    named = dict(attributes)
    return named.pop(MARKABLE, ""), tuple(named.items())


def _spell(type: str | None, attributes: Attributes) -> tuple[str, frozenset[str]]:
    """The fields behind a markable's id, each behind a bar, and the names of those that can't be written."""
    named = dict(attributes)
    named.pop(PARTS, None)
    pairs = [pair for pair in named.items() if _is_field_name(pair[0])]
    lost = frozenset(named) - dict(pairs).keys()
    if type:
        pairs.append((_TYPE, type))
    return "".join([f"|{name}={percent_encoded(value, _BREAKING)}" for name, value in pairs]), lost


def _non_referring(document: Document, losses: Losses) -> Iterator[Bracket]:
    """The markables that are no mentions, as the document's attributes hold them."""
    for stored in dict(document.attributes).get(NON_REFERRING, "").split():
        match = _STORED.fullmatch(stored)
        if match is None or not int(match[1]) < int(match[2]) <= len(document.tokens):
            losses.add(DOCUMENT_ATTRIBUTES, 1, [NON_REFERRING])
        else:
            yield Bracket(int(match[1]), int(match[2]), f"({match[3]}", ")")


def _fields(entity: str, type: str | None, attributes: Attributes) -> str:
    pairs = [(_ENTITY, entity), *attributes, *([(_TYPE, type)] if type else [])]
    return "|".join([f"{name}={percent_encoded(value, _BREAKING)}" for name, value in pairs])


@lru_cache(256)
def _is_field_name(name: str) -> bool:
    return bool(name) and "=" not in name and not _BREAKING.search(name) and _plain(name) not in _OWN_FIELDS


@lru_cache(256)
def _plain(name: str) -> str:
    """A field's name without the differences that files make: EntityId, Markable_ID."""
    return name.replace("_", "").lower()
