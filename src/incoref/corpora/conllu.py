"""CoNLL-U with coreference in ``Entity`` of MISC, as CorefUD, GUM and OntoGUM have it.

Words are tokens; the text follows ``SpaceAfter``, with a blank line between paragraphs. Everything else stays in
attributes and is written back: columns by name (``lemma``, ``upos``, …; absent for ``_``), MISC without ``Entity`` and
``SpaceAfter`` as ``misc``, a multi-word token's row as ``range`` on its first word, rows of empty nodes as ``empty``
on the word before them, comments on sentence and document. Fields of a mention, named by ``# global.Entity``, are
its type and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from incoref.corpora._assemble import NO_ATTRIBUTES, Brackets, assemble
from incoref.errors import FormatError
from incoref.types import Attributes, Document, Sentence, Token

COLUMNS = ("lemma", "upos", "xpos", "feats", "head", "deprel", "deps")
"""Names of the third to ninth column in a token's attributes."""

TYPE_FIELDS = frozenset({"etype", "type"})
"""Names of the mention field that becomes the mention's type."""

_BRACKETS = re.compile(r"\(([^()]+)(\))?|([^()]+)\)")
_PART = re.compile(r"(.+)\[(\d+)/(\d+)\]$")
_DOCUMENT_COMMENTS = ("global.", "meta::")
_GUM_NAME = re.compile(r"GUM_([a-z]+)_")


def read(text: str, path: Path | str) -> Iterator[Document]:
    """The documents of a file's text; ``path`` is for error messages."""
    reader = _DocumentReader(path, Path(path).stem, ())
    for line, row in enumerate(text.split("\n"), 1):
        if not row or row.isspace():
            reader.end_sentence()
        elif row[0] == "#":
            key, value = comment_of(row)
            if (key == "newdoc" or key == "newdoc id") and reader.begun:
                reader.end_sentence()
                yield reader.finish()
                reader = _DocumentReader(path, Path(path).stem, reader.fields)
            reader.take_comment(key, value, line)
        else:
            reader.take_row(row.rstrip(" \t\r"), line)
    reader.end_sentence()
    if not reader.begun:
        raise FormatError("no token in the file", path=path)
    yield reader.finish()


def comment_of(row: str) -> tuple[str, str]:
    """A comment's name and value; one that isn't ``# name = value`` is all name."""
    body = row.rstrip(" \t\r")[1:]
    if body[:1] != " ":
        return "#" + body, ""
    body = body[1:]
    key, equals, value = body.partition(" = ")
    return (key, value) if equals and value else (body, "")


