"""Coreference resolution for text that is still arriving."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from incoref._version import __version__
from incoref.errors import FormatError, IncorefError, MissingExtra
from incoref.types import PLUGGED, Document, Entity, Mention, RunnerUp, Sentence, Token

if TYPE_CHECKING:
    from incoref import corpora as corpora
    from incoref import outputs as outputs
    from incoref.memory.memory import Memory
    from incoref.memory.passages import NameDecision, Passage
    from incoref.options import SessionOptions
    from incoref.resolver import Resolver, load
    from incoref.session.asynchronous import AsyncSession
    from incoref.session.session import Session
    from incoref.session.updates import Message, TraceStep, Update

__all__ = [
    "AsyncSession",
    "Document",
    "Entity",
    "FormatError",
    "IncorefError",
    "Memory",
    "Mention",
    "Message",
    "MissingExtra",
    "NameDecision",
    "Passage",
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
    "AsyncSession": "session.asynchronous",
    "Memory": "memory.memory",
    "Message": "session.updates",
    "NameDecision": "memory.passages",
    "Passage": "memory.passages",
    "Resolver": "resolver",
    "Session": "session.session",
    "SessionOptions": "options",
    "TraceStep": "session.updates",
    "Update": "session.updates",
    "load": "resolver",
}
"""Names whose modules need arrays and a runtime for the encoder: loaded when they are first asked for."""


PLUGGED["resolved_text"] = lambda document: import_module("incoref.session.resolved_text").resolved_text(document)
PLUGGED["html"] = lambda value: import_module("incoref.outputs.notebook").html_of(value)

_PACKAGES = frozenset(("client", "corpora", "evaluation", "outputs", "text"))
"""What can be reached without an import of its own."""


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"incoref.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'incoref' has no attribute '{name}'")
    value = getattr(import_module(f"incoref.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
