"""Writes the rows and comments common to CoNLL-U and CONLL-UA; the counterpart of :mod:`incoref.corpora._ud`.

The caller passes in the mention mark of each token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter

from incoref.corpora._ud import (
    COLUMNS,
    META,
    MISC,
    PARAGRAPH_GAP,
    SPECIAL_COMMENTS,
    comment_of,
    genre_of,
    misc_attributes,
)
from incoref.corpora._ud_odd import EMPTY, EMPTY_BEFORE, RANGE
from incoref.corpora.losses import (
    DOCUMENT_ATTRIBUTES,
    NAMES,
    SENTENCE_ATTRIBUTES,
    SPACING,
    SPEAKERS,
    TOKEN_ATTRIBUTES,
    Losses,
)
from incoref.types import Attributes, Document, Sentence

BREAKING = re.compile(r"[\t\n\r]+")
"""Characters that a table cell can't contain."""

_NO_FIELDS: list[str] = []
_NO_COLUMNS = "\t".join("_" * len(COLUMNS))
_BLANK = dict.fromkeys(COLUMNS, "_")
_columns = itemgetter(*COLUMNS)
_NOT_IN_MISC = re.compile(r"[|\t\n\r]|^Entity=|^SpaceAfter=No$|^\s*_?\s*$|\s$")
_WITH_WHITE_SPACE = re.compile(rf"\s|{_NOT_IN_MISC.pattern}")
_WHITE_SPACE = re.compile(r"\s+")
_BLANK_LINE = re.compile(r"\n\s*\n")
_RANGE_ROW = re.compile(r"(\d{1,9})-(\d{1,9})((?:\t[^\t\n]*){9})")
_EMPTY_ROW = re.compile(r"\d{1,9}((?:\.\d{1,9})(?:\t[^\t\n]*){9})")


