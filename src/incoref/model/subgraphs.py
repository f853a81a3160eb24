"""Cuts a graph of independent products into graphs with one product each, without the package ``onnx``.

ONNX files are protocol buffers, and this reads as little of them as it needs: a message is a sequence of fields, each
a key (its number and how it is stored) and a value, and messages inside it are values with a length.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_GRAPH = 7
"""The model's field with its graph."""
_NODE, _CONSTANT, _INPUT, _OUTPUT = 1, 5, 11, 12
"""The graph's fields that differ between its parts."""
_NAME = {_CONSTANT: 8, _INPUT: 1, _OUTPUT: 1}
"""The fields of these with their names."""
_NODE_INPUT, _NODE_OUTPUT = 1, 2
_LENGTH = 2
"""How values with a length are stored."""


class _Field(NamedTuple):
    number: int
    value: memoryview
    """Its bytes, if it has a length."""
    whole: memoryview
    """All of it, with its key."""


def product_names(model: bytes) -> list[str]:
    """Return the names of the graph's outputs."""
    return [_name(field) for field in _fields(_graph(model)) if field.number == _OUTPUT]


def alone(model: bytes, name: str, rows: str) -> bytes:
    """Return the model with the output ``name`` alone, with its node, its input ``rows`` and its constants."""
    fields = list(_fields(_graph(model)))
    node = next(field for field in fields if field.number == _NODE and name in _texts(field.value, _NODE_OUTPUT))
    needed = {
        _NODE: {name},
        _OUTPUT: {name},
        _INPUT: {rows},
        _CONSTANT: set(_texts(node.value, _NODE_INPUT)) - {rows},
    }
    parts = [field.whole for field in fields if field.number not in needed or _name(field) in needed[field.number]]
    graph = b"".join(parts)
    rest = [field.whole for field in _fields(memoryview(model)) if field.number != _GRAPH]
    return b"".join((*rest, _varint(_GRAPH << 3 | _LENGTH), _varint(len(graph)), graph))


def _graph(model: bytes) -> memoryview:
    for field in _fields(memoryview(model)):
        if field.number == _GRAPH:
            return field.value
    raise ValueError("not an ONNX file: it has no graph")


def _name(field: _Field) -> str:
    """Return the name of an input, output or constant, or a node's first output."""
    return _texts(field.value, _NAME.get(field.number, _NODE_OUTPUT))[0]


def _texts(message: memoryview, number: int) -> list[str]:
    return [str(field.value, "utf-8") for field in _fields(message) if field.number == number]


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
