"""Validates a saved session before anything is built from it, so that a bad file fails immediately.

``conforms`` checks a value against the type that its class declares; ``check_fields`` checks the JSON of a save.
Both raise ``ValueError`` with the place. Knows no model and no session.
"""

from __future__ import annotations

import math
import types
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

_MOST = 2**53
_SMALL = 4_000_000
_RATIO = 16
"""Maximum expansion of compressed JSON beyond ``_SMALL`` bytes; ``compressed`` stays within it."""


def compressed(data: bytes) -> bytes:
    """Compress data, but not more than ``decompressed`` accepts."""
    packed = zlib.compress(data, 6)
    return packed if len(data) <= _limit(len(packed)) else zlib.compress(data, 0)


def decompressed(data: bytes) -> bytes:
    """Undo ``compressed``, with memory bounded by the size of the input."""
    limit = _limit(len(data))
    stream = zlib.decompressobj()
    content = stream.decompress(data, limit + 1)
    if len(content) > limit:
        raise ValueError(f"{len(data)} bytes expand to more than {limit}")
    if not stream.eof:
        raise ValueError("the compressed data is cut off")
    return content


def _limit(size: int) -> int:
    return max(_SMALL, _RATIO * size)


def conforms(value: Any, hint: Any, place: str) -> None:
    """Raise ``ValueError`` unless a value has a type: numbers, strings, containers, dataclasses and named tuples."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if not any(_matches(value, option, place) for option in get_args(hint)):
            raise _wrong(value, hint, place)
    elif hint is None or hint is type(None):
        if value is not None:
            raise _wrong(value, hint, place)
    elif hint is int:
        if type(value) is not int or abs(value) > _MOST:
            raise _wrong(value, hint, place)
    elif hint is float:
        if type(value) not in (int, float) or not math.isfinite(value):
            raise _wrong(value, hint, place)
    elif hint in (str, bool):
        if type(value) is not hint:
            raise _wrong(value, hint, place)
    elif origin in (tuple, list, frozenset, set):
        _container(value, origin, get_args(hint), place)
    elif origin in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise _wrong(value, hint, place)
        of_key, of_value = get_args(hint)
        for key, item in value.items():
            conforms(key, of_key, place)
            conforms(item, of_value, f"{place}/{key}"[:80])
    elif isinstance(hint, type) and issubclass(hint, Enum):
        if not isinstance(value, hint):
            raise _wrong(value, hint, place)
    elif is_dataclass(hint) or hasattr(hint, "_fields"):
        if type(value) is not hint:
            raise _wrong(value, hint, place)
        hints = get_type_hints(hint)
        names = [field.name for field in fields(hint)] if is_dataclass(hint) else hint._fields
        for name in names:
            conforms(getattr(value, name), hints[name], f"{place}/{name}")
    else:
        raise TypeError(f"values of type {hint} can't be checked")


def _container(value: Any, kind: Any, arguments: tuple[Any, ...], place: str) -> None:
    if not isinstance(value, kind):
        raise _wrong(value, kind, place)
    if kind is tuple and arguments[-1:] != (...,):
        if len(value) != len(arguments):
            raise _wrong(value, kind, place)
        for number, (item, hint) in enumerate(zip(value, arguments, strict=True)):
            conforms(item, hint, f"{place}/{number}")
    else:
        for item in value:
            conforms(item, arguments[0], place)


def _matches(value: Any, hint: Any, place: str) -> bool:
    try:
        conforms(value, hint, place)
    except ValueError:
        return False
    return True


def _wrong(value: Any, hint: Any, place: str) -> ValueError:
    wanted = getattr(hint, "__name__", str(hint))
    return ValueError(f"{place}: {value!r:.40} is not of type {wanted}")


_TOP: dict[str, Any] = {
    "splitter": str,
    "options": dict[str, str | int | bool | None],
    "window": dict[str, list[int] | int],
    "mentions": int,
    "participants": dict[str, int],
    "next_id": int,
    "open": str,
    "pending": dict[str, str | int],
    "speaker": str | None,
    "flushed": bool,
}
_LIVE_AND_GONE = ("live", "evicted")


def check_fields(saved: Any) -> Mapping[str, Any]:
    """The JSON of a save, checked for types and consistency as far as that is independent of the model."""
    if not isinstance(saved, dict):
        raise ValueError("it holds no JSON object")
    for name, hint in _TOP.items():
        conforms(saved[name], hint, name)
    tokens, sentences, turn, speaker = _sequence(saved["reading"], "reading", 4)
    for number in (tokens, sentences, turn, saved["mentions"]):
        _natural(number, "reading")
    conforms(speaker, str | None, "reading")
    ids = set()
    for name in _LIVE_AND_GONE:
        for entity in _sequence(saved[name], name):
            ids.add(_entity_id(entity[0], name))
    if len({entity[0] for entity in saved["live"]}) != len(saved["live"]):
        raise ValueError("live: an entity is listed twice")
    if any(int(id) >= saved["next_id"] for id in ids):
        raise ValueError("next_id: an entity has this number or a higher one")
    conforms(saved.get("language"), list[int] | None, "language")
    for count in _sequence(saved.get("language") or [0] * 4, "language", 4):
        _natural(count, "language")
    for id, name, kind, speaker, sentence in saved["evicted"]:
        conforms((id, name, kind, speaker, sentence), tuple[str, str | None, str | None, str | None, int], "evicted")
    for id, name, kind, speaker in saved.get("views", ()):
        conforms((id, name, kind, speaker), tuple[str, str | None, str | None, str | None], "views")
    if any(not 0 <= row < len(saved["live"]) for row in saved["participants"].values()):
        raise ValueError("participants: there is no such entity")
    _check_lines(saved, ids, tokens)
    return saved


def _check_lines(saved: Mapping[str, Any], ids: set[str], tokens: int) -> None:
    """Check that sentences are in order and mention known entities, and check the text after them."""
    number, first, place = _sequence(saved["start"], "start", 3)
    for value in (number, first, place):
        _natural(value, "start")
    lines = _sequence(saved["lines"], "lines")
    for index, line in enumerate((*lines, *_sequence(saved["waiting"], "waiting"))):
        where = f"sentence {number + index}"
        before, text, gaps, speaker, id, time, warnings, mentions = _sequence(line, where, 8)
        conforms((before, text, speaker), tuple[str, str, str | None], where)
        for given in (id, time):
            conforms(given, str | int | float | None, where)
        conforms(warnings, list[str], where)
        _check_bounds(gaps, len(text), where)
        words = len(gaps) // 2
        for mention in _sequence(mentions, where):
            _check_mention(mention, words, ids, where)
        first += words
        place += len(before) + len(text)
        if index < len(lines) and index == len(lines) - 1 and first != tokens:
            raise ValueError(f"{where}: it ends with token {first}, but {tokens} have been read")
    pending = saved["pending"]
    conforms((pending["text"], pending["offset"], pending["column"]), tuple[str, int, int], "pending")
    _natural(pending["column"], "pending")
    whole = place + len(saved["open"])
    if pending["offset"] + len(pending["text"]) != whole or not saved["open"].endswith(pending["text"]):
        raise ValueError("pending: it is not the end of the text")


def _check_bounds(gaps: Any, length: int, where: str) -> None:
    conforms(gaps, list[int], where)
    place = 0
    for index, gap in enumerate(gaps):
        place += gap
        if gap < 0 or (index % 2 and not gap) or place > length:
            raise ValueError(f"{where}: its words are not in order")
    if len(gaps) % 2:
        raise ValueError(f"{where}: a word has no end")


def _check_mention(mention: Any, words: int, ids: set[str], where: str) -> None:
    first, end, entity, new, confidence, mention_confidence, *rest = _sequence(mention, where)
    conforms((first, end, new), tuple[int, int, bool], where)
    _probability(confidence, where)
    _probability(mention_confidence, where)
    others, *text = rest or [[]]
    conforms(text, list[str], where)
    if len(text) > 1 or entity not in ids or not 0 <= first < end or first >= words or (end > words and not text):
        raise ValueError(f"{where}: a mention is not in its place, or of no entity")
    for other in _sequence(others, where):
        id, probability = _sequence(other, where, 2)
        if id is not None:
            _entity_id(id, where)
        _probability(probability, where)


def _sequence(value: Any, place: str, length: int | None = None) -> Sequence[Any]:
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise ValueError(f"{place}: {value!r:.40} is not a list{'' if length is None else f' of {length}'}")
    return value


def _natural(value: Any, place: str) -> None:
    conforms(value, int, place)
    if value < 0:
        raise ValueError(f"{place}: {value} is less than 0")


def _probability(value: Any, place: str) -> None:
    conforms(value, float, place)
    if not 0 <= value <= 1:
        raise ValueError(f"{place}: {value} is not a probability")


def _entity_id(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value.isascii() or not value.isdecimal() or len(value) > 15:
        raise ValueError(f"{place}: {value!r:.40} is not the id of an entity")
    return value
