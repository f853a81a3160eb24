"""Chat-model messages with ``role`` and ``content``, as in OpenAI's API and similar ones. Reading only.

The speaker is the ``name``, or otherwise the role. Tool calls and results, images and files are not speech.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from incoref.corpora._json import Object, described, groups, items, spoken
from incoref.corpora.turns import Conversation, Turn
from incoref.errors import FormatError

_KEYS = ("messages", "conversations", "conversation", "input")
_NOT_SPEECH = frozenset({"tool", "function", "ipython"})


def fits(value: Any) -> bool:
    """Whether a JSON value contains messages with roles."""
    return any(isinstance(item, dict) and _role(item) is not None for item in items(value, *_KEYS)[:20])


def _role(message: Object) -> str | None:
    """The role of a chat-model message: ``role`` or, in ShareGPT's layout, ``from``."""
    if isinstance(message.get("role"), str) and ("content" in message or "parts" in message):
        return str(message["role"])
    if isinstance(message.get("from"), str) and "value" in message:
        return str(message["from"])
    return None


def conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    yield from spoken(((id, _turns(messages, path)) for id, messages in groups(text, path, *_KEYS)), path)


def _turns(messages: list[Object], path: Path | str) -> Iterator[Turn]:
    for message in messages:
        turn = turn_of(message, path)
        if turn is not None:
            yield turn


def turn_of(message: Object, path: Path | str) -> Turn | None:
    """The turn of a message; None for tool messages and for list items that aren't messages."""
    role = _role(message)
    if role is None and "type" in message:
        return None
    if role is None:
        raise FormatError(f"a message needs 'role' and 'content', found {described(message)}", path=path)
    if role in _NOT_SPEECH:
        return None
    name = message.get("name")
    content = next((message[key] for key in ("content", "value", "parts") if message.get(key) is not None), "")
    return Turn(_text(content, path), name if isinstance(name, str) and name else role)


def _text(content: Any, path: Path | str) -> str:
    """The text of a message's content: a string or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise FormatError(f"'content' is neither a string nor a list of parts: {described(content)}", path=path)
    parts = (part if isinstance(part, str) else _text_of_part(part) for part in content)
    return "\n".join(part for part in parts if part.strip())


def _text_of_part(part: Any) -> str:
    """The text of a content part; empty for types that carry no text."""
    if not isinstance(part, dict) or part.get("type", "text") not in ("text", "input_text", "output_text", "refusal"):
        return ""
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else ""
