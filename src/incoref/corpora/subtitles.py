"""Subtitles: SRT and WebVTT. Reading only.

Consecutive subtitles of one speaker form one turn, so a sentence may span several of them. A sentence keeps the time
at which its first subtitle appears and its last disappears (attributes ``from`` and ``to``). Mark-up, sounds
(``[door slams]``, ``(sighs)``), songs (``♪ … ♪``) and lines repeated by scrolling captions are dropped. A label
before a colon is a speaker if most subtitles begin with one; otherwise only if it is in capitals or repeats.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
"""Minimum share of subtitles that begin with a label for all labels to count as speakers."""
_SOMEBODY_ELSE = re.compile(r"(?<=\S)[^\S\n]+>>+\s*(?=\S)")
_NOT_CUES = ("WEBVTT", "NOTE", "STYLE", "REGION", "X-TIMESTAMP-MAP")
_SCROLLS = re.compile(r"<(?:\d{1,3}:)?\d{2}:\d{2}\.\d{3}><c")

_SOUND = re.compile(r"\[[^\[\]]*\](?!\s*:)")
_SOUND_IN_ROUND_BRACKETS = re.compile(
    r"^([^\S\n]*(?:(?:-|–|—|>>+)[^\S\n]*)?)(?:\([^()]*\)[^\S\n]*$|\((?:[a-z][^()]*|[^()a-z]*)\)(?!\s*:))"
    r"|(?<=[.!?…])\s+\((?:[a-z][^()]*|[^()a-z]*[A-Z]{2}[^()a-z]*)\)",
    re.MULTILINE,
)
_SOUND_IN_A_SENTENCE = re.compile(
    r"(?:(?<!\s)\s+)?\((?:(?:[a-z]+ ){0,2}[a-z]{2,}(?:[^s\W]s|ing)(?: [a-z]+ly)?"
    r"|(?:[A-Z']+ )*[A-Z']{2,}(?:S|ING)(?: [A-Z]+LY)?)\)"
)
"""Actions such as ``(laughs softly)``; other bracketed words within a sentence may be spoken."""
_IN_BRACKETS = re.compile(r"(\s*(?:(?:-|–|—|>>+)\s*)?)(?:\[([^\[\]]+)\]|\(([^()]+)\))\s+(?=\S)")
_BEGINNING_OF_SONG = re.compile(r"[^♪♫♬♩]*[♪♫♬♩]+[^♪♫♬♩]*\w[^♪♫♬♩]*")
_END_OF_SONG = re.compile(r"[^♪♫♬♩]+[♪♫♬♩]+\s*")
_SONG = re.compile(r"[♪♫♬♩][^♪♫♬♩]*(?:[♪♫♬♩]+|\Z)|^[^\S\n]*#\s[^#]*#[^\S\n]*$", re.MULTILINE)


class _Cue(NamedTuple):
    appears: str
    disappears: str
    lines: list[str]


def speech_in(text: str) -> str:
    """Remove from a subtitle what isn't speech: bracketed sounds, and songs between notes."""
    text = _SOUND.sub(" ", _SONG.sub(" ", text))
    text = _SOUND_IN_ROUND_BRACKETS.sub(lambda match: match[1] or "", text)
    return _SOUND_IN_A_SENTENCE.sub("", text)


def conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    """Yield the single conversation of an SRT or WebVTT file, named after the file."""
    cues = list(_without_songs(_cues(text, path)))
    if _SCROLLS.search(text):
        cues = list(_shown_once(cues))
    names = _names([lines for lines in map(_lines, cues) if lines])
    yield from spoken([(stem(path), joined(_pieces(cues, names)))], path)


def _pieces(cues: Iterable[_Cue], names: Mapping[str, str]) -> Iterator[Spoken]:
    for cue in cues:
        for speaker, said, starts_turn in _spoken(_lines(_with_colons(cue, names)), names):
            yield Spoken(said, speaker, cue.appears, cue.disappears, starts_turn)


def _lines(cue: _Cue) -> list[str]:
    """The lines of a subtitle that contain speech; sounds are removed first, as one may span two lines."""
    said = _SOMEBODY_ELSE.sub("\n>> ", speech_in("\n".join(cue.lines)))
    return [line for line in said.split("\n") if line.strip()]


def _with_colons(cue: _Cue, names: Mapping[str, str]) -> _Cue:
    """Replace ``[ANN]`` by ``Ann:`` if Ann is a known speaker: then it isn't a sound."""

    def named(line: str) -> str:
        match = _IN_BRACKETS.match(line)
        name = names.get((match[2] or match[3]).strip().lower()) if match else None
        return f"{match[1]}{name}: {line[match.end() :]}" if match and name else line

    return cue._replace(lines=[named(line) for line in cue.lines])


