"""LitBank's CoNLL: CoNLL-2012 with thirteen tab-separated columns, ``_`` as filler, no mark where nothing refers.

It has no speakers; entity types are in other files of that corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from incoref.corpora import conll2012
from incoref.corpora.losses import Keeps, Losses
from incoref.types import Document

_WIDTH = 13
_KEEPS = Keeps(speakers=False, document_attributes={conll2012.PART})
_LAYOUT = conll2012.Layout(between="\t_" * (_WIDTH - 5), no_mention="", part="0", keeps=_KEEPS)


def read(text: str, path: Path | str) -> Iterator[Document]:
    """The documents of a file's text; ``path`` is for error messages."""
    return conll2012.read(text, path, columns_of)


def columns_of(row: str) -> list[str]:
    """A row's columns; where an editor has cut the empty last one off, it is put back."""
    columns = row.rstrip(" ").split("\t")
    if len(columns) == _WIDTH - 1:
        columns.append("")
    return columns


def write(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """The documents as text, in pieces."""
    return conll2012.write(documents, losses, _LAYOUT)
