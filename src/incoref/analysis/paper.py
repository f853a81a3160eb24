"""Figures quoted from the paper, for comparison with ours.

Grenander, Cohen, Steedman (EMNLP 2022), "Sentence-Incremental Neural Coreference Resolution"; OntoNotes 5.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

NAME = "paper"
"""Label of quoted rows and series."""


@cache
def figures() -> dict[str, Any]:
    """Return all figures from ``paper_figures.json``."""
    path = Path(__file__).parent / "paper_figures.json"
    published: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return published
