"""LitBank's CoNLL: CoNLL-2012 with 13 tab-separated columns, ``_`` as filler, and an empty cell for no mention.

It has no speakers; the corpus keeps entity types in other files.
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
    """Yield the documents in ``text``; ``path`` is used in error messages."""
    return conll2012.read(text, path, columns_of)


def columns_of(row: str) -> list[str]:
    """Split a row into columns; restore an empty last column if an editor has stripped it."""
    columns = row.rstrip(" ").split("\t")
    if len(columns) == _WIDTH - 1:
        columns.append("")
    return columns


def write(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """Yield the documents as text, in pieces."""
    return conll2012.write(documents, losses, _LAYOUT)
