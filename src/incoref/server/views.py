"""What can be read of a session: its state, and how the decision on a mention came about. Changes nothing."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from incoref.server.livesession import LiveSession
from incoref.server.problems import NOT_FOUND, Refused
from incoref.server.store import Record
from incoref.types import Document

Json = dict[str, Any]


def session_view(live: LiveSession) -> Json:
    """What whoever may look at a session gets to see."""
    session = live.session
    return {
        "text": session.text,
        "text_start": session.text_start,
        "sentences": session.sentences,
        "tokens": session.tokens,
        "entities": [entity.to_json() for entity in session.entities],
        "resolved_text": session.resolved_text(),
        "event": live.number,
    }


def session_state(id: str, live: LiveSession) -> Json:
    """What whoever has the session gets to see."""
    return {
        "id": id,
        **session_view(live),
        "sequence": live.sequence,
        "options": asdict(live.session.options),
    }


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
    steps = _steps(records, mention.sentence)
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
        "trace": _with_stacks(steps),
    }


def _steps(records: list[Record], sentence: int) -> list[Json]:
    """The trace of a sentence: the latest, since one that was undone may have had the same number."""
    wanted = b'"sentence": %d,' % sentence
    for record in reversed(records):
        if wanted in record.answer:
            for update in json.loads(record.answer).get("updates", ()):
                if update["sentence"] == sentence:
                    found: list[Json] = update.get("trace", [])
                    return found
    return []


def _with_stacks(steps: list[Json]) -> list[Json]:
    stack: list[int] = []
    told = []
    for step in steps:
        told.append({**step, "stack": list(stack)})
        if step["action"] == "PUSH":
            stack.append(step["token"])
        elif step["action"] == "POP":
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
