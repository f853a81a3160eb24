"""Splits raw text, whole or in arbitrary pieces, into sentences and words with exact character offsets."""

from __future__ import annotations

from incoref.text.splitter import FORCED, Pending, RuleSplitter, Splitter
from incoref.types import Sentence

__all__ = ["FORCED", "Pending", "RuleSplitter", "Splitter", "split"]


def split(text: str, offset: int = 0, splitter: Splitter | None = None) -> list[Sentence]:
    """Split a complete text into sentences; ``offset`` is its position in a larger text."""
    splitter = splitter or RuleSplitter()
    sentences, pending = splitter.feed(Pending(offset=offset), text)
    return sentences + splitter.flush(pending)[0]
