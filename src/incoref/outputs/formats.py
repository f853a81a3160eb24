"""The formats in which ``incoref resolve`` gives documents: which there are, and how files of them are named."""

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
"""How the names of such files end. brat, which is not here, makes two files of a document."""

MANY_IN_ONE = frozenset({OutputFormat.JSONL, OutputFormat.CONLL, OutputFormat.CONLLU, OutputFormat.CONLLUA})
"""Formats in which one file has room for several documents."""


def format_of(name: str) -> OutputFormat | None:
    """The format that a file's name promises."""
    return next((format for format, suffix in SUFFIXES.items() if name.lower().endswith(suffix)), None)
