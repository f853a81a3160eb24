"""What a session can be told: how many sentences to read at once, what to forget, what to report.

Knows no model: a client can check its options without loading one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TypedDict

from incoref.errors import IncorefError

UNKNOWN_GENRE = "unknown"
SETTINGS = "sent-inc, k=N or part-inc"
EVICTION_POLICIES = ("none", "lru", "dual", "icoref")
DEFAULT_POLICY = "dual"
DEFAULT_IDLE = 600


def block_size(setting: str) -> int | None:
    """Sentences per block: one for sent-inc, as many as fit a window (None) for part-inc."""
    if setting == "sent-inc":
        return 1
    if setting == "part-inc":
        return None
    match = re.fullmatch(r"k=([1-9]\d*)", setting)
    if match is None:
        raise IncorefError(f"no setting '{setting}'; choose {SETTINGS}")
    return int(match[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    setting: str | None = None
    """Sentences to read at once: ``sent-inc`` is one, ``k=4`` four, ``part-inc`` as many as fit a window.

    Defaults to what the model was trained for.
    """
    scheme: str | None = None
    """The annotation scheme that mentions and links follow; defaults to the model's first."""
    genre: str = UNKNOWN_GENRE
    eviction: str = DEFAULT_POLICY
    """Which entities to forget: ``none``, ``lru``, ``dual`` or ``icoref``."""
    max_entities: int | None = None
    """The most entities to keep; ``lru`` and ``dual`` default to 1000."""
    idle: int = DEFAULT_IDLE
    """For ``icoref``: tokens without a mention after which an entity is forgotten."""
    history: int | None = None
    """Sentences to keep in the transcript; defaults to all."""
    undo: int = 20
    """How many calls can be undone."""
    trace: bool = False
    """Whether updates include the actions that found their mentions."""
    runners_up: int = 0
    """How many alternative entities to report per mention."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            allowed = str(field.type).split(" | ")
            if ("None" if value is None else type(value).__name__) not in allowed:
                wanted = " or ".join(_KINDS[kind] for kind in allowed)
                raise IncorefError(f"{field.name} is {value!r:.40}; it must be {wanted}")
        if self.setting is not None:
            block_size(self.setting)
        if self.eviction not in EVICTION_POLICIES:
            raise IncorefError(f"no eviction policy '{self.eviction}'; choose one of {', '.join(EVICTION_POLICIES)}")
        if self.eviction == "none" and self.max_entities is not None:
            raise IncorefError("max_entities needs an eviction policy; 'none' keeps all entities")
        if self.max_entities is not None and self.max_entities < 1:
            raise IncorefError(f"max_entities is {self.max_entities}; a session needs room for at least one")
        if self.idle < 1:
            raise IncorefError(f"idle is {self.idle}; it counts tokens and must be at least 1")
        for name in ("history", "undo", "runners_up"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise IncorefError(f"{name} is {value}; it can't be less than 0")


_KINDS = {"str": "a string", "int": "a whole number", "bool": "True or False", "None": "None"}


class OptionKeywords(TypedDict, total=False):
    """The fields of ``SessionOptions`` as keyword arguments."""

    setting: str | None
    scheme: str | None
    genre: str
    eviction: str
    max_entities: int | None
    idle: int
    history: int | None
    undo: int
    trace: bool
    runners_up: int