class _DocumentReader:
    """Takes one document's comments and rows."""

    def __init__(self, path: Path | str, name: str, fields: tuple[str, ...]) -> None:
        self._path = path
        self._name = name
        self.fields = fields
        self.begun = False
        self._attributes: dict[str, str] = {}
        self._comments: dict[str, str] = {}
        self._sentences: list[Sentence] = []
        self._brackets = Brackets(path)
        self._pieces: list[str] = []
        self._at = 0
        self._gap = ""
        self._count = 0
        self._begin_sentence()

    def _begin_sentence(self) -> None:
        self._tokens: list[Token] = []
        self._range_end = 0
        self._range_form = ""
        self._range_gap = " "
        self._pending: Attributes = NO_ATTRIBUTES

    def take_comment(self, key: str, value: str, line: int) -> None:
        if self._tokens:
            raise FormatError("a comment inside a sentence; a blank line ends a sentence", path=self._path, line=line)
        if key == "newdoc id":
            self._name = value
        elif key == "global.Entity":
            self.fields = tuple(value.split("-"))
            self._attributes[key] = value
        elif not self.begun and (key == "newdoc" or key.startswith(_DOCUMENT_COMMENTS)):
            if key != "newdoc":
                self._attributes[key] = value
        elif key in self._comments:
            self._comments[f"{key} = {value}"] = ""
        else:
            self._comments[key] = value

    def take_row(self, row: str, line: int) -> None:
        columns = row.split("\t")
        if len(columns) != 10:
            raise FormatError(f"a row of {len(columns)} columns where CoNLL-U has 10", path=self._path, line=line)
        number, word = columns[0], columns[1]
        tokens = self._tokens
        if number != str(len(tokens) + 1):
            self._take_other_row(number, word, columns[9], row, line)
            return
        attributes = tuple([pair for pair in zip(COLUMNS, columns[2:9], strict=True) if pair[1] != "_"])
        misc, gap = columns[9], " "
        if self._pending:
            attributes, self._pending = attributes + self._pending, NO_ATTRIBUTES
        if misc != "_":
            rest = []
            for field in misc.split("|"):
                if field.startswith("Entity="):
                    self._take_entity(field[7:], self._count + len(tokens), line)
                elif field == "SpaceAfter=No":
                    gap = ""
                else:
                    rest.append(field)
            if rest:
                attributes = (*attributes, ("misc", "|".join(rest)))
        if self._range_end:
            gap = self._gap_in_range(word, len(tokens) + 1)
        if not tokens:
            self._lead_in()
        elif self._gap:
            self._pieces.append(self._gap)
            self._at += 1
        end = self._at + len(word)
        self._pieces.append(word)
        tokens.append(Token(word, self._at, end, attributes))
        self._at, self._gap = end, gap
        self.begun = True

    def _gap_in_range(self, word: str, number: int) -> str:
        """White space after a word of a multi-word token: none as long as the words spell the token."""
        if number == self._range_end:
            self._range_end = 0
            return self._range_gap
        if self._range_form.startswith(word):
            self._range_form = self._range_form[len(word) :]
            return ""
        self._range_form = ""
        return " "

    def _lead_in(self) -> None:
        """White space before a sentence's first word."""
        if self._sentences:
            gap = "\n\n" if any(key.startswith("newpar") for key in self._comments) else self._gap
            self._pieces.append(gap)
            self._at += len(gap)

    def _take_other_row(self, number: str, word: str, misc: str, row: str, line: int) -> None:
        first, dash, last = number.partition("-")
        expected = len(self._tokens) + 1
        if dash and first == str(expected) and last.isdecimal() and int(last) > expected:
            self._range_end = int(last)
            self._range_gap = "" if "SpaceAfter=No" in misc.split("|") else " "
            self._range_form = word
            self._pending += (("range", row),)
            return
        word_before, dot, index = number.partition(".")
        if dot and word_before == str(expected - 1) and index.isdecimal():
            self._take_empty(row)
            return
        raise FormatError(f"token number {number!r} where {expected} was expected", path=self._path, line=line)

    def _take_empty(self, row: str) -> None:
        if self._tokens:
            token = self._tokens[-1]
            attributes = dict(token.attributes)
            attributes["empty"] = f"{attributes['empty']}\n{row}" if "empty" in attributes else row
            self._tokens[-1] = token._replace(attributes=tuple(attributes.items()))
        else:
            self._pending += (("empty before", row),)

    def _take_entity(self, value: str, token: int, line: int) -> None:
        at, brackets = 0, self._brackets
        for found in _BRACKETS.finditer(value):
            if found.start() != at:
                break
            at = found.end()
            opening, single, closing = found.groups()
            if opening is None:
                brackets.close(unquote(closing), token + 1, line)
                continue
            entity, type, attributes = self._fields_of(opening)
            brackets.open(entity, token, line, type, attributes)
            if single:
                brackets.close(entity, token + 1, line)
        if at != len(value):
            raise FormatError(
                f"unknown bracket {value[at:]!r} in Entity; expected '(id-…', 'id)' or '(id-…)'",
                path=self._path,
                line=line,
            )

    def _fields_of(self, opening: str) -> tuple[str, str | None, Attributes]:
        """Entity id, type and the other fields of an opening bracket."""
        fields = self.fields
        values = opening.split("-", max(len(fields) - 1, 1))
        if "%" in opening:
            values = [unquote(value) for value in values]
        if len(values) == 1:
            return values[0], None, NO_ATTRIBUTES
        kind: str | None = None
        attributes = []
        for number, value in enumerate(values[1:], 1):
            name = fields[number] if number < len(fields) else "other"
            if name in TYPE_FIELDS and kind is None:
                kind = value
            else:
                attributes.append((name, value))
        return values[0], kind, tuple(attributes)

    def end_sentence(self) -> None:
        if not self._tokens:
            return
        tokens, comments = tuple(self._tokens), self._comments
        self._count += len(tokens)
        speaker = comments.pop("speaker", None)
        self._sentences.append(Sentence(tokens[0].start, tokens[-1].end, tokens, speaker, tuple(comments.items())))
        self._comments = {}
        self._begin_sentence()

    def finish(self) -> Document:
        text = "".join(self._pieces)
        return assemble(
            self._name,
            text,
            self._sentences,
            self._brackets.finish(),
            self._attributes.get("meta::genre") or genre_of(self._name),
            tuple(self._attributes.items()),
        )


def genre_of(name: str) -> str | None:
    """The genre in a GUM document's name: ``GUM_conversation_risk``."""
    found = _GUM_NAME.match(name)
    return found[1] if found else None
