"""JSON Schemas of the output of ``incoref resolve``, ``stream`` and ``trace``, one file each in this folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NAMES = ("resolve", "stream", "trace")


def schema_text(name: str) -> str:
    """The schema of a command's output as JSON text."""
    return (Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8")


def schema(name: str) -> dict[str, Any]:
    """The schema of a command's output."""
    read: dict[str, Any] = json.loads(schema_text(name))
    return read
