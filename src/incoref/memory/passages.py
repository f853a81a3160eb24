"""A self-contained chunk: its text with names inserted, the decision for each mention, and offset mappings.

Values only. Offsets count code points and ends are exclusive. Knows no session and no entities' vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from incoref.types import Given


class Edit(NamedTuple):
    """A range of the original text and its replacement; an empty range is an insertion."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class NameDecision:
    """A mention that could be replaced: the name, or the reason why it wasn't."""

    start: int
    """Offset in the original text."""
    end: int
    text: str
    entity: str
    name: str | None
    confidence: float
    """Confidence of the referent; for a pronoun, the product of its links back to the latest name."""
    named: bool
    reason: str
    """``named``, or why not: ``already named``, ``unsure``, ``no name``, ``grammar``, ``quotation`` or ``code``."""

    def to_json(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in self.__slots__}


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk or turn, rewritten so that it can be understood alone."""

    id: Given
    original: str
    text: str
    decisions: tuple[NameDecision, ...] = ()
    """One for each mention that could be replaced, in order."""
    edits: tuple[Edit, ...] = ()
    """The edits that turn ``original`` into ``text``, in order."""
    speaker: str | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def names(self) -> dict[str, str]:
        """The ids of the entities named here, with their names."""
        return {choice.entity: choice.name for choice in self.decisions if choice.named and choice.name}

    def to_original(self, start: int, end: int) -> tuple[int, int]:
        """The range of ``original`` for a range of ``text``; it covers everything that a touched name replaced."""
        pairs = [((new_start, new_end), (edit.start, edit.end)) for new_start, new_end, edit in self._placed()]
        return _moved(pairs, start, end)

    def from_original(self, start: int, end: int) -> tuple[int, int]:
        """The range of ``text`` for a range of ``original``; it covers the whole name of a touched mention."""
        pairs = [((edit.start, edit.end), (new_start, new_end)) for new_start, new_end, edit in self._placed()]
        return _moved(pairs, start, end)

    def _placed(self) -> Iterator[tuple[int, int, Edit]]:
        """Each edit with where its text starts and ends in the new text."""
        shift = 0
        for edit in self.edits:
            start = edit.start + shift
            end = start + len(edit.text)
            yield start, end, edit
            shift = end - edit.end

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "speaker": self.speaker,
            "original": self.original,
            "text": self.text,
            "decisions": [choice.to_json() for choice in self.decisions],
            "edits": [list(edit) for edit in self.edits],
        }


def edited(original: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made."""
    parts, place = [], 0
    for edit in edits:
        parts += [original[place : edit.start], edit.text]
        place = edit.end
    return "".join((*parts, original[place:]))


_Span = tuple[int, int]


def _moved(pairs: Sequence[tuple[_Span, _Span]], start: int, end: int) -> _Span:
    """A stretch moved from one text to another; ``pairs`` are the stretches that differ, in both."""
    first, shift = None, 0
    for (here, here_end), (there, there_end) in pairs:
        if first is None and start < here_end:
            first = start + shift if start < here else there
        if end <= here:
            break
        if end <= here_end:
            return there if first is None else first, there_end
        shift = there_end - here_end
    return start + shift if first is None else first, end + shift
