"""CoNLL-U with coreference in the MISC field ``Entity``, as in CorefUD, GUM and OntoGUM.

The fields of a mention, named by ``# global.Entity``, are its type (``etype``) and attributes. A discontinuous
mention (``e5[1/2]``) becomes one mention from its first word to its last, with its parts in the attribute ``parts``.
Mentions that only cover empty nodes don't become mentions of the document; they are kept in the row of their node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from incoref.corpora import _ud
from incoref.corpora._assemble import NO_ATTRIBUTES, Brackets, Span
from incoref.corpora._brackets import PARTS, TANGLED, Bracket, cells, joined, parts_of, percent_encoded, tangled
from incoref.corpora._ud_writing import BREAKING, Writer
from incoref.corpora.losses import Keeps, Losses
from incoref.errors import FormatError
from incoref.types import Attributes, Document, Mention

TYPE_FIELDS = ("etype", "type")
"""Fields that can hold a mention's type."""

_ID_BREAKING = re.compile(r"[-()|\[\]\s]")
_BREAKING = re.compile(r"[()|\t\n\r]|\s(?:-|$)")
_FIELD_BREAKING = re.compile(r"[-()|\t\n\r]|\s$")
_LAST_BREAKING = re.compile(r"[()|\t\n\r]|^-|\s$")
_PART = re.compile(r"(.+)\[(\d{1,4})/(\d{1,4})\]")


def read(text: str, path: Path | str) -> Iterator[Document]:
    """Yield the documents in ``text``; ``path`` is used in error messages and to name an unnamed document."""
    return _ud.read(text, path, _Entities(path))


class _Entities:
    """Reads ``Entity=(1-person-new(2)1)``."""

    numbers_run_on = False
    speaker_holds = False

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._fields = _fields_reader(TYPE_FIELDS[:1])
        self.start()

    def start(self) -> None:
        self._brackets = Brackets(self._path)
        self._in_parts = False

    def take_global(self, name: str, value: str, line: int) -> bool:
        if name == "global.Entity":
            self._fields = _fields_reader(tuple(value.split("-")[1:]))
        return True

    def table(self, rows: list[str], first_line: int) -> tuple[list[_ud.Column], list[str], list[_ud.Mark]]:
        cells = [row.rstrip().split("\t") for row in rows]
        if set(map(len, cells)) != {10}:
            line, width = next((line, len(row)) for line, row in enumerate(cells, first_line) if len(row) != 10)
            raise FormatError(f"a row of {width} columns where CoNLL-U has 10", path=self._path, line=line)
        columns: list[_ud.Column] = list(zip(*cells, strict=True))
        columns[9] = misc = list(columns[9])
        marks = []
        for row, fields in enumerate(misc):
            if fields != "_" and "Entity=" in fields:
                misc[row], mark = _without_entity(fields)
                if mark:
                    marks.append((row, mark))
        return columns, [], marks

    def take(self, marks: list[_ud.Mark], first_token: int, first_line: int) -> None:
        for row, mark in marks:
            token = first_token + row
            self._take(mark, token, token + 1, first_line + row)

    def take_empty(self, mark: str, token: int, line: int) -> str:
        kept = self._take(mark, token, token, line)
        return f"Entity={''.join(kept)}" if kept else ""

    def _take(self, mark: str, token: int, end: int, line: int) -> list[str]:
        """Process the brackets of one mark; return those of mentions without a word."""
        brackets, read_fields = self._brackets, self._fields
        without_word = []
        ends, *openings = mark.split("(")
        if ends:
            self._close(ends, end, mark, line)
        for opening in openings:
            mention, is_closed, further_ends = opening.partition(")")
            entity, _, fields = mention.partition("-")
            type, attributes = read_fields(fields)
            if entity[-1:] == "]":
                self._in_parts = True
            if not mention:
                raise self._unknown(mark, line)
            if not is_closed:
                brackets.open(entity, token, line, type, attributes)
            elif token < end:
                brackets.add(entity, token, end, type, attributes)
            else:
                without_word.append(f"({mention})")
            if further_ends:
                self._close(further_ends, end, mark, line)
        return without_word

    def _close(self, ends: str, end: int, mark: str, line: int) -> None:
        *entities, rest = ends.split(")")
        for entity in entities:
            if not entity:
                raise self._unknown(mark, line)
            self._brackets.close(entity, end, line)
        if rest:
            raise self._unknown(mark, line)

    def _unknown(self, mark: str, line: int) -> FormatError:
        fault = f"unknown brackets in Entity={mark}; expected '(id-…', 'id)' or '(id-…)'"
        return FormatError(fault, path=self._path, line=line)

    def finish(self) -> tuple[list[Span], Attributes]:
        spans = self._brackets.finish()
        if any("%" in span.entity for span in spans):
            spans = [span._replace(entity=unquote(span.entity)) for span in spans]
        return (_with_parts_joined(spans, self._path) if self._in_parts else spans), NO_ATTRIBUTES


def _without_entity(misc: str) -> tuple[str, str]:
    """Split MISC into the other fields and the value of ``Entity``."""
    if misc.startswith("Entity=") and "|" not in misc:
        return "_", misc[7:]
    fields = misc.split("|")
    place = next((at for at, field in enumerate(fields) if field.startswith("Entity=")), None)
    mark = "" if place is None else fields.pop(place)[7:]
    return "|".join(fields) or "_", mark


