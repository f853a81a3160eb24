"""The registry of formats, and format detection."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from incoref.corpora import (
    ass,
    brat,
    conll2012,
    conllu,
    conllua,
    discord,
    gap,
    jsonlines,
    litbank,
    mail,
    messages,
    native,
    plain,
    slack,
    subtitles,
    transcripts,
    whatsapp,
    whisper,
)
from incoref.corpora._conll_columns import looks_like_table
from incoref.corpora._json import described, first_value, looks_like_json
from incoref.corpora.losses import Losses
from incoref.corpora.turns import Conversation, documents
from incoref.errors import FormatError, IncorefError
from incoref.types import Document

Reader = Callable[[str, Path | str], Iterator[Document]]
"""Takes a file's text, and its path for error messages; yields documents."""

Writer = Callable[[Iterable[Document], Losses], Iterator[str]]
"""Takes documents; yields pieces of text."""

Listener = Callable[[str, Path | str], Iterator[Conversation]]
"""Takes a file's text, and its path for error messages; yields conversations."""

FilesWriter = Callable[[Iterable[tuple[str, Document]], Losses], Iterator[tuple[str, str]]]
"""Takes named documents; yields file names and contents."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format, and how to read and write it."""

    name: str
    about: str
    suffixes: tuple[str, ...]
    """File name suffixes; new files get the first one."""
    read: Reader | None = None
    write: Writer | None = None
    write_files: FilesWriter | None = None
    """Writer of a format with several files per document."""
    one_a_file: bool = False
    """Whether a file holds exactly one document."""
    annotated: bool = True
    """Whether the format annotates mentions."""
    listen: Listener | None = None
    """For a conversation format: yields turns, with the same content as ``read``."""


def _spoken(
    name: str, about: str, suffixes: tuple[str, ...], listen: Listener, write: Writer | None = None
) -> Format:
    """A conversation format."""

    def read(text: str, path: Path | str) -> Iterator[Document]:
        return documents(listen(text, path))

    return Format(name, about, suffixes, read, write, annotated=False, listen=listen)


FORMATS: dict[str, Format] = {
    format.name: format
    for format in (
        Format(
            "conll-2012",
            "CoNLL-2012: OntoNotes, CRAFT, WinoBias; any number of columns",
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
        Format("incoref", "incoref's own JSON lines, lossless", (".jsonl",), native.read, native.write),
        Format("gap", "GAP's TSV: one pronoun and two names in each text (reading)", (".tsv",), gap.read),
        Format(
            "brat", "brat stand-off: a directory of .txt and .ann files (writing)", (".ann",), write_files=brat.files
        ),
        Format("text", "plain text", (".txt",), plain.read, plain.write, one_a_file=True, annotated=False),
        _spoken(
            "text-jsonlines",
            "text in JSON lines or a JSON list: text, optionally speaker, document, id",
            (".jsonl", ".jsonlines", ".json"),
            plain.conversations,
            plain.write_lines,
        ),
        _spoken("transcript", "'Name: text' lines (reading)", (".txt",), transcripts.conversations),
        _spoken("whatsapp", "chats exported from WhatsApp (reading)", (".txt",), whatsapp.conversations),
        _spoken("slack", "messages exported from Slack (reading)", (".json",), slack.conversations),
        _spoken(
            "discord",
            "messages exported from Discord by DiscordChatExporter (reading)",
            (".json",),
            discord.conversations,
        ),
        _spoken(
            "messages",
            "chat-model messages: role and content (reading)",
            (".json", ".jsonl"),
            messages.conversations,
        ),
        _spoken(
            "whisper",
            "transcriptions from Whisper, WhisperX, faster-whisper (reading)",
            (".json",),
            whisper.conversations,
        ),
        _spoken("srt", "SRT subtitles (reading)", (".srt",), subtitles.conversations),
        _spoken(
            "webvtt",
            "WebVTT subtitles, Teams and Zoom transcripts (reading)",
            (".vtt",),
            subtitles.conversations,
        ),
        _spoken("ass", "SubStation Alpha subtitles (reading)", (".ass", ".ssa"), ass.conversations),
        _spoken("mail", "e-mail: a message or a mailbox (reading)", (".eml", ".mbox"), mail.conversations),
    )
}

_HEAD = 1 << 14
"""Number of characters examined to detect a file's format."""
_MARKED_UP = re.compile(r"<(?:!doctype\s|html\b|\?xml\s)", re.IGNORECASE)
_SCRIPT = re.compile(r"(?:;.*\n)*\[(?:Script Info|V4\+? Styles|Events)\]", re.IGNORECASE)
_SUBTITLE = re.compile(r"(?:\d+\s*\n\s*)?\d{1,3}:\d{2}:\d{2}[.,]\d+\s*-->")
_UD_ROW = re.compile(r"\d+(?:[-.]\d+)?\t[^\t\n]*\t")
_UA_COLUMNS = re.compile(r"^# global\.columns\s*=.*\bIDENTITY\b", re.MULTILINE)
_JSON_OF_SPEECH: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("slack", slack.fits),
    ("discord", discord.fits),
    ("messages", messages.fits),
    ("whisper", whisper.fits),
    ("text-jsonlines", plain.fits),
)
"""JSON conversation formats with their detectors, in order: Slack's and Whisper's JSON also has a ``text``."""


