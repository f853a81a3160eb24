"""A server's limits on one session: its options and its size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incoref.server.commands import Command, Forget
from incoref.server.limits import Limits
from incoref.server.livesession import LiveSession
from incoref.server.problems import FULL, Refused
from incoref.session.eviction import DEFAULT_MAX_ENTITIES


def bounded(limits: Limits, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with a bound on entities, so that no sentence takes too long."""
    limit, wanted = limits.entities, options.get("max_entities")
    if options.get("eviction") == "none":
        raise Refused(FULL, "a session on a server has a bounded memory: choose another eviction policy than none")
    if wanted is not None and wanted > limit:
        raise Refused(FULL, f"max_entities is {wanted}; this server allows up to {limit}", limit=limit)
    if wanted is None and (options.get("eviction") == "icoref" or limit < DEFAULT_MAX_ENTITIES):
        return {**options, "max_entities": limit}
    return dict(options)


def check_room(limits: Limits, live: LiveSession, command: Command) -> None:
    """Check a command before it runs: a full session accepts nothing more except forgetting entities."""
    if command.size and live.characters + command.size > limits.session_text:
        raise _full("characters", limits.session_text)
    if live.introduced + command.introduces > limits.participants:
        raise _full("introduced participants", limits.participants)
    if live.number >= limits.session_changes and not isinstance(command, Forget):
        raise _full("changes", limits.session_changes)
    check_sentences(limits, command, live.session.sentences + 1)


def check_sentences(limits: Limits, command: Command, sentences: int) -> None:
    if command.undoable and sentences > limits.session_sentences:
        raise _full("sentences", limits.session_sentences)


def _full(what: str, limit: int) -> Refused:
    return Refused(FULL, f"a session has at most {limit} {what}: start a new one", limit=limit)
