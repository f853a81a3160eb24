"""Subtitles: SRT and WebVTT. Reading only.

Consecutive subtitles of one speaker are one turn, so that a sentence may run through several of them. A sentence
keeps the time at which its first subtitle appears and its last disappears (attributes ``from`` and ``to``). Mark-up,
sounds (``[door slams]``, ``(sighs)``) and songs (``♪ … ♪``) are left out, and so is what captions that scroll repeat.
Before a colon stands a speaker where most subtitles begin so; else what is in capitals or comes more than once.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from incoref.corpora._json import spoken
from incoref.corpora.transcripts import FORM, label_of
from incoref.corpora.turns import Conversation, Spoken, joined, stem
from incoref.errors import FormatError

_TIME = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMING = re.compile(rf"\s*({_TIME})\s*-->\s*({_TIME})(?:\s.*)?")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_MARKUP = re.compile(r"<[^<>]*>|\{\\[^{}]*\}|\{[a-zA-Z]:[^{}]*\}")
_DASH = re.compile(r"\s*(?:-|–|—|>>+)\s*(?=\S)")
_SHARE = 0.8
"""This share of the subtitles begins with names where each says who speaks."""
_NOT_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION", "X-TIMESTAMP-MAP")
_SCROLLS = re.compile(r"<(?:\d{1,3}:)?\d{2}:\d{2}\.\d{3}><c")

_SOUND = re.compile(r"\[[^\[\]]*\](?!\s*:)")
_SOUND_IN_ROUND_BRACKETS = re.compile(
    r"^([^\S\n]*(?:(?:-|–|—|>>+)[^\S\n]*)?)(?:\([^()]*\)[^\S\n]*$|\((?:[a-z][^()]*|[^()a-z]*)\)(?!\s*:))"
    r"|(?<=[.!?…])\s+\((?:[a-z][^()]*|[^()a-z]*[A-Z]{2}[^()a-z]*)\)",
    re.MULTILINE,
)
_SOUND_IN_A_SENTENCE = re.compile(
    r"\s*\((?:[a-z]+ ){0,2}[a-z]{2,}(?:[^s\W]s|ing)(?: [a-z]+ly)?\)"
    r"|\s*\((?:[A-Z']+ )*[A-Z']{2,}(?:S|ING)(?: [A-Z]+LY)?\)"
)
"""What somebody does, ``(laughs softly)``; other words in brackets may be said."""
_IN_BRACKETS = re.compile(r"(\s*(?:(?:-|–|—|>>+)\s*)?)(?:\[([^\[\]]+)\]|\(([^()]+)\))\s+(?=\S)")
_SONG = re.compile(r"[♪♫♬♩][^♪♫♬♩]*(?:[♪♫♬♩]+|\Z)|^[^\S\n]*#\s[^#]*#[^\S\n]*$", re.MULTILINE)


class _Cue(NamedTuple):
    appears: str
    disappears: str
    lines: list[str]


def speech_in(text: str) -> str:
    """A subtitle without what is heard but not said: sounds in brackets, songs between notes."""
    text = _SOUND.sub(" ", _SONG.sub(" ", text))
    text = _SOUND_IN_ROUND_BRACKETS.sub(lambda match: match[1] or "", text)
    return _SOUND_IN_A_SENTENCE.sub("", text)


def conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    """The one conversation of an SRT or WebVTT file, named after the file."""
    cues = list(_cues(text, path))
    if _SCROLLS.search(text):
        cues = list(_shown_once(cues))
    names = _names([lines for lines in map(_lines, cues) if lines])
    yield from spoken([(stem(path), joined(_pieces(cues, names)))], path)


def _pieces(cues: Iterable[_Cue], names: set[str]) -> Iterator[Spoken]:
    for cue in cues:
        for speaker, said, starts_turn in _spoken(_lines(_with_colons(cue, names)), names):
            yield Spoken(said, speaker, cue.appears, cue.disappears, starts_turn)


def _lines(cue: _Cue) -> list[str]:
    """The lines of a subtitle that say something; a sound may go over two of them."""
    return [line for line in speech_in("\n".join(cue.lines)).split("\n") if line.strip()]


def _with_colons(cue: _Cue, names: set[str]) -> _Cue:
    """The subtitle with ``Ann:`` for ``[ANN]``, which is no sound where Ann is known to speak."""
    known = {name.lower(): name for name in names}

    def named(line: str) -> str:
        match = _IN_BRACKETS.match(line)
        name = known.get((match[2] or match[3]).strip().lower()) if match else None
        return f"{match[1]}{name}: {line[match.end() :]}" if match and name else line

    return cue._replace(lines=[named(line) for line in cue.lines])


def _shown_once(cues: Iterable[_Cue]) -> Iterator[_Cue]:
    """Captions that scroll show each line several times: only the first counts."""
    before: list[str] = []
    for cue in cues:
        shown = [" ".join(_MARKUP.sub("", line).split()) for line in cue.lines]
        fresh = [line for line, plain in zip(cue.lines, shown, strict=True) if plain and plain not in before]
        before = shown
        yield cue._replace(lines=fresh)


def _cues(text: str, path: Path | str) -> Iterator[_Cue]:
    """The subtitles: when they appear and disappear, and their lines."""
    cue: _Cue | None = None
    for line, block in _blocks(text):
        timing = next((at for at, row in enumerate(block[:2]) if "-->" in row), None)
        if timing is None:
            if block[0].strip().isdecimal() and len(block) > 1:
                raise FormatError(
                    "a subtitle without a time such as '00:00:01,000 --> 00:00:04,000'", path=path, line=line
                )
            if not block[0].lstrip("\ufeff").startswith(_NOT_CUES) and cue is not None:
                cue.lines.extend(block)
            continue
        match = _TIMING.fullmatch(block[timing])
        if match is None:
            raise FormatError(
                f"expected a time such as '00:00:01,000 --> 00:00:04,000', not {block[timing]!r}",
                path=path,
                line=line + timing,
            )
        if cue is not None:
            yield cue
        cue = _Cue(match[1], match[2], block[timing + 1 :])
    if cue is None:
        raise FormatError("no subtitle in the file", path=path)
    yield cue


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Lines between blank ones, with the number of the first."""
    block: list[str] = []
    lines = text.split("\n")
    lines.append("")
    for number, line in enumerate(lines, 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _names(cues: Sequence[list[str]]) -> set[str]:
    """Which words before a colon are names, from the lines of subtitles."""
    beginnings = Counter(
        label[0] for label in (_labelled(lines[0]) for lines in cues) if label is not None and label[1]
    )
    often = 1 < beginnings.total() >= _SHARE * len(cues)
    if often and (beginnings.total() <= FORM or max(beginnings.values()) > 1):
        return set(beginnings)
    labels = Counter(label[0] for lines in cues for label in map(_labelled, lines) if label is not None and label[1])
    return {name for name, count in labels.items() if name.isupper() or (count > 1 and name[0].isupper())}


def _labelled(line: str) -> tuple[str, str] | None:
    clean = _MARKUP.sub("", line)
    dash = _DASH.match(clean)
    return label_of(clean[dash.end() :] if dash else clean)


def _spoken(lines: Iterable[str], names: set[str]) -> Iterator[tuple[str | None, str, bool]]:
    """Who says what in a subtitle (None: whoever spoke before), and whether someone new begins."""
    for line in lines:
        before, *voices = _VOICE.split(line)
        label = None if voices else _labelled(line)
        said: list[tuple[str | None, str]] = [label] if label is not None and label[0] in names else [(None, before)]
        for speaker, words in (*said, *zip(voices[::2], voices[1::2], strict=True)):
            clean = " ".join(html.unescape(_MARKUP.sub("", words)).split())
            dash = _DASH.match(clean) if speaker is None else None
            clean = clean[dash.end() :] if dash else clean
            if clean:
                yield html.unescape(speaker.strip()) if speaker else None, clean, dash is not None
