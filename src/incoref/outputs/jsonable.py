"""The JSON of ``incoref resolve`` and ``incoref stream``: what has these layouts gets them here.

``docs/outputs.md`` and the JSON Schemas beside this module describe them. Unlike ``to_json`` of a document, which
loses nothing and reads back, this is what someone needs who wants to know who is who. Knows no files and no terminal.
"""

from __future__ import annotations

import json
import re
from typing import Any

from incoref.session.updates import Update
from incoref.types import Document, Entity, Mention, Sentence

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def document_json(document: Document, *, with_id: bool = False) -> dict[str, Any]:
    """A document as ``incoref resolve`` prints it; ``with_id`` where it stands among others."""
    return {
        **({"id": document.id} if with_id else {}),
        "text": document.text,
        "sentences": [_sentence_json(sentence) for sentence in document.sentences],
        "entities": [entity_json(entity) for entity in document.entities],
    }


def _sentence_json(sentence: Sentence) -> dict[str, Any]:
    """``id`` and ``time`` only where they are known."""
    given = {name: value for name, value in sentence.attributes if name in ("id", "time")}
    return {"start": sentence.start, "end": sentence.end, "speaker": sentence.speaker, **given}


def entity_json(entity: Entity) -> dict[str, Any]:
    """An entity as ``incoref resolve`` prints it; ``speaker`` only if it is known whose "I" it is."""
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
    """An update as ``incoref stream`` prints it."""
    return update.to_json()


def json_line(value: Any) -> str:
    """JSON in one line, without the line break; UTF-8 can encode it whatever is in it."""
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _HALF_CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
