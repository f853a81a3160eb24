"""The kinds of per-entity state that features can keep (fields), and a single entity's state as a value.

A field defines its default, how the values of two merged entities combine, and its JSON form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

Value = TypeVar("Value")
Merge = Callable[["EntityState", "EntityState", "Field[Value]"], Value]
"""Combines a field's values when two entities are merged."""


class Field(Generic[Value]):
    """One piece of per-entity state; ``merge`` combines its values when two entities become one."""

    def __init__(self, name: str, default: Value, merge: Merge[Value]) -> None:
        self.name, self.default, self.merge = name, default, merge

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def to_json(self, value: Value) -> Any:
        return value

    def from_json(self, data: Any) -> Value:
        raise NotImplementedError


class Number(Field[int]):
    """An integer per entity, kept as a NumPy column over all entities."""

    def __init__(self, name: str, default: int, merge: Merge[int], values: int | None = None) -> None:
        """With ``values``, it is less than that and not negative, so that it can be looked up in a table."""
        super().__init__(name, default, merge)
        self.values = values

    def from_json(self, data: Any) -> int:
        if type(data) is not int or abs(data) > 2**53:
            raise ValueError(f"{self.name} must be an integer, not {data!r}")
        if self.values is not None and not 0 <= data < self.values:
            raise ValueError(f"{self.name} must be from 0 to {self.values - 1}, not {data}")
        return data


class SpeakerName(Field[str | None]):
    """A speaker per entity, or None, kept as a column of speaker numbers."""

    def __init__(self, name: str, merge: Merge[str | None]) -> None:
        super().__init__(name, None, merge)

    def from_json(self, data: Any) -> str | None:
        if not (data is None or isinstance(data, str)):
            raise ValueError(f"{self.name} must be a speaker's name or null, not {data!r}")
        return data


class WordSet(Field[frozenset[str]]):
    """A set of strings per entity, indexed by string."""

    def __init__(self, name: str) -> None:
        super().__init__(name, frozenset(), union)

    def to_json(self, value: frozenset[str]) -> list[str]:
        return sorted(value)

    def from_json(self, data: Any) -> frozenset[str]:
        return frozenset(_strings(self.name, data))


class WordSetList(Field[tuple[frozenset[str], ...]]):
    """A list of distinct sets of words per entity, indexed by word."""

    def __init__(self, name: str) -> None:
        super().__init__(name, (), _joined)

    def to_json(self, value: tuple[frozenset[str], ...]) -> list[list[str]]:
        return [sorted(words) for words in value]

    def from_json(self, data: Any) -> tuple[frozenset[str], ...]:
        if not isinstance(data, list):
            raise ValueError(f"{self.name} must be a list of lists of words, not {data!r}")
        return tuple(frozenset(_strings(self.name, words)) for words in data)


def _strings(name: str, data: Any) -> list[str]:
    if not (isinstance(data, list) and all(isinstance(word, str) for word in data)):
        raise ValueError(f"{name} must be a list of words, not {data!r}")
    return data


class EntityState:
    """What the features know about one entity: a value per field. Immutable."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[Field[Any], Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, field: Field[Value]) -> Value:
        return cast(Value, self._values.get(field, field.default))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EntityState) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"EntityState({ {field.name: value for field, value in self._values.items()} })"

    def with_values(self, values: Mapping[Field[Any], Any]) -> EntityState:
        return EntityState({**self._values, **values})

    def merged(self, other: EntityState) -> EntityState:
        """Return the merged state of two entities."""
        return EntityState({field: field.merge(self, other, field) for field in self._values})


# Ways to merge


def total(one: EntityState, other: EntityState, field: Field[int]) -> int:
    return one[field] + other[field]


def highest(one: EntityState, other: EntityState, field: Field[int]) -> int:
    return max(one[field], other[field])


def union(one: EntityState, other: EntityState, field: Field[Any]) -> Any:
    """The union of two sets, or of the bits of two numbers."""
    return one[field] | other[field]


def _joined(
    one: EntityState, other: EntityState, field: Field[tuple[frozenset[str], ...]]
) -> tuple[frozenset[str], ...]:
    return tuple(dict.fromkeys((*one[field], *other[field])))
