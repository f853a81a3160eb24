"""Batch processing: resolves any number of documents from files into a folder of shards, on one machine or many.

``run`` implements ``incoref batch``. A run that was interrupted for any reason resumes where it stopped.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incoref.batch.answers import Columns
    from incoref.batch.collection import Summary, run

__all__ = ["Columns", "Summary", "run"]

_HOMES = {"Columns": "answers", "Summary": "collection", "run": "collection"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'incoref.batch' has no attribute '{name}'")
    return getattr(import_module(f"incoref.batch.{_HOMES[name]}"), name)
