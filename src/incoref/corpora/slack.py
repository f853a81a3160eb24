"""Slack messages in JSON: exports with one file per channel and day, or API responses. Reading only.

Names come from the export's ``users.json``, if present, and from the profiles in the messages. System messages about
joins, leaves and topic changes are not speech.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from incoref.corpora._json import Object, groups, items, spoken, string, values
from incoref.corpora.turns import Conversation, Turn

NOT_MESSAGES = frozenset(
    {
        "canvases.json",
        "channels.json",
        "dms.json",
        "file_conversations.json",
        "groups.json",
        "integration_logs.json",
        "lists.json",
        "mpims.json",
        "users.json",
    }
)
"""Files of an export that don't contain messages."""

USERS = "users.json"
_KEYS = ("messages",)
_SPEECH = frozenset(
    {None, "", "bot_message", "file_comment", "file_share", "me_message", "reply_broadcast", "thread_broadcast"}
)
_REFERENCE = re.compile(r"<([@#!])([^|<>]*)(?:\|([^<>]*))?>")
_LINK = re.compile(r"<([a-z][a-z+.-]*:[^|<>]*)(?:\|([^<>]*))?>")
_BOLD = re.compile(r"(?<![\w*])\*(\S|\S.{0,300}?\S)\*(?![\w*])")
_ITALIC = re.compile(r"(?<![\w])_(\S|\S.{0,300}?\S)_(?![\w])")


def fits(value: Any) -> bool:
    """Whether a JSON value contains Slack messages."""
    return any(
        isinstance(item, dict) and "ts" in item and ("text" in item or item.get("type") == "message")
        for item in items(value, *_KEYS)[:20]
    )


def conversations(text: str, path: Path | str, users: Mapping[str, str] | None = None) -> Iterator[Conversation]:
    """Yield the conversations of a file; ``users`` maps user ids to names, as returned by ``names_of_users``."""
    channels = ((id, _turns(messages, path, users or {})) for id, messages in groups(text, path, *_KEYS))
    yield from spoken(channels, path)


def names_of_users(text: str, path: Path | str) -> dict[str, str]:
    """Map user ids to names, from the export's ``users.json``."""
    names: dict[str, str] = {}
    for user in (user for value in values(text, path) for user in items(value, "members")):
        if isinstance(user, dict) and isinstance(user.get("id"), str):
            name = _name_in(user.get("profile")) or _name_in(user)
            names |= {user["id"]: name} if name is not None else {}
    return names


def _turns(messages: list[Object], path: Path | str, users: Mapping[str, str]) -> Iterator[Turn]:
    names = {**_names(messages), **users}
    # The API returns the newest message first.
    for message in sorted(messages, key=lambda message: str(message.get("ts", ""))):
        if message.get("type", "message") == "message" and message.get("subtype") in _SPEECH:
            yield Turn(_plain(string(message, "text", path), names), _speaker(message, names), _time(message))


def _names(messages: Iterable[Object]) -> dict[str, str]:
    """Map user ids to names, from the profiles in messages."""
    names: dict[str, str] = {}
    for message in messages:
        user, name = message.get("user"), _name_in(message.get("user_profile"))
        if isinstance(user, str) and name is not None:
            names[user] = name
    return names


def _name_in(profile: Any) -> str | None:
    if not isinstance(profile, dict):
        return None
    given = (profile.get(key) for key in ("display_name", "real_name", "name"))
    return next((name for name in given if isinstance(name, str) and name), None)


def _speaker(message: Object, names: dict[str, str]) -> str | None:
    user = message.get("user")
    if isinstance(user, str) and user in names:
        return names[user]
    profile = message.get("bot_profile")
    bot = profile.get("name") if isinstance(profile, dict) else None
    return next((name for name in (message.get("username"), bot, user) if isinstance(name, str) and name), None)


def _time(message: Object) -> tuple[tuple[str, str], ...]:
    return (("time", str(message["ts"])),) if message.get("ts") is not None else ()


def _plain(text: str, names: dict[str, str]) -> str:
    """The text of a message without Slack's mark-up."""

    def reference(match: re.Match[str]) -> str:
        kind, id, label = match[1], match[2], match[3]
        if kind == "!":
            return label or "@" + id.split("^", 1)[0]
        return kind + (label or names.get(id, id))

    text = _LINK.sub(lambda match: match[2] or match[1].removeprefix("mailto:"), _REFERENCE.sub(reference, text))
    return html.unescape(_ITALIC.sub(r"\1", _BOLD.sub(r"\1", text)))
