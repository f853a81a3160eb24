"""docs/training.md and docs/baselines.md list every setting with its description and default."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from incoref.learning.baselines.config import BASELINES
from incoref.learning.config import Configuration, CorpusConfig, EncoderConfig, HeadsConfig, TrainingConfig
from incoref.learning.paper.config import PaperConfig

DOCS = Path(__file__).resolve().parents[2] / "docs"
TRAINING: dict[str, type[BaseModel]] = {
    "The file itself": Configuration,
    "`[encoder]`": EncoderConfig,
    "`[training]`": TrainingConfig,
    "`[[train]]` and `[[dev]]`": CorpusConfig,
    "`[heads]`": HeadsConfig,
    "`[paper]`": PaperConfig,
}
NESTED = ("encoder", "heads", "paper", "training", "train", "dev", *BASELINES)
SYSTEMS: dict[str, type[BaseModel]] = {f"`[{name}]`": section for name, section in BASELINES.items()}


def written(value: Any) -> str:
    """A default as TOML has it."""
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Enum):
        return f'`"{value.value}"`'
    if isinstance(value, str):
        return f'`"{value}"`'
    if isinstance(value, tuple):
        return f"`[{', '.join(written(item).strip('`') for item in value)}]`"
    return "–" if value is None else f"`{value}`"


def tables(sections: dict[str, type[BaseModel]]) -> Iterator[str]:
    for title, section in sections.items():
        yield f"### {title}\n\n| setting | default | meaning |\n|---|---|---|"
        for name, field in section.model_fields.items():
            if section is Configuration and name in NESTED:
                continue
            default = "XLNet-base's" if name == "xlnet" else written(field.default)
            meaning = (field.description or "").rstrip(".")
            yield f"| `{name}` | {default} | {meaning} |"
        yield ""


@pytest.mark.parametrize(("page", "sections"), [("training.md", TRAINING), ("baselines.md", SYSTEMS)])
def test_settings_are_documented(page: str, sections: dict[str, type[BaseModel]]) -> None:
    expected = "\n".join(tables(sections))
    assert expected in (DOCS / page).read_text(encoding="utf-8"), f"docs/{page} must contain:\n\n{expected}"