class Writer:
    """Writes the comments and rows of documents, and counts what the format can't express."""

    def __init__(self, losses: Losses, extra_columns: tuple[str, ...] = ()) -> None:
        """With extra columns (CONLL-UA), the first takes the mark, and words are numbered throughout a document.

        CONLL-UA readers split rows at any white space, so cells must not contain any. A speaker there applies until
        the next ``# speaker`` comment, so a sentence without a speaker needs a bare one.
        """
        self._losses = losses
        self._extra = extra_columns
        self._breaking, self._filler = (_WHITE_SPACE, "_") if extra_columns else (BREAKING, " ")
        self._not_in_misc = _WITH_WHITE_SPACE if extra_columns else _NOT_IN_MISC
        self._padding = "\t_" * len(extra_columns)
        self._no_further = "\t".join("_" * len(extra_columns[1:]))
        self._spacing_kept = True

    def comment(self, name: str, value: str, what: str) -> str:
        """Format a comment line; record a loss if it would be read back as something else."""
        line = f"# {name} = {value}" if value else f"# {name}"
        if BREAKING.search(line):
            line = BREAKING.sub(" ", line)
        if comment_of(line) != (name, value):
            if not value and name.startswith("#") and comment_of(name) == (name, ""):
                return name
            self._losses.add(what, 1, [name])
        return line

    def document(self, document: Document, marks: Mapping[int, str], globals: Mapping[str, str]) -> str:
        """Return a document's comments and rows."""
        lines = [*self._document_comments(document, globals)]
        text, sentences = document.text, [sentence for sentence in document.sentences if sentence.tokens]
        self._losses.add("sentences without words", len(document.sentences) - len(sentences))
        self._spacing_kept = not text[: sentences[0].tokens[0].start if sentences else None]
        count, lead = 0, ""
        speaker: str | None = None
        for number, sentence in enumerate(sentences):
            last = number + 1 == len(sentences)
            follow = text[sentence.end :] if last else text[sentence.end : sentences[number + 1].start]
            lines += self._sentence_comments(sentence, text, lead)
            if self._extra and sentence.speaker is None and speaker is not None:
                lines.append("# speaker")
            speaker = sentence.speaker
            new_paragraph = not last and (
                _starts_paragraph(sentences[number + 1]) or bool(_BLANK_LINE.search(follow))
            )
            if follow not in (("",) if last else (PARAGRAPH_GAP,) if new_paragraph else ("", " ")):
                self._spacing_kept = False
            self._add_rows(lines, sentence, text, marks, count, glued=not last and not new_paragraph and not follow)
            lines.append("")
            count += len(sentence.tokens)
            lead = follow
        self._losses.add(SPACING, int(not self._spacing_kept))
        lines.append("")
        return "\n".join(lines)

    def _document_comments(self, document: Document, globals: Mapping[str, str]) -> Iterator[str]:
        yield self.comment("newdoc id", document.id, NAMES)
        for name, value in globals.items():
            yield self.comment(name, value, DOCUMENT_ATTRIBUTES)
        pairs = [pair for pair in document.attributes if not pair[0].startswith("global.") and pair[0] != "genre"]
        if any(name == "genre" for name, _ in document.attributes):  # would be read as the document's genre
            self._losses.add(DOCUMENT_ATTRIBUTES, 1, ["genre"])
        self._losses.add("genres", int(document.genre is None and genre_of(document.id) is not None))
        if document.genre is not None:
            place = next((at for at, (name, _) in enumerate(pairs) if name > "genre"), len(pairs))
            pairs.insert(place, ("genre", document.genre))
        for name, value in pairs:
            yield self.comment(META + name, value, DOCUMENT_ATTRIBUTES)

    def _sentence_comments(self, sentence: Sentence, text: str, lead: str) -> Iterator[str]:
        if _BLANK_LINE.search(lead) and not _starts_paragraph(sentence):
            yield "# newpar"
        speaker = sentence.speaker
        if speaker == "" and self._extra:
            self._losses.add(SPEAKERS)
        has_text = False
        for name, value in sentence.attributes:
            has_text = has_text or name == "text"
            if speaker is not None and (name == "addressee" or name == "text"):
                yield self.comment("speaker", speaker, SPEAKERS)
                speaker = None
            if name == "speaker" or name.startswith(SPECIAL_COMMENTS):
                self._losses.add(SENTENCE_ATTRIBUTES, 1, [name])
            else:
                yield self.comment(name, value, SENTENCE_ATTRIBUTES)
        if speaker is not None:
            yield self.comment("speaker", speaker, SPEAKERS)
        if not has_text:
            as_written = BREAKING.sub(" ", text[sentence.start : sentence.end])
            yield f"# text = {as_written}"

    def _add_rows(
        self, lines: list[str], sentence: Sentence, text: str, marks: Mapping[int, str], count: int, *, glued: bool
    ) -> None:
        tokens, extra = sentence.tokens, self._extra
        base = count if extra else 0
        range_end = 0
        starts = [token[1] for token in tokens]
        starts.append(sentence.end if glued else sentence.end + 1)
        for number, (word, _, end, attributes) in enumerate(tokens, 1):
            columns, further, fields, empty = _NO_COLUMNS, self._no_further, _NO_FIELDS, ""
            if attributes:
                named = _BLANK.copy()
                named.update(attributes)
                cells = _columns(named)
                columns = "\t".join(cells)
                if (
                    "" in cells
                    or columns.count("\t") != 6
                    or "\n" in columns
                    or "\r" in columns
                    or (extra and len(columns.split()) != 7)
                ):
                    columns = self._without_breaks(attributes, COLUMNS)
                if len(named) > len(COLUMNS):
                    for name in COLUMNS:
                        del named[name]
                    if EMPTY_BEFORE in named:
                        lines += self._empty_nodes(named.pop(EMPTY_BEFORE), base + number - 1)
                    if RANGE in named:
                        row, length = self._range(named.pop(RANGE), base + number, len(tokens) - number)
                        range_end = number + length if row else range_end
                        lines += row
                    empty = named.pop(EMPTY, "")
                    if extra:
                        further = self._without_breaks(attributes, extra[1:])
                        for name in extra[1:]:
                            named.pop(name, None)
                    fields = self._misc(named) if named else fields
            if not word.isprintable() or not word or (extra and " " in word):
                word = self._without_breaks_in_word(word)
            gap = starts[number] - end
            if gap and number < len(tokens) and (gap > 1 or text[end] != " "):
                self._spacing_kept = False
            mark = marks.get(count + number - 1)
            if gap and not fields and (extra or not mark):
                misc = "_"
            else:
                misc = _misc(fields, "" if extra else mark, glued=not gap and number > range_end)
            if extra:
                misc = f"{misc}\t{mark or '_'}\t{further}"
            lines.append(f"{base + number}\t{word}\t{columns}\t{misc}")
            if empty:
                lines += self._empty_nodes(empty, base + number)

    def _without_breaks(self, attributes: Attributes, names: Sequence[str]) -> str:
        """Format columns whose values may contain tabs and line breaks, which are replaced."""
        named = dict(attributes)
        lost = [name for name in names if self._breaking.search(named.get(name, ""))]
        self._losses.add(TOKEN_ATTRIBUTES, int(bool(lost)), lost)
        return "\t".join([self._breaking.sub(self._filler, named.get(name, "")) or "_" for name in names])

    def _without_breaks_in_word(self, word: str) -> str:
        if not word or self._breaking.search(word):
            what = "white space (now _)" if self._extra else "a tab or line break"
            self._losses.add(f"words that are empty or contain {what}")
        return self._breaking.sub(self._filler, word) or "_"

    def _misc(self, named: dict[str, str]) -> list[str]:
        """Format attributes as MISC fields, leaving out those that the reader wouldn't restore."""
        fields: list[str] = []
        for name, value in named.items():
            made = value.split("|") if name == MISC else [f"{name}={value}"]
            if any(self._not_in_misc.search(field) for field in made) or misc_attributes(made) != ((name, value),):
                self._losses.add(TOKEN_ATTRIBUTES, 1, [name])
            else:
                fields += made
        return fields

    def _range(self, row: str, number: int, words_left: int) -> tuple[list[str], int]:
        """Renumber the row of a multi-word token; return it with the number of words after its first."""
        match = _RANGE_ROW.fullmatch(row)
        length = int(match[2]) - int(match[1]) if match else -1
        if match is None or not 0 <= length <= words_left:
            self._losses.add(TOKEN_ATTRIBUTES, 1, [RANGE])
            return [], 0
        return [f"{number}-{number + length}{self._cells(match[3], RANGE)}{self._padding}"], length

    def _empty_nodes(self, rows: str, number: int) -> list[str]:
        written = []
        for row in rows.split("\n"):
            match = _EMPTY_ROW.fullmatch(row)
            if match is None:
                self._losses.add(TOKEN_ATTRIBUTES, 1, [EMPTY])
            else:
                written.append(f"{number}{self._cells(match[1], EMPTY)}{self._padding}")
        return written

    def _cells(self, kept: str, name: str) -> str:
        """The cells of a stored row, each preceded by a tab."""
        if not self._extra or " " not in kept:
            return kept
        self._losses.add(TOKEN_ATTRIBUTES, 1, [name])
        return kept.replace(" ", self._filler)


def _misc(fields: list[str], mark: str | None, *, glued: bool) -> str:
    """Format the MISC column, with ``Entity`` and ``SpaceAfter=No`` inserted in alphabetical order."""
    own = [f"Entity={mark}"] if mark else []
    if glued:
        own.append("SpaceAfter=No")
    if fields and own:
        in_order = list(fields)
        for field in own:
            place = next((at for at, other in enumerate(in_order) if other > field), len(in_order))
            in_order.insert(place, field)
        return "|".join(in_order)
    return "|".join(own or fields) or "_"


def _starts_paragraph(sentence: Sentence) -> bool:
    return any(name.startswith("newpar") for name, _ in sentence.attributes)
