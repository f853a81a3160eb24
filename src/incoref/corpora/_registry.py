"""Which formats there are, and which one a text is in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from incoref.corpora import brat, conll2012, conllu, conllua, jsonlines, litbank, native, plain, transcripts
from incoref.corpora.losses import Losses
from incoref.errors import FormatError, IncorefError
from incoref.types import Document

Reader = Callable[[str, Path | str], Iterator[Document]]
"""From a file's text, and its path for messages, to documents."""

Writer = Callable[[Iterable[Document], Losses], Iterator[str]]
"""From documents to pieces of text."""

FilesWriter = Callable[[Iterable[tuple[str, Document]], Losses], Iterator[tuple[str, str]]]
"""From named documents to the names and contents of several files."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format's name and what can be done with it."""

    name: str
    about: str
    suffixes: tuple[str, ...]
    """How names of such files end; the first is given to files that are made."""
    read: Reader | None = None
    write: Writer | None = None
    write_files: FilesWriter | None = None
    """For a format that needs several files a document."""
    one_a_file: bool = False
    """Whether a file has room for one document only."""
    annotated: bool = True
    """Whether it says which mentions there are."""


FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format(
            "conll-2012",
            "CoNLL-2012: OntoNotes, CRAFT, WinoBias; five columns or more",
            (".conll", "_conll", ".key", ".response"),
            conll2012.read,
            conll2012.write,
        ),
        Format(
            "conllu",
            "CoNLL-U with Entity in MISC: CorefUD, GUM, OntoGUM",
            (".conllu",),
            conllu.read,
            conllu.write,
        ),
        Format("conllua", "CONLL-UA: CODI-CRAC", (".conllua",), conllua.read, conllua.write),
        Format("litbank", "LitBank's CoNLL", (".conll",), litbank.read, litbank.write),
        Format(
            "jsonlines",
            "JSON lines of span-ranking systems and MuDoCo: doc_key, sentences, speakers, clusters",
            (".jsonlines", ".jsonl"),
            jsonlines.read,
            jsonlines.write,
        ),
        Format("incoref", "JSON lines of incoref's own values: nothing lost", (".jsonl",), native.read, native.write),
        Format("brat", "brat stand-off, a directory of .txt and .ann (writing)", (".ann",), write_files=brat.files),
        Format("text", "plain text", (".txt",), plain.read, plain.write, one_a_file=True, annotated=False),
        Format(
            "text-jsonlines",
            "plain text in JSON lines: text, perhaps speaker and id",
            (".jsonl", ".jsonlines"),
            plain.read_lines,
            plain.write_lines,
            annotated=False,
        ),
        Format("transcript", "'Name: text' lines (reading)", (".txt",), transcripts.read, annotated=False),
        Format("srt", "SRT subtitles (reading)", (".srt",), transcripts.read_subtitles, annotated=False),
        Format("webvtt", "WebVTT subtitles (reading)", (".vtt",), transcripts.read_subtitles, annotated=False),
    )
}

_HEAD = 1 << 14
"""How many characters of a file tell its format."""
_SUBTITLE = re.compile(r"\d+\s*\n\s*\d{1,3}:\d{2}:\d{2}[.,]\d+\s*-->")
_UD_ROW = re.compile(r"\d+(?:[-.]\d+)?\t[^\t\n]*\t")
_LABELLED_SHARE = 0.6
"""A transcript's lines begin with names, but for some that run on."""


def format_named(name: str) -> Format:
    try:
        return FORMATS[name]
    except KeyError:
        raise IncorefError(f"unknown format {name!r}; there are: {', '.join(FORMATS)}") from None


def format_of_suffix(path: Path) -> Format | None:
    """The format that a file's name promises."""
    name = path.name.lower()
    fitting = (format for format in FORMATS.values() if format.write is not None and name.endswith(format.suffixes))
    return next(fitting, None)


def guess(text: str, path: Path | str) -> Format:
    """The format of a file, from the beginning of its text; ``path`` is for error messages."""
    head = text[:_HEAD].lstrip()
    if head.startswith("#begin document"):
        rows = (row.split("\t") for row in head.split("\n")[1:] if row.strip())
        first = next(rows, [])
        return FORMATS["litbank" if len(first) in (12, 13) and first[4:12] == ["_"] * 8 else "conll-2012"]
    if head.startswith("{"):
        return _guess_json(text, path)
    if head.startswith("WEBVTT"):
        return FORMATS["webvtt"]
    if _SUBTITLE.match(head):
        return FORMATS["srt"]
    lines = [line for line in head.split("\n") if line.strip()]
    row = next((line for line in lines if not line.startswith("#")), "")
    if _UD_ROW.match(row):
        columns = row.rstrip().count("\t") + 1
        is_plus = "# global.columns" in head and "IDENTITY" in head
        return FORMATS["conllua" if is_plus or columns > 10 else "conllu"]
    labels = [label for label in map(transcripts.label_of, lines) if label is not None]
    if len(labels) > 1 and len(labels) >= _LABELLED_SHARE * len(lines):
        return FORMATS["transcript"]
    return FORMATS["text"]


def _guess_json(text: str, path: Path | str) -> Format:
    try:
        data = json.loads(text.lstrip().split("\n", 1)[0])
    except (ValueError, RecursionError) as error:
        raise FormatError(f"starts like JSON lines but is not: {error}", path=path, line=1) from error
    if "doc_key" in data or ("sentences" in data and "text" not in data):
        return FORMATS["jsonlines"]
    if "sentences" in data:
        return FORMATS["incoref"]
    if "text" in data:
        return FORMATS["text-jsonlines"]
    raise FormatError(
        "JSON lines of no known kind: neither 'doc_key', 'sentences' nor 'text' in the first", path=path, line=1
    )
