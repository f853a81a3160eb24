"""docs/training.md lists every setting with its description and default, as the configuration has them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from incoref.learning.config import Configuration, CorpusConfig, EncoderConfig, HeadsConfig, TrainingConfig
from incoref.learning.paper.config import PaperConfig

DOCS = Path(__file__).resolve().parents[2] / "docs" / "training.md"
SECTIONS: dict[str, type[BaseModel]] = {
    "The file itself": Configuration,
    "`[encoder]`": EncoderConfig,
    "`[training]`": TrainingConfig,
    "`[[train]]` and `[[dev]]`": CorpusConfig,
    "`[heads]`": HeadsConfig,
    "`[paper]`": PaperConfig,
}
NESTED = ("encoder", "heads", "paper", "training", "train", "dev")


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


def tables() -> Iterator[str]:
    for title, section in SECTIONS.items():
        yield f"### {title}\n\n| setting | default | meaning |\n|---|---|---|"
        for name, field in section.model_fields.items():
            if section is Configuration and name in NESTED:
                continue
            default = "XLNet-base's" if name == "xlnet" else written(field.default)
            meaning = (field.description or "").rstrip(".")
            yield f"| `{name}` | {default} | {meaning} |"
        yield ""


def test_settings_are_documented() -> None:
    expected = "\n".join(tables())
    assert expected in DOCS.read_text(encoding="utf-8"), f"docs/training.md must contain:\n\n{expected}"
