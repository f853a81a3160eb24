"""Renders a document in any output format. Returns text; writing files is up to the caller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from incoref.corpora import FORMATS as CORPUS_FORMATS
from incoref.corpora.losses import Losses
from incoref.outputs.formats import OutputFormat
from incoref.outputs.jsonable import document_json, json_line
from incoref.outputs.page import html_page
from incoref.outputs.terminal import marked_text, plain_rows
from incoref.session.resolved_text import resolved_text
from incoref.types import Document

_CORPUS_NAMES = {
    OutputFormat.CONLL: "conll-2012",
    OutputFormat.CONLLU: "conllu",
    OutputFormat.CONLLUA: "conllua",
}


def rendered(document: Document, format: OutputFormat | str) -> str:
    """Render a document in a single-file format; the text ends in a line break."""
    format = OutputFormat(format)
    if format is OutputFormat.TEXT:
        parts = ["".join(text for text, _ in marked_text(document)), *plain_rows(document)]
        return "\n".join((parts[0], "", *parts[1:], "")) if document.entities else f"{parts[0]}\n"
    if format is OutputFormat.JSON:
        return json_line(document_json(document)) + "\n"
    if format is OutputFormat.JSONL:
        return json_line(document_json(document, with_id=True)) + "\n"
    if format is OutputFormat.HTML:
        return html_page(document, Path(document.id).name)
    if format is OutputFormat.RESOLVED:
        return resolved_text(document).rstrip("\n") + "\n"
    write = CORPUS_FORMATS[_CORPUS_NAMES[format]].write
    assert write is not None
    return "".join(write([document], Losses()))


def brat_files(named: Iterable[tuple[str, Document]]) -> Iterator[tuple[str, str]]:
    """Yield the names and contents of brat's files, for documents with file names."""
    write_files = CORPUS_FORMATS["brat"].write_files
    assert write_files is not None
    return write_files(named, Losses())
