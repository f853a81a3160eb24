"""Read-only views of a session: its state, and the decisions behind a mention."""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import asdict, replace
from typing import Any

from incoref.model.transitions import EFFECTS, Action
from incoref.outputs.formats import OutputFormat
from incoref.outputs.rendering import rendered
from incoref.server.livesession import ArchivedView, Viewed
from incoref.server.problems import NOT_FOUND, OTHER_MODEL, Refused
from incoref.server.store import Record
from incoref.session.resolved_text import resolved_text
from incoref.session.transcript import Line
from incoref.session.transcript_parts import Part
from incoref.types import Entity

Json = dict[str, Any]


def part_of(live: Viewed, since: int = 0, *, viewer: bool = False) -> Part:
    """Return the session from sentence ``since`` on; viewers don't get names from sentences no longer kept."""
    part = live.session.part(since)
    if not viewer or live.session.options.history is None:
        return part
    kept = live.session.part() if since else part
    speakers = {line.speaker for line in kept.lines}
    shown = {entity.id: _without_lost_name(entity, kept.given_names | speakers) for entity in kept.entities}
    named = (replace(entity, name=shown[entity.id].name) for entity in part.entities if shown[entity.id].mentions)
    return replace(part, entities=tuple(named))


def _without_lost_name(entity: Entity, allowed: Set[str | None]) -> Entity:
    """Rename an entity after its first kept mention, unless its name is allowed or occurs in a kept mention."""
    texts = [mention.text for mention in entity.mentions]
    if entity.name is None or entity.name in allowed:
        return entity
    if any(entity.name.casefold() in text.casefold() for text in texts):
        return entity
    return replace(entity, name=texts[0] if texts else None)


def session_view(live: Viewed, since: int = 0, *, viewer: bool = True) -> Json:
    """Return what a viewer sees: everything kept, or everything from sentence ``since`` on."""
    part = part_of(live, since, viewer=viewer)
    return {
        "text": part.gap + part.text,
        "text_start": part.text_start - len(part.gap),
        "sentences": live.session.sentences,
        "tokens": live.session.tokens,
        "lines": [{"start": line.start, "end": line.end, "speaker": line.speaker} for line in part.lines],
        "entities": [entity.to_json() for entity in part.entities if entity.mentions or not since],
        "resolved_text": resolved_text(part.document("session", singletons=True)) if not since else None,
        "event": live.number,
    }


def session_state(id: str, live: Viewed, since: int = 0) -> Json:
    """Return what the owner of a session sees."""
    return {
        "id": id,
        **session_view(live, since, viewer=False),
        "sequence": live.sequence,
        "options": asdict(live.session.options),
    }


EXPORTS = {
    OutputFormat.JSON: "application/json",
    OutputFormat.CONLL: "text/plain",
    OutputFormat.CONLLU: "text/plain",
    OutputFormat.CONLLUA: "text/plain",
    OutputFormat.HTML: "text/html",
    OutputFormat.TEXT: "text/plain",
    OutputFormat.RESOLVED: "text/plain",
}
"""Export formats and their media types."""


def export(live: Viewed, format: OutputFormat, singletons: bool, *, viewer: bool = False) -> bytes:
    """Export the session as ``incoref resolve`` would; resolved text always takes singletons into account."""
    wanted = singletons or format is OutputFormat.RESOLVED
    document = part_of(live, viewer=viewer).document("session", singletons=wanted)
    return rendered(document, format).encode("utf-8", "replace")


def saved(live: Viewed) -> bytes:
    """Return the session as bytes for ``Resolver.restore``."""
    if isinstance(live, ArchivedView):
        raise Refused(
            OTHER_MODEL, "a session of another model can't be saved here; export it, or fork it with replay"
        )
    return live.session.save()


def decision(live: Viewed, records: list[Record], start: int, end: int, *, viewer: bool = False) -> Json:
    """Explain how the mention from ``start`` to ``end`` was found, and which other entities were candidates."""
    part = part_of(live, viewer=viewer)
    entity, mention = next(
        (
            (entity, mention)
            for entity in part.entities
            for mention in entity.mentions
            if (mention.start, mention.end) == (start, end)
        ),
        (None, None),
    )
    if entity is None or mention is None:
        raise Refused(NOT_FOUND, f"the session has no mention from {start} to {end}")
    names = {known.id: known.name for known in part.entities}
    return {
        "mention": {**mention.to_json(), "new": bool(mention.new)},
        "sentence": mention.sentence,
        "candidates": [
            {"entity": entity.id, "name": entity.name, "probability": mention.confidence, "chosen": True},
            *(
                {
                    "entity": other.entity,
                    "name": names.get(other.entity or ""),
                    "probability": other.confidence,
                    "chosen": False,
                }
                for other in mention.runners_up
            ),
        ],
        "tokens": _tokens(part.lines[mention.sentence - part.lines[0].number]),
        "trace": _steps(records, mention.sentence),
    }


def _steps(records: list[Record], sentence: int) -> list[Json]:
    """Return the latest trace of a sentence; an undone sentence may have had the same number."""
    for record in reversed(records):
        updates = json.loads(record.answer).get("updates", ())
        if any(update["sentence"] == sentence for update in updates):
            return _with_stacks([update for update in updates if update["sentence"] <= sentence])
    return []


def _with_stacks(updates: list[Json]) -> list[Json]:
    """Return the last update's steps, with the stack before each; sentences read together share the stack."""
    stack: list[int] = []
    steps: list[Json] = []
    for update in updates:
        steps = []
        for step in update.get("trace", ()):
            steps.append({**step, "stack": list(stack)})
            effect = EFFECTS[Action[step["action"]]]
            if effect.pops and stack:
                stack.pop()
            if effect.pushes:
                stack.append(step["token"])
    return steps


def _tokens(line: Line) -> list[Json]:
    """Return a sentence's words, with numbers and offsets in the session's text."""
    return [
        {"number": line.first + number, "text": word.text, "start": word.start, "end": word.end}
        for number, word in enumerate(line.sentence().tokens)
    ]
