"""Which formats there are, and which one a text is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from incoref.corpora import conll2012, conllu, jsonlines, litbank
from incoref.errors import FormatError, IncorefError
from incoref.types import Document


@dataclass(frozen=True, slots=True)
class Format:
    """A format's name and what can be done with it."""

    name: str
    read: Callable[[str, Path | str], Iterator[Document]]


FORMATS = {
    format.name: format
    for format in (
        Format("conll-2012", conll2012.read),
        Format("litbank", litbank.read),
        Format("conllu", conllu.read),
        Format("jsonlines", jsonlines.read),
    )
}


def format_named(name: str) -> Format:
    try:
        return FORMATS[name]
    except KeyError:
        raise IncorefError(f"unknown format {name!r}; known are: {', '.join(FORMATS)}") from None


def guess(text: str, path: Path | str) -> Format:
    """The format of a file's text, from its first lines."""
    head = text[:4000].lstrip()
    if head.startswith("#begin document"):
        rows = [row for row in head.split("\n")[1:-1] if row.strip() and not row.startswith("#")]
        return FORMATS["litbank" if rows and rows[0].split("\t")[4:5] == ["_"] else "conll-2012"]
    if head.startswith("{"):
        return FORMATS["jsonlines"]
    if head.startswith("#"):
        return FORMATS["conllu"]
    raise FormatError("the format can't be guessed; name it", path=path)
