"""JSON transcriptions from Whisper, WhisperX, faster-whisper, whisper.cpp and similar tools. Reading only.

Text comes from the segments; the full text and the word lists in such files only repeat it. If words have their own
speakers, a segment is split where the speaker changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from incoref.corpora._json import Object, groups, items, spoken, string
from incoref.corpora.subtitles import speech_in
from incoref.corpora.turns import Conversation, Spoken, clock, joined

_KEYS = ("segments", "chunks", "transcription")


def fits(value: Any) -> bool:
    """Whether a JSON value is a transcription or a segment of one."""
    if isinstance(value, dict) and isinstance(value.get("text"), str) and isinstance(value.get("segments"), list):
        return True
    listed = items(value, *_KEYS)[:20]
    return any(
        isinstance(item, dict) and _times(item) is not None and ("text" in item or "words" in item) for item in listed
    )


def conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    recordings = ((id, joined(_pieces(segments, path))) for id, segments in groups(text, path, *_KEYS))
    yield from spoken(recordings, path)


def _pieces(segments: list[Object], path: Path | str) -> Iterator[Spoken]:
    for segment in segments:
        appears, disappears = _times(segment) or ("", "")
        for speaker, words in _by_speaker(segment, path):
            said = " ".join(speech_in(words).split())
            if said:
                yield Spoken(said, speaker, appears, disappears)


def _by_speaker(segment: Object, path: Path | str) -> Iterator[tuple[str | None, str]]:
    """Split a segment by speaker; usually it has only one."""
    speaker = _speaker(segment)
    listed = segment.get("words")
    words = [word for word in listed if isinstance(word, dict)] if isinstance(listed, list) else []
    text = string(segment, "text", path)
    speakers = {_speaker(word) for word in words} - {None}
    if text.strip() and len(speakers) < 2:
        yield speaker or next(iter(speakers), None), text
        return
    last = speaker
    named = []
    for word in words:
        # A word without a speaker goes to the previous one.
        last = _speaker(word) or last
        named.append((last, string(word, "word", path) or string(word, "text", path)))
    for name, group in groupby(named, key=lambda pair: pair[0]):
        pieces = [word for _, word in group]
        # Whisper's words include the space before them, WhisperX's don't.
        yield name, ("" if any(word.startswith(" ") for word in pieces) else " ").join(pieces)


def _speaker(data: Object) -> str | None:
    speaker = data.get("speaker")
    return (
        str(speaker) if isinstance(speaker, str | int) and not isinstance(speaker, bool) and speaker != "" else None
    )


def _times(segment: Object) -> tuple[str, str] | None:
    """Start and end of a segment, from seconds or from whisper.cpp's timestamps."""
    stamps = segment.get("timestamps")
    if isinstance(stamps, dict) and isinstance(stamps.get("from"), str) and isinstance(stamps.get("to"), str):
        return stamps["from"], stamps["to"]
    pair = segment.get("timestamp", (segment.get("start"), segment.get("end")))
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return None
    start, end = pair
    # The last chunk of a truncated recording has no end.
    end = start if end is None else end
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (start, end)):
        return None
    if not (0 <= start < 1e9 and 0 <= end < 1e9):
        return None
    return clock(start), clock(end)
