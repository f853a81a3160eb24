"""The output formats of ``incoref resolve`` and the suffixes of their files."""

from __future__ import annotations

from enum import StrEnum


class OutputFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    JSONL = "jsonl"
    CONLL = "conll"
    CONLLU = "conllu"
    CONLLUA = "conllua"
    HTML = "html"
    BRAT = "brat"
    RESOLVED = "resolved"


SUFFIXES = {
    OutputFormat.TEXT: ".txt",
    OutputFormat.JSON: ".json",
    OutputFormat.JSONL: ".jsonl",
    OutputFormat.CONLL: ".conll",
    OutputFormat.CONLLU: ".conllu",
    OutputFormat.CONLLUA: ".conllua",
    OutputFormat.HTML: ".html",
    OutputFormat.RESOLVED: ".txt",
}
"""File name suffixes. brat isn't included because it writes two files per document."""

MANY_IN_ONE = frozenset({OutputFormat.JSONL, OutputFormat.CONLL, OutputFormat.CONLLU, OutputFormat.CONLLUA})
"""Formats whose files can contain several documents."""


def format_of(name: str) -> OutputFormat | None:
    """The format implied by a file's suffix, if any."""
    return next((format for format, suffix in SUFFIXES.items() if name.lower().endswith(suffix)), None)
