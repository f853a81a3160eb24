"""Transcripts in ``Name: text`` lines. Reading only.

A name may be preceded by a bullet, a number or a time, followed by a time or a bracketed remark, and surrounded by
asterisks. A line without a name continues the previous turn; lines before the first name, such as a heading, have no
speaker.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from incoref.corpora.turns import Conversation, Turn, stem
from incoref.errors import FormatError

_MOST_WORDS_IN_A_NAME = 5
_CLOCK = r"\d{1,3}(?::\d{2}){1,2}(?:[.,]\d+)?(?:\s?[AaPp]\.?[Mm]\b\.?)?"
_DATE = r"(?:\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})"
_TIME = rf"(?:{_DATE}[T,]?\s*)?{_CLOCK}"
_BULLET = re.compile(r"\s*(?:[-*•–—+]|\d{1,4}[.)])\s+(?=\S)")
_STAMP = re.compile(rf"\s*[*_]*[\[(]?{_TIME}(?:\s*(?:-->|-|–)\s*{_TIME})?[\])]?[*_]*(?:\s*[-–—|]\s+|\s+)(?=\S)")
_LABEL = re.compile(r"\s*([^:\n]{1,60}?)\s*:[*_]*(?:\s+(.*))?")
_TIMED = re.compile(rf"\s*([^:\n\[(]{{1,60}}?)[*_]*[\s,]+(?:[\[(]{_TIME}[\])]|{_TIME})[*_]*:[*_]*(?:\s+(.*))?")
_NAME_AND_TIME = re.compile(rf"\s*([^:\n]{{1,60}}?)[*_]*[\s,]+[\[(]?{_TIME}[\])]?\s*")
_ZOOM = re.compile(r"From\s+([^:\n]{1,60}?)(?:\s+to\s+[^:\n]{1,60}?)?\s*:(?:\s+(.*))?")
_IN_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_NOT_SAID = re.compile(rf"\s*(?:Transcribed by https?://\S+|[\[(]?{_TIME}[\])]?)\s*")
_REMARK = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\])$")
_CHAT = re.compile(r"\s*<[@+%~&]?([^<>:\s]{1,40})>\s+(.*)")

_SHARE = 0.6
"""Minimum share of a transcript's lines, or paragraphs, that begin with a name; the others continue a turn."""
FORM = 3
"""If no name repeats, more labelled lines than this are taken for a form or a list."""
_NUMBERED = re.compile(r"(?:act|chapter|day|lesson|part|scene|section|step|week)\s+(?:\d+|[ivx]+)", re.IGNORECASE)
_ENOUGH = 20
"""Number of streamed lines examined to decide whether lines are turns."""
_NOT_NAMES = frozenset(
    "agenda attendees attending bcc cc date duration edit example fixme from hint host http https important location "
    "meeting nb note notes participants place present ps recorded recording re status subject summary time tip title "
    "to todo topic update url venue warning when where".split()
)
"""Labels before a colon in other texts and in transcript headers, which aren't speakers."""


def label_of(line: str) -> tuple[str, str] | None:
    """Return speaker and text of a line that starts with a speaker label, or None."""
    start = len(line) - len(line.lstrip())
    for before in (_BULLET, _STAMP, _BULLET):
        match = before.match(line, start)
        start = match.end() if match else start
        zoom = _ZOOM.fullmatch(line, start) if match and before is _STAMP else None
        if zoom is not None:
            return _name(zoom[1]), zoom[2] or ""
    chat = _CHAT.fullmatch(line, start)
    if chat is not None:
        return chat[1], chat[2]
    alone = _NAME_AND_TIME.fullmatch(line, start)
    if alone is not None and _is_name(alone[1]) and _name(alone[1])[:1].isupper():
        return _name(alone[1]), ""
    match = _TIMED.fullmatch(line, start) or _LABEL.fullmatch(line, start)
    if match is None or not _is_name(match[1]):
        return None
    return _name(match[1]), match[2] or ""


def _name(words: str) -> str:
    name = words.strip(" *_#\t")
    in_brackets = _IN_BRACKETS.fullmatch(name)
    if in_brackets is not None:
        return in_brackets[1].strip()
    return _REMARK.sub("", name).strip(" *_") or name


def _is_name(words: str) -> bool:
    name = _name(words)
    return len(name.split()) <= _MOST_WORDS_IN_A_NAME and any(character.isalpha() for character in name)


