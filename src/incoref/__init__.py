"""Coreference resolution for text that is still arriving."""

from __future__ import annotations

from incoref._version import __version__
from incoref.errors import FormatError, IncorefError, MissingExtra
from incoref.types import Document, Entity, Mention, Sentence, Token

__all__ = [
    "Document",
    "Entity",
    "FormatError",
    "IncorefError",
    "Mention",
    "MissingExtra",
    "Sentence",
    "Token",
    "__version__",
]
