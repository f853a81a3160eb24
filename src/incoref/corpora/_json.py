"""Parsing JSON files, whole or one value per line, and the conversations in them; shared by the JSON formats.

Independent of any particular format.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from incoref.corpora.turns import Conversation, Turn, stem
from incoref.errors import FormatError

Object = dict[str, Any]

_SURELY = re.compile(r'\s*(?:\[\s*)*\{\s*"|\s*(?:\[\s*)+"')
_PERHAPS = re.compile(r"\s*[\[{]")
_MOST_KEYS = 8


def looks_like_json(text: str) -> bool:
    """Whether a text is meant to be JSON, even if invalid; a bracket alone may also open a timestamp or a remark."""
    if _SURELY.match(text):
        return True
    if not _PERHAPS.match(text):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def first_value(text: str, path: Path | str) -> Any:
    """Parse the first value of a file, possibly its only one."""
    return _decoded(text, path)[0]


def values(text: str, path: Path | str) -> list[Any]:
    """Parse a file that is one JSON value, or one value per line."""
    value, end = _decoded(text, path)
    if not text[end:].strip():
        return [value]
    return [value for _, value in lines(text, path)]


def lines(text: str, path: Path | str) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file with one per line, with their line numbers."""
    for line, row in enumerate(text.split("\n"), 1):
        if row and not row.isspace():
            try:
                value = json.loads(row)
            except (ValueError, RecursionError) as error:
                raise FormatError(f"not JSON: {error}", path=path, line=line) from error
            yield line, value


def _decoded(text: str, path: Path | str) -> tuple[Any, int]:
    start = len(text) - len(text.lstrip())
    try:
        return json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise FormatError(f"starts like JSON but is not: {error}", path=path, line=error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"starts like JSON but is not: {error}", path=path, line=1) from error


def items(value: Any, *keys: str) -> list[Any]:
    """The items of a value: the list itself, or the list under the first of ``keys`` that has one, or ``[value]``."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        listed = next((value[key] for key in keys if isinstance(value.get(key), list)), None)
        if listed is not None:
            return list(listed)
    return [value]


def groups(text: str, path: Path | str, *keys: str) -> Iterator[tuple[str, list[Object]]]:
    """Yield the conversations of a file as (id, objects).

    Each list, or object with a list under one of ``keys``, is a conversation; all other objects together form one.
    """
    conversations: list[tuple[str | None, list[Any]]] = []
    loose: list[Any] = []
    found_values = values(text, path)
    if len(found_values) == 1 and isinstance(found_values[0], list):
        found_values = found_values[0]
    for value in found_values:
        listed = items(value, *keys)
        if len(listed) == 1 and listed[0] is value:
            loose.append(value)
        else:
            id = value.get("id") if isinstance(value, dict) else None
            conversations.append((str(id) if isinstance(id, str | int) else None, listed))
    if loose:
        conversations.append((None, loose))
    for number, (id, objects) in enumerate(conversations, 1):
        for value in objects:
            if not isinstance(value, dict):
                raise FormatError(f"expected objects, found {described(value)}", path=path)
        yield stem(path) if len(conversations) == 1 else id or f"{stem(path)}-{number}", objects


def spoken(conversations: Iterable[tuple[str, Iterable[Turn]]], path: Path | str) -> Iterator[Conversation]:
    """Drop empty turns and conversations; a file without any speech is an error."""
    silent = True
    for id, turns in conversations:
        said = [turn for turn in turns if turn.text.strip()]
        if said:
            silent = False
            yield Conversation(id, said)
    if silent:
        raise FormatError("it contains no speech", path=path)


def string(data: Object, key: str, path: Path | str) -> str:
    """The string under a key, empty if the key is missing or null; any other value is an error."""
    value = data.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FormatError(f"{key!r} is not a string: {described(value)}", path=path)
    return value


def described(value: Any) -> str:
    """Describe a value for error messages."""
    if isinstance(value, dict):
        if not value:
            return "an empty object"
        keys = ", ".join(map(repr, list(value)[:_MOST_KEYS]))
        return f"an object with {keys}{', …' if len(value) > _MOST_KEYS else ''}"
    if isinstance(value, list):
        return f"a list of {len(value)}, the first of them {described(value[0])}" if value else "an empty list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return "a string" if isinstance(value, str) else "a number"
