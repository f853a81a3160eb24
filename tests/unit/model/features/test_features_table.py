"""docs/training.md lists every pair feature with its description and its classes."""

from __future__ import annotations

from pathlib import Path

from incoref.model.features import REGISTRY

PAGE = Path(__file__).resolve().parents[4] / "docs" / "training.md"


def test_every_feature_is_described() -> None:
    rows = ["| feature | what it says | classes |", "|---|---|---|"]
    for name, feature in REGISTRY.items():
        classes = ", ".join(f"`{each}`" for each in feature.classes)
        rows.append(f"| `{name}` | {feature.description} | {classes} |")
    expected = "\n".join(rows)
    section = PAGE.read_text(encoding="utf-8").split("\n## Pair features\n")[1].split("\n## ")[0]
    assert expected in section, f"docs/training.md, Pair features, must contain:\n\n{expected}"