def fits(lines: list[str]) -> bool:
    """Whether lines (blank ones included) are a transcript: most of them, or most paragraphs, start a turn."""
    full = [line for line in lines if line.strip() and not _NOT_SAID.fullmatch(line)]
    labels = [label_of(line) for line in full]
    names = Counter(label[0] for label in labels if label is not None and not _is_heading(label[0]))
    labelled = names.total()
    if labelled == 0 or (labelled > FORM and max(names.values()) == 1):
        return False
    if len(full) == 1:
        return all(word[0].isupper() for word in next(iter(names)).split())
    heads = sum(label is not None and _is_heading(label[0]) for label in labels)
    # A line with only a name is followed by a line of speech, which has no label.
    alone = sum(label is not None and not label[1] for label in labels)
    if labelled > 1 and labelled + alone + heads >= _SHARE * len(full):
        return True
    firsts = [line for before, line in zip(["", *lines], lines, strict=False) if line.strip() and not before.strip()]
    begun = sum(label is not None for label in map(label_of, firsts))
    return len(firsts) > 2 and labelled > 1 and begun >= _SHARE * len(firsts)


def _is_heading(name: str) -> bool:
    return name.lower() in _NOT_NAMES or _NUMBERED.fullmatch(name) is not None


def conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    """Yield the single conversation of a file of ``Name: text`` lines, named after the file."""
    lines = [line for line in text.split("\n") if line.strip() and not _NOT_SAID.fullmatch(line)]
    labels = [label_of(line) for line in lines]
    often = Counter(label[0] for label in labels if label is not None)
    turns: list[tuple[str | None, list[str]]] = []
    for line, label in zip(lines, labels, strict=True):
        if label is not None and not _speaks(label[0], often, begun=bool(turns) and turns[-1][0] is not None):
            label = None
        speaker, said = label or (turns[-1][0] if turns else None, line)
        if not turns or speaker != turns[-1][0]:
            turns.append((speaker, []))
        if said.strip():
            turns[-1][1].append(said.strip() if turns[-1][0] is not None else said.strip().lstrip("# "))
    if all(speaker is None for speaker, _ in turns):
        raise FormatError("no line of the form 'Name: text'", path=path)
    yield Conversation(
        stem(path),
        # Lines above the first name aren't running text, so they aren't joined.
        [Turn((" " if speaker is not None else "\n\n").join(said), speaker) for speaker, said in turns if said],
    )


def as_they_come(lines: Iterable[str]) -> Iterator[Turn]:
    """Yield a turn for each line of text as it arrives; only the lines so far decide whether a label is a speaker."""
    seen: list[str] = []
    names: set[str] = set()
    first = 0
    speaker: str | None = None
    are_turns = goes_on = False
    for line in (line for line in lines if not _NOT_SAID.fullmatch(line)):
        if len(seen) < _ENOUGH:
            seen.append(line)
            are_turns = fits(seen[first:])
            opens = not any(before.rstrip().endswith((".", "!", "?")) for before in seen[:-1])
        else:
            opens = False
        label = label_of(line)
        said = line
        if label is not None and (label[0] in names or _names_speaker(label[0], are_turns=are_turns, opens=opens)):
            first = first if names else len(seen) - 1
            names.add(label[0])
            speaker, said = label
            goes_on = not said.strip()
        elif line.strip():
            speaker = speaker if are_turns or goes_on else None
            goes_on = False
        if said.strip():
            yield Turn(said, speaker)


def _names_speaker(name: str, *, are_turns: bool, opens: bool) -> bool:
    """Whether a label not seen before is a speaker, given whether lines are turns or this may be the first turn."""
    words = name.split()
    is_capitalised = all(word[0].isupper() or word.isdecimal() for word in words)
    return not _is_heading(name) and ((are_turns and len(words) == 1) or ((are_turns or opens) and is_capitalised))


def _speaks(name: str, often: Counter[str], *, begun: bool) -> bool:
    """Whether a label is a speaker, unlike ``Date`` in a header or ``One more thing`` within a turn."""
    if _is_heading(name) and often[name] == 1:
        return False
    words = name.split()
    is_phrase = len(words) > 1 and words[-1][0].islower() and max(often.values()) > 1
    return not (begun and is_phrase and often[name] == 1)
