"""Sections of a Markdown model card: each extends from its heading to the next one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from incoref.errors import IncorefError


def table_lines(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    lines = [f"| {' | '.join(heading)} |", "|---" * len(heading) + "|"]
    return lines + [f"| {' | '.join(cells)} |" for cells in rows]


def put_into_card(card: Path, section: str) -> None:
    """Replace the section of a model card with the same heading, or append it."""
    heading = section.partition("\n")[0]
    try:
        text = card.read_text(encoding="utf-8")
    except OSError as error:
        raise IncorefError(f"{card}: {error.strerror or error}") from error
    before, separator, after = text.partition(f"\n{heading}\n")
    kept = after[after.find("\n## ") :] if separator and "\n## " in after else ""
    card.write_text(f"{before.rstrip()}\n\n{section}{kept}", encoding="utf-8")
