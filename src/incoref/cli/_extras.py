"""Checks that an extra's packages are installed before a command that needs them starts."""

from __future__ import annotations

import importlib.util

from incoref.errors import MissingExtra

TRAINING = ("torch", "transformers", "safetensors", "pydantic", "scipy")


def need_training(purpose: str) -> None:
    """Check the packages that training needs."""
    for package in TRAINING:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "train", purpose)