def format_named(name: str) -> Format:
    try:
        return FORMATS[name]
    except KeyError:
        raise IncorefError(f"unknown format {name!r}; known formats: {', '.join(FORMATS)}") from None


def format_of_suffix(path: Path) -> Format | None:
    """The writable format implied by a file's suffix, if any."""
    name = path.name.lower()
    fitting = (format for format in FORMATS.values() if format.write is not None and name.endswith(format.suffixes))
    return next(fitting, None)


def guess(text: str, path: Path | str) -> Format:
    """Detect the format of a file from the beginning of its text; ``path`` is used in error messages."""
    head = text[:_HEAD].lstrip("\ufeff \t\n")
    if head.startswith("#begin document"):
        rows = (row.split("\t") for row in head.split("\n")[1:] if row.strip())
        first = next(rows, [])
        return FORMATS["litbank" if len(first) in (12, 13) and first[4:12] == ["_"] * 8 else "conll-2012"]
    if looks_like_json(text):
        return _guess_json(text, path)
    if _MARKED_UP.match(head):
        raise FormatError("this is HTML or XML, not text: save it as text first", path=path, line=1)
    if _SCRIPT.match(head):
        return FORMATS["ass"]
    if mail.fits(head):
        return FORMATS["mail"]
    if whatsapp.fits(head):
        return FORMATS["whatsapp"]
    if head.startswith("ID\tText\tPronoun\t"):
        return FORMATS["gap"]
    if head.startswith("WEBVTT"):
        return FORMATS["webvtt"]
    if _SUBTITLE.match(head):
        return FORMATS["srt"]
    lines = [line for line in head.split("\n") if line.strip()]
    row = next((line for line in lines if not line.startswith("#")), "")
    if _UA_COLUMNS.search(head) or (_UD_ROW.match(row) and row.rstrip().count("\t") >= 10) or _is_aligned_ua(row):
        return FORMATS["conllua"]
    table = [conll2012.columns_of(line) for line in lines[: -1 if len(text) > _HEAD else None] if line[:2] != "# "]
    if looks_like_table(table):
        return FORMATS["conll-2012"]
    if _UD_ROW.match(row) or (not row and head.startswith(("# newdoc id = ", "# global."))):
        return FORMATS["conllu"]
    whole_lines = head.split("\n")[: -1 if len(text) > _HEAD else None]
    if transcripts.fits(whole_lines):
        return FORMATS["transcript"]
    return FORMATS["text"]


def _is_aligned_ua(row: str) -> bool:
    """Whether a row is a numbered word followed by space-aligned, mostly empty columns."""
    columns = row.split()
    return len(columns) > 10 and columns[0].isdecimal() and columns[2:10].count("_") >= 4


def _guess_json(text: str, path: Path | str) -> Format:
    value = first_value(text, path)
    if isinstance(value, dict):
        if "doc_key" in value or ("sentences" in value and "text" not in value):
            return FORMATS["jsonlines"]
        if "sentences" in value and "segments" not in value:
            return FORMATS["incoref"]
    # A list may hold messages or conversations.
    kinds = [value, *(value[:1] if isinstance(value, list) else ())]
    name = next((name for name, fits in _JSON_OF_SPEECH if any(map(fits, kinds))), None)
    if name is None:
        raise FormatError(
            f"unknown kind of JSON: {described(value)}. Supported are messages from Slack, Discord and chat models "
            "(role, content), transcriptions (segments), objects with 'text', and corpora ('doc_key', 'sentences')",
            path=path,
            line=1,
        )
    return FORMATS[name]
