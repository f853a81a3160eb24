"""The JSON of ``incoref resolve`` and ``incoref stream``, shared by everything that outputs these layouts.

``docs/outputs.md`` and the JSON Schemas in ``schemas`` describe them. ``to_json`` of a document is lossless and can
be read back; this layout only has what users of the result need. Independent of files and the terminal.
"""

from __future__ import annotations

import json
import re
from typing import Any

from incoref.session.updates import Update
from incoref.types import Document, Entity, Mention, Sentence

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def document_json(document: Document, *, with_id: bool = False) -> dict[str, Any]:
    """A document as printed by ``incoref resolve``; ``with_id`` if it is one of several."""
    return {
        **({"id": document.id} if with_id else {}),
        "text": document.text,
        "sentences": [_sentence_json(sentence) for sentence in document.sentences],
        "entities": [entity_json(entity) for entity in document.entities],
    }


def _sentence_json(sentence: Sentence) -> dict[str, Any]:
    """A sentence; ``id`` and ``time`` only if they are known."""
    given = {name: value for name, value in sentence.attributes if name in ("id", "time")}
    return {"start": sentence.start, "end": sentence.end, "speaker": sentence.speaker, **given}


def entity_json(entity: Entity) -> dict[str, Any]:
    """An entity as printed by ``incoref resolve``; ``speaker`` only if the entity is known to be a speaker."""
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        **({} if entity.speaker is None else {"speaker": entity.speaker}),
        "mentions": [_mention_json(mention) for mention in entity.mentions],
    }


def _mention_json(mention: Mention) -> dict[str, Any]:
    return {
        "start": mention.start,
        "end": mention.end,
        "text": mention.text,
        "sentence": mention.sentence,
        "confidence": mention.confidence,
        "mention_confidence": mention.mention_confidence,
        **({"runners_up": [other.to_json() for other in mention.runners_up]} if mention.runners_up else {}),
    }


def update_json(update: Update) -> dict[str, Any]:
    """An update as printed by ``incoref stream``."""
    return update.to_json()


def json_line(value: Any) -> str:
    """Format a value as JSON on one line, without a line break; unpaired surrogates are escaped for UTF-8."""
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _HALF_CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
