"""A session's input and output: messages, and one update per sentence.

An update is the result for a sentence, and later text never changes it. Knows no model and no state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from incoref.types import PLUGGED, Given, Mention


@dataclass(frozen=True, slots=True)
class Message:
    """A complete utterance. ``id`` and ``time`` are the caller's and are returned with the updates."""

    text: str
    speaker: str | None = None
    id: Given = None
    time: Given = None


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One action of the transition system."""

    action: str
    token: int
    """Number of the token at the cursor, from the start of the text."""
    probabilities: tuple[tuple[str, float], ...]
    """Probabilities of all legal actions."""
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
    """The result for one sentence."""

    sentence: int
    """Its number, from 0."""
    text: str
    start: int
    end: int
    speaker: str | None
    id: Given
    mentions: tuple[Mention, ...]
    """In order of appearance; of two that start together, the longer one first."""
    elapsed_ms: float = field(compare=False)
    """Processing time of the sentence, or of its block if that has several."""
    time: Given = None
    evicted: tuple[str, ...] = ()
    """Ids of entities that can no longer be linked to; their mentions stay."""
    warnings: tuple[str, ...] = ()
    trace: tuple[TraceStep, ...] = ()
    """The actions that found the mentions, if requested."""

    def __repr__(self) -> str:
        said_by = f" by {self.speaker}" if self.speaker else ""
        mentions = ", ".join(f"{mention.text} ({mention.entity})" for mention in self.mentions) or "no mentions"
        warnings = f"; {'; '.join(self.warnings)}" if self.warnings else ""
        text = self.text if len(self.text) <= 60 else self.text[:59] + "…"
        return f"<Update of sentence {self.sentence}{said_by} {text!r}: {mentions}{warnings}>"

    def _repr_html_(self) -> str:
        return PLUGGED["html"](self)

    def to_json(self) -> dict[str, Any]:
        """The eight fields that are always present, then the other non-empty ones."""
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
    """A mention as reported in an update."""
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
