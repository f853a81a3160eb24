"""Checks that the packages of an extra are installed, before a command that needs them does anything."""

from __future__ import annotations

import importlib.util

from incoref.errors import MissingExtra

TRAINING = ("torch", "transformers", "safetensors", "pydantic", "scipy")


def need_training(purpose: str) -> None:
    """For commands of the learning side."""
    for package in TRAINING:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "train", purpose)
