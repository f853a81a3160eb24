"""Discord messages in JSON, from DiscordChatExporter or Discord's API. Reading only.

System messages about joins, calls and pins are not speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from incoref.corpora._json import Object, groups, items, spoken, string
from incoref.corpora.turns import Conversation, Turn

_KEYS = ("messages",)
_SPEECH = frozenset({None, 0, 19, "0", "19", "Default", "Reply", "20", 20, "ChatInputCommand"})
"""Message types that are speech, by name and by number."""
_USER = re.compile(r"<@!?(\d+)>")
_EMOJI = re.compile(r"<a?(:\w+:)\d+>")
_NAMES = ("nickname", "global_name", "globalName", "name", "username")


def fits(value: Any) -> bool:
    """Whether a JSON value contains Discord messages."""
    return any(
        isinstance(item, dict) and isinstance(item.get("author"), dict) and "content" in item
        for item in items(value, *_KEYS)[:20]
    )


def conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    yield from spoken(((id, _turns(messages, path)) for id, messages in groups(text, path, *_KEYS)), path)


def _turns(messages: list[Object], path: Path | str) -> Iterator[Turn]:
    # The API returns the newest message first.
    for message in sorted(messages, key=lambda message: str(message.get("timestamp", ""))):
        if message.get("type") in _SPEECH:
            yield Turn(_plain(message, path), _name(message.get("author")), _attributes(message))


def _name(author: Any) -> str | None:
    if not isinstance(author, dict):
        return None
    return next((author[key] for key in _NAMES if isinstance(author.get(key), str) and author[key]), None)


def _attributes(message: Object) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(message[key])) for key, name in (("id", "id"), ("timestamp", "time")) if message.get(key))


def _plain(message: Object, path: Path | str) -> str:
    """The text of a message, with user mentions replaced by names."""
    mentioned = message.get("mentions")
    names = {
        str(user.get("id")): _name(user)
        for user in (mentioned if isinstance(mentioned, list) else [])
        if user
        if isinstance(user, dict)
    }
    content = _USER.sub(lambda match: f"@{names.get(match[1]) or match[1]}", string(message, "content", path))
    return _EMOJI.sub(r"\1", content)
