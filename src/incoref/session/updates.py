"""What goes into a session and what comes out: messages, and one update a sentence.

An update says what a sentence brought; it is never changed by what comes later. Knows no model and no state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from incoref.types import PLUGGED, Given, Mention


@dataclass(frozen=True, slots=True)
class Message:
    """A complete utterance. ``id`` and ``time`` are the caller's and come back with the updates."""

    text: str
    speaker: str | None = None
    id: Given = None
    time: Given = None


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One action of the transition system."""

    action: str
    token: int
    """Number of the token under the cursor, counted from the start of the text."""
    probabilities: tuple[tuple[str, float], ...]
    """Of all actions that were legal."""
    mention: tuple[int, int] | None = None
    """The mention that the action found, as a half-open range of tokens."""

    def to_json(self) -> dict[str, Any]:
        return {
            "action": self.action,
            "token": self.token,
            "probabilities": dict(self.probabilities),
            **({} if self.mention is None else {"mention": list(self.mention)}),
        }


@dataclass(frozen=True, slots=True)
class Update:
    """What one sentence brought."""

    sentence: int
    """Its number, from 0."""
    text: str
    start: int
    end: int
    speaker: str | None
    id: Given
    mentions: tuple[Mention, ...]
    """In order of appearance; of two that start together the longer one first."""
    elapsed_ms: float = field(compare=False)
    """What reading the sentence took; with blocks of several, what the block took."""
    time: Given = None
    evicted: tuple[str, ...] = ()
    """Ids of entities that nothing can be linked to any more; their mentions stay."""
    warnings: tuple[str, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    """The actions that found the mentions, if they were asked for."""

    def __repr__(self) -> str:
        said_by = f" by {self.speaker}" if self.speaker else ""
        mentions = ", ".join(f"{mention.text} ({mention.entity})" for mention in self.mentions) or "no mentions"
        warnings = f"; {'; '.join(self.warnings)}" if self.warnings else ""
        text = self.text if len(self.text) <= 60 else self.text[:59] + "…"
        return f"<Update of sentence {self.sentence}{said_by} {text!r}: {mentions}{warnings}>"

    def _repr_html_(self) -> str:
        return PLUGGED["html"](self)

    def to_json(self) -> dict[str, Any]:
        """The eight fields that are always there; then those of the rest that are not empty."""
        rest = {
            "time": self.time,
            "evicted": list(self.evicted),
            "warnings": list(self.warnings),
            "trace": [step.to_json() for step in self.trace],
        }
        return {
            "sentence": self.sentence,
            "text": self.text,
            "start": self.start,
            "end": self.end,
            "speaker": self.speaker,
            "id": self.id,
            "mentions": [mention_json(mention) for mention in self.mentions],
            "elapsed_ms": self.elapsed_ms,
            **{name: value for name, value in rest.items() if value is not None and value != []},
        }


def mention_json(mention: Mention) -> dict[str, Any]:
    """A mention as it is told when its sentence has been read."""
    return {
        "start": mention.start,
        "end": mention.end,
        "text": mention.text,
        "entity": mention.entity,
        "new": mention.new,
        "confidence": mention.confidence,
        "mention_confidence": mention.mention_confidence,
        **({"runners_up": [other.to_json() for other in mention.runners_up]} if mention.runners_up else {}),
    }
