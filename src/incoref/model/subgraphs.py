"""Cuts a graph of independent products into graphs with one product each, without the package ``onnx``.

ONNX files are protocol buffers, and this reads as little of them as it needs: a message is a sequence of fields, each
a key (its number and how it is stored) and a value, and messages inside it are values with a length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

_GRAPH = 7
"""The model's field with its graph."""
_NODE, _CONSTANT, _INPUT, _OUTPUT = 1, 5, 11, 12
"""The graph's fields that differ between its parts."""
_NODE_OUTPUT, _CONSTANT_NAME, _VALUE_NAME = 2, 8, 1
"""The fields of these that name them."""


class _Field(NamedTuple):
    number: int
    value: memoryview
    """Its bytes, if it has a length."""
    whole: memoryview
    """All of it, with its key."""


def product_names(model: bytes) -> list[str]:
    """Return the names of the graph's outputs."""
    return [_name(field.value, _VALUE_NAME) for field in _fields(_graph(model)) if field.number == _OUTPUT]


def alone(model: bytes, name: str, rows: str) -> bytes:
    """Return the model with this output alone, its node, its input ``rows``, and constants named after it."""
    kept: dict[int, tuple[int, Callable[[str], bool]]] = {
        _NODE: (_NODE_OUTPUT, lambda other: other == name),
        _OUTPUT: (_VALUE_NAME, lambda other: other == name),
        _INPUT: (_VALUE_NAME, lambda other: other == rows),
        _CONSTANT: (_CONSTANT_NAME, lambda other: other != rows and other.startswith(f"{name}.")),
    }
    parts = []
    for field in _fields(_graph(model)):
        names, wanted = kept.get(field.number, (0, None))
        if wanted is None or wanted(_name(field.value, names)):
            parts.append(field.whole)
    graph = b"".join(parts)
    rest = [field.whole for field in _fields(memoryview(model)) if field.number != _GRAPH]
    return b"".join((*rest, _varint(_GRAPH << 3 | 2), _varint(len(graph)), graph))


def _graph(model: bytes) -> memoryview:
    return next(field.value for field in _fields(memoryview(model)) if field.number == _GRAPH)


def _name(message: memoryview, number: int) -> str:
    return next((str(field.value, "utf-8") for field in _fields(message) if field.number == number), "")


def _fields(message: memoryview) -> Iterator[_Field]:
    place = 0
    while place < len(message):
        start = place
        key, place = _number(message, place)
        first = place
        match key & 7:
            case 0:
                _, place = _number(message, place)
            case 1:
                place += 8
            case 2:
                length, first = _number(message, place)
                place = first + length
            case 5:
                place += 4
            case other:
                raise ValueError(f"not an ONNX file: no field is stored in the way {other}")
        if place > len(message):
            raise ValueError("not an ONNX file: it ends inside a field")
        yield _Field(key >> 3, message[first:place], message[start:place])


def _number(message: memoryview, place: int) -> tuple[int, int]:
    """Read a number in groups of seven bits, lowest first; return it and the place after it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place


def _varint(number: int) -> bytes:
    groups = bytearray()
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    groups.append(number)
    return bytes(groups)
