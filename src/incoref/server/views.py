"""What can be read of a session: its state, and how the decision on a mention came about. Changes nothing."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

from incoref.outputs.formats import OutputFormat
from incoref.outputs.rendering import rendered
from incoref.server.livesession import LiveSession
from incoref.server.problems import NOT_FOUND, Refused
from incoref.server.store import Record
from incoref.session.resolved_text import resolved_text
from incoref.types import Document

Json = dict[str, Any]


def session_view(live: LiveSession, since: int = 0) -> Json:
    """What whoever may look at a session gets to see: all that is kept, or what came from one sentence on."""
    session = live.session
    document = session.document()
    shift, first = session.text_start, session.sentences - len(document.sentences)
    before = document.sentences[: max(0, since - first)]
    place = before[-1].end if before else 0
    entities = [
        (entity, tuple(mention for mention in entity.mentions if mention.sentence >= since))
        for entity in session.entities
    ]
    return {
        "text": document.text[place:],
        "text_start": shift + place,
        "sentences": session.sentences,
        "tokens": session.tokens,
        "lines": [
            {"start": sentence.start + shift, "end": sentence.end + shift, "speaker": sentence.speaker}
            for sentence in document.sentences[len(before) :]
        ],
        "entities": [
            replace(entity, mentions=mentions).to_json() for entity, mentions in entities if mentions or not since
        ],
        "resolved_text": resolved_text(document) if not since else None,
        "event": live.number,
    }


def session_state(id: str, live: LiveSession, since: int = 0) -> Json:
    """What whoever has the session gets to see."""
    return {
        "id": id,
        **session_view(live, since),
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
"""Formats in which a session can be taken away, and their media types."""


def export(live: LiveSession, format: OutputFormat) -> bytes:
    """The session as ``incoref resolve`` would write it, with entities of one mention."""
    return rendered(live.session.document("session"), format).encode("utf-8", "replace")


def decision(live: LiveSession, records: list[Record], start: int, end: int) -> Json:
    """How the mention from ``start`` to ``end`` was found, and whom else it might have meant."""
    session = live.session
    entity, mention = next(
        (
            (entity, mention)
            for entity in session.entities
            for mention in entity.mentions
            if (mention.start, mention.end) == (start, end)
        ),
        (None, None),
    )
    if entity is None or mention is None:
        raise Refused(NOT_FOUND, f"the session has no mention from {start} to {end}")
    names = {known.id: known.name for known in session.entities}
    told = mention.to_json()
    return {
        "mention": {**told, "new": bool(mention.new)},
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
        "tokens": _tokens(session.document(), session.text_start, mention.tokens[0], start),
        "trace": _steps(records, mention.sentence),
    }


def _steps(records: list[Record], sentence: int) -> list[Json]:
    """The trace of a sentence: the latest, since one that was undone may have had the same number."""
    wanted = b'"sentence": %d,' % sentence
    for record in reversed(records):
        if wanted in record.answer:
            updates = json.loads(record.answer).get("updates", ())
            if any(update["sentence"] == sentence for update in updates):
                return _with_stacks([update for update in updates if update["sentence"] <= sentence])
    return []


def _with_stacks(updates: list[Json]) -> list[Json]:
    """The steps of the last one, with the stack before each: it goes on where sentences are read together."""
    stack: list[int] = []
    told: list[Json] = []
    for update in updates:
        told = []
        for step in update.get("trace", ()):
            told.append({**step, "stack": list(stack)})
            if step["action"] == "PUSH":
                stack.append(step["token"])
            elif step["action"] == "POP" and stack:
                stack.pop()
    return told


def _tokens(document: Document, shift: int, token: int, start: int) -> list[Json]:
    """The words of the sentence in which this token starts here, numbered and placed as in the session's text."""
    place = next(number for number, part in enumerate(document.sentences) if part.start <= start - shift < part.end)
    words = document.sentences[place].tokens
    first = token - next(number for number, word in enumerate(words) if word.start == start - shift)
    return [
        {"number": first + number, "text": word.text, "start": word.start + shift, "end": word.end + shift}
        for number, word in enumerate(words)
    ]