def _shown_once(cues: Iterable[_Cue]) -> Iterator[_Cue]:
    """Drop the repeated lines of scrolling captions, which show each line several times."""
    before: list[str] = []
    for cue in cues:
        shown = [" ".join(_MARKUP.sub("", line).split()) for line in cue.lines]
        fresh = [line for line, plain in zip(cue.lines, shown, strict=True) if plain and plain not in before]
        before = shown
        yield cue._replace(lines=fresh)


def _cues(text: str, path: Path | str) -> Iterator[_Cue]:
    """Yield the subtitles with their times and lines. Blank lines between subtitles may be missing."""
    cue: _Cue | None = None
    for line, block in _blocks(text):
        starts = [at for at, row in enumerate(block) if _TIMING.fullmatch(row) or (at < 2 and "-->" in row)]
        if not starts:
            if block[0].strip().isdecimal() and len(block) > 1:
                raise FormatError(
                    "a subtitle without a time such as '00:00:01,000 --> 00:00:04,000'", path=path, line=line
                )
            if not block[0].lstrip("\ufeff").startswith(_NOT_CUES) and cue is not None:
                cue.lines.extend(block)
            continue
        for start, following in zip(starts, [*starts[1:], None], strict=True):
            match = _TIMING.fullmatch(block[start])
            if match is None:
                raise FormatError(
                    f"expected a time such as '00:00:01,000 --> 00:00:04,000', not {block[start]!r}",
                    path=path,
                    line=line + start,
                )
            if cue is not None:
                yield cue
            # The number of the next subtitle isn't part of this one.
            end = following
            if starts[0] > 0 and following is not None and block[following - 1].strip().isdecimal():
                end = following - 1
            cue = _Cue(match[1], match[2], block[start + 1 : end])
    if cue is None:
        raise FormatError("no subtitle in the file", path=path)
    yield cue


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield blocks of non-blank lines, each with the line number of its first line."""
    block: list[str] = []
    lines = text.split("\n")
    lines.append("")
    for number, line in enumerate(lines, 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _without_songs(cues: Iterable[_Cue]) -> Iterator[_Cue]:
    """Drop the end of a song that began in the previous subtitle: ``♪ one, two``, then ``three, four ♪``."""
    goes_on = False
    for cue in cues:
        text = "\n".join(cue.lines)
        yield cue._replace(lines=[]) if goes_on and _END_OF_SONG.fullmatch(text) else cue
        goes_on = _BEGINNING_OF_SONG.fullmatch(text) is not None


def _names(cues: Sequence[list[str]]) -> dict[str, str]:
    """The labels that are speakers, keyed by their lower-case form."""
    beginnings = Counter(
        label[0] for label in (_labelled(lines[0]) for lines in cues) if label is not None and label[1]
    )
    often = 1 < beginnings.total() >= _SHARE * len(cues)
    if often and (beginnings.total() <= FORM or max(beginnings.values()) > 1):
        return {name.lower(): name for name in reversed(beginnings)}
    labels = Counter(label[0] for lines in cues for label in map(_labelled, lines) if label is not None and label[1])
    names = [name for name, count in labels.items() if name.isupper() or (count > 1 and name[0].isupper())]
    return {name.lower(): name for name in reversed(names)}


def _labelled(line: str) -> tuple[str, str] | None:
    clean = _MARKUP.sub("", line)
    dash = _DASH.match(clean)
    return label_of(clean[dash.end() :] if dash else clean)


def _spoken(lines: Iterable[str], names: Mapping[str, str]) -> Iterator[tuple[str | None, str, bool]]:
    """Yield speaker (None for the previous one), text, and whether a dash marks a new turn."""
    for line in lines:
        before, *voices = _VOICE.split(line)
        label = None if voices else _labelled(line)
        name = names.get(label[0].lower()) if label is not None else None
        said: list[tuple[str | None, str]] = [(name, label[1])] if label is not None and name else [(None, before)]
        for speaker, words in (*said, *zip(voices[::2], voices[1::2], strict=True)):
            clean = " ".join(html.unescape(_MARKUP.sub("", words)).split())
            dash = _DASH.match(clean) if speaker is None else None
            clean = clean[dash.end() :] if dash else clean
            if clean:
                yield html.unescape(speaker.strip()) if speaker else None, clean, dash is not None
