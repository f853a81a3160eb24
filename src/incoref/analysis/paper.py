"""The paper's own figures, to stand beside ours: quoted, never measured here.

Grenander, Cohen, Steedman (EMNLP 2022), "Sentence-Incremental Neural Coreference Resolution"; OntoNotes 5.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

NAME = "paper"
"""What quoted rows and series are called."""


@cache
def figures() -> dict[str, Any]:
    """All figures, as the file beside this module has them."""
    path = Path(__file__).parent / "paper_figures.json"
    published: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return published