@lru_cache(64)
def _fields_reader(names: tuple[str, ...]) -> Callable[[str], tuple[str | None, Attributes]]:
    """A parser of the fields after an entity's id into type and attributes; the last field may contain hyphens."""
    names = names or ("other",)

    @lru_cache(_ud.CACHE_SIZE)
    def read_fields(fields: str) -> tuple[str | None, Attributes]:
        type: str | None = None
        attributes = []
        for name, value in zip(names, fields.split("-", len(names) - 1), strict=False):
            if name in TYPE_FIELDS and type is None:
                type = value or None
            elif value:
                attributes.append((name, value))
        return type, tuple(attributes)

    return read_fields


def _with_parts_joined(spans: list[Span], path: Path | str) -> list[Span]:
    """Join the parts of discontinuous mentions into spans from the first part to the last."""
    whole: list[Span] = []
    waiting: dict[tuple[str, int], list[list[Span]]] = {}
    for span in sorted(spans):
        match = _PART.fullmatch(span.entity)
        if match is None:
            whole.append(span)
            continue
        part, total = int(match[2]), int(match[3])
        mentions = waiting.setdefault((match[1], total), [])
        if part == 1:
            mentions.append([])
        parts = next((parts for parts in mentions if len(parts) == part - 1), None)
        if parts is None:
            raise FormatError(f"part {part} of a mention of entity {match[1]} without the one before it", path=path)
        parts.append(span)
        if part == total:
            mentions.remove(parts)
            whole.append(joined(parts)._replace(entity=match[1]))
    for (entity, total), mentions in waiting.items():
        if mentions:
            raise FormatError(f"a mention of entity {entity} lacks some of its {total} parts", path=path)
    return whole


_KEEPS = Keeps(
    types=True, token_attributes=None, sentence_attributes=None, mention_attributes=None, document_attributes=None
)


def write(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """Yield the documents as text, in pieces."""
    writer = Writer(losses)
    for document in documents:
        losses.count(document, _KEEPS)
        names = _field_names(document)
        brackets = _brackets(document, names, losses)
        losses.add(TANGLED, tangled(brackets))
        headers = {name: value for name, value in document.attributes if name.startswith("global.")}
        if brackets:
            headers["global.Entity"] = "-".join(names)
        yield writer.document(document, cells(brackets, ""), headers)


def _field_names(document: Document) -> list[str]:
    """The names of mention fields: those declared by the document, then other attributes of its mentions."""
    names = dict(document.attributes).get("global.Entity", "GRP").split("-")
    if not set(names).intersection(TYPE_FIELDS) and any(mention.type is not None for mention in document.mentions):
        names.insert(1, TYPE_FIELDS[0])
    for attributes in dict.fromkeys(mention.attributes for mention in document.mentions):
        names.extend(name for name, _ in attributes if name not in names and name != PARTS and _is_field_name(name))
    return names


def _is_field_name(name: str) -> bool:
    return bool(name) and "-" not in name and not BREAKING.search(name) and name.strip() == name


def _brackets(document: Document, names: list[str], losses: Losses) -> list[Bracket]:
    spelt: dict[tuple[str | None, Attributes], str] = {}
    brackets = []
    for entity in document.entities:
        id = percent_encoded(entity.id, _ID_BREAKING) or "_"
        losses.add("entity ids that are empty", int(not entity.id))
        for mention in entity.mentions:
            key = (mention.type, mention.attributes)
            fields = spelt.get(key)
            if fields is None:
                fields = spelt[key] = _spell(mention, names, losses)
            parts = parts_of(mention)
            if len(parts) == 1:
                brackets.append(Bracket(*parts[0], f"({id}{fields}", f"{id})"))
                continue
            for number, (first, end) in enumerate(parts, 1):
                brackets.append(
                    Bracket(first, end, f"({id}[{number}/{len(parts)}]{fields}", f"{id}[{number}/{len(parts)}])")
                )
    return brackets


def _spell(mention: Mention, names: list[str], losses: Losses) -> str:
    """The fields after an entity's id, each preceded by a hyphen."""
    named = dict(mention.attributes)
    named.pop(PARTS, None)
    if mention.type is not None:
        named[next(name for name in names if name in TYPE_FIELDS)] = mention.type
    empty = [name for name, value in named.items() if not value] if "" in named.values() else []
    values = [named.pop(name, "") for name in names[1:]]
    while values and not values[-1]:
        values.pop()
    spelt = "".join([f"-{value}" for value in values])
    if not named and not empty and spelt.count("-") == len(values) and not _BREAKING.search(spelt):
        return spelt
    safe = [_FIELD_BREAKING.sub(_percent, value) for value in values]
    if values and len(values) == len(names) - 1:
        safe[-1] = _LAST_BREAKING.sub(_percent, values[-1])
    changed = [name for name, value, was in zip(names[1:], safe, values, strict=False) if value != was]
    losses.add("mention attributes", int(bool(changed or named or empty)), [*changed, *named, *empty])
    return "".join([f"-{value}" for value in safe])


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())
