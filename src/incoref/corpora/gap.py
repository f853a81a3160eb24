"""GAP: ambiguous pronouns in Wikipedia, as TSV: each text has one pronoun and two names that it may refer to.

Nothing else is annotated, so ``read`` yields documents with three mentions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from incoref.corpora import plain
from incoref.corpora.files import read_text
from incoref.errors import FormatError
from incoref.types import Document, Entity, Mention

Place = tuple[int, int]
"""Half-open character range."""
MASCULINE, FEMININE, NEUTRAL = "masculine", "feminine", "neutral"
_GENDERS = {
    **dict.fromkeys(("he", "him", "his"), MASCULINE),
    **dict.fromkeys(("she", "her", "hers"), FEMININE),
}


@dataclass(frozen=True, slots=True)
class GapExample:
    """A pronoun and two names that it may refer to."""

    id: str
    text: str
    pronoun: Place
    gender: str
    names: tuple[Place, Place]
    coreferent: tuple[bool, bool]


def read_gap(path: Path) -> list[GapExample]:
    return list(_examples(read_text(path), path))


def read(text: str, path: Path | str) -> Iterator[Document]:
    """Yield one document per example, with the pronoun and the two names as mentions."""
    for example in _examples(text, path):
        [document] = plain.read(example.text, example.id)
        right = [name for name, coreferent in zip(example.names, example.coreferent, strict=True) if coreferent]
        groups = [[example.pronoun, *right], *([name] for name in example.names if name not in right)]
        entities = []
        for number, places in enumerate(groups, start=1):
            mentions = tuple(_mention(document, place, str(number)) for place in sorted(places))
            entities.append(Entity(str(number), mentions))
        yield replace(document, id=example.id, entities=tuple(entities))


def _mention(document: Document, place: Place, entity: str) -> Mention:
    """A mention of all words that overlap a character range."""
    touched = [n for n, token in enumerate(document.tokens) if token.start < place[1] and place[0] < token.end]
    first, last = touched[0], touched[-1]
    start, end = document.tokens[first].start, document.tokens[last].end
    ends = accumulate(len(sentence) for sentence in document.sentences)
    sentence = next(number for number, end_token in enumerate(ends) if first < end_token)
    return Mention(start, end, document.text[start:end], (first, last + 1), sentence, entity)


def _examples(text: str, path: Path | str) -> Iterator[GapExample]:
    columns = ("ID", "Text", "Pronoun", "Pronoun-offset", "A", "A-offset", "A-coref", "B", "B-offset", "B-coref")
    for line, fields in tsv_rows(text, path, columns):
        places = []
        for name in ("Pronoun", "A", "B"):
            words, start = fields[name], _number(fields[f"{name}-offset"], path, line)
            if not words.strip() or fields["Text"][start : start + len(words)] != words:
                raise FormatError(f"'{words}' is not at character {start} of the text", path=path, line=line)
            places.append((start, start + len(words)))
        gender = _GENDERS.get(fields["Pronoun"].lower())
        if gender is None:
            raise FormatError(f"'{fields['Pronoun']}' is none of {', '.join(_GENDERS)}", path=path, line=line)
        right = (fields["A-coref"].upper() == "TRUE", fields["B-coref"].upper() == "TRUE")
        yield GapExample(fields["ID"], fields["Text"], places[0], gender, (places[1], places[2]), right)


def tsv_rows(text: str, path: Path | str, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a TSV file with a header, with their line numbers; quotation marks are plain text."""
    heading, *rows = (line.rstrip("\r").split("\t") for line in text.rstrip("\n").split("\n"))
    missing = [column for column in columns if column not in heading]
    if missing:
        raise FormatError(f"no column '{missing[0]}' in the heading", path=path, line=1)
    if not rows:
        raise FormatError("nothing follows the heading", path=path, line=1)
    for line, row in enumerate(rows, start=2):
        if len(row) < len(heading):
            raise FormatError("a row with too few columns", path=path, line=line)
        yield line, dict(zip(heading, row, strict=False))


def _number(text: str, path: Path | str, line: int) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise FormatError(f"'{text}' is not a whole number", path=path, line=line) from error
