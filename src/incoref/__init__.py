"""Coreference resolution for text that is still arriving."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from incoref._version import __version__
from incoref.errors import FormatError, IncorefError, MissingExtra
from incoref.types import Document, Entity, Mention, RunnerUp, Sentence, Token

if TYPE_CHECKING:
    from incoref.options import SessionOptions
    from incoref.resolver import Resolver, load
    from incoref.session.session import Session
    from incoref.session.updates import Message, TraceStep, Update

__all__ = [
    "Document",
    "Entity",
    "FormatError",
    "IncorefError",
    "Mention",
    "Message",
    "MissingExtra",
    "Resolver",
    "RunnerUp",
    "Sentence",
    "Session",
    "SessionOptions",
    "Token",
    "TraceStep",
    "Update",
    "__version__",
    "load",
]

_LAZY = {
    "Message": "session.updates",
    "Resolver": "resolver",
    "Session": "session.session",
    "SessionOptions": "options",
    "TraceStep": "session.updates",
    "Update": "session.updates",
    "load": "resolver",
}
"""Names whose modules need arrays and a runtime for the encoder: loaded when they are first asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'incoref' has no attribute '{name}'")
    value = getattr(import_module(f"incoref.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
