"""A pair feature: one object that assigns every mention–entity pair to one of a few classes.

A feature declares its classes and the per-entity state it keeps (``fields``), updates that state when a mention joins
an entity (``update``), and classifies a mention against all entities at once (``classify``). Everything else follows
from the registry: state columns, saving and merging, the classes for batched training, the order of a model's tables
and the table in the documentation. To add a feature, write one file with a ``PairFeature`` and ``register`` it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from incoref.model.features.fields import EntityState, Field, Number, SpeakerName, WordSet, WordSetList
from incoref.model.features.mention import MentionFacts

Ints = npt.NDArray[np.int64]


class States(Protocol):
    """The states of the entities that a mention is classified against."""

    @property
    def mentions(self) -> Any:
        """The mention's index: how many mentions came before it."""
        ...

    def __getitem__(self, field: Number | SpeakerName) -> Ints:
        """Return the field's value for every entity; speakers as their numbers."""
        ...


class WordStates(States, Protocol):
    """The states of all entities of a text, with look-ups by word and by speaker."""

    def __len__(self) -> int: ...

    def with_word(self, field: WordSet | WordSetList, word: str) -> frozenset[int]:
        """Return the entities that have this word."""
        ...

    def with_any(self, field: WordSet | WordSetList, words: Sequence[str] | frozenset[str]) -> list[int]:
        """Return the entities that have any of these words."""
        ...

    def word_sets(self, field: WordSetList, entity: int) -> tuple[frozenset[str], ...]: ...

    def speaker_number(self, name: str) -> int:
        """Return the speaker's number in columns; ``STRANGER`` for one not seen so far."""
        ...

    def speakers_called(self, words: frozenset[str]) -> list[int]:
        """Return the numbers of the speakers whose names contain any of these words."""
        ...


NOBODY, STRANGER = -1, -2
"""Speaker numbers: no speaker, and a speaker unrelated to any entity."""


class ChangingEntity(Protocol):
    """The state of one entity while a mention joins it. Columns of all entities still show the previous state."""

    def __getitem__(self, field: Number) -> int: ...

    def __setitem__(self, field: Field[Any], value: int | str | None) -> None: ...

    def add(self, field: WordSet | WordSetList, value: Any) -> None:
        """Add a string to a set, or a set of words to a list of them."""
        ...


class PairFeature:
    """Base class of pair features. The defaults suit a feature without state whose class 0 means "no information"."""

    name: ClassVar[str]
    description: ClassVar[str]
    """One line for the table in the documentation."""
    classes: ClassVar[Sequence[str]]
    """The names of its classes, by number."""
    fields: ClassVar[Sequence[Field[Any]]] = ()
    """The state that this feature maintains; it may also read the state of other features."""
    elementwise: ClassVar[bool] = False
    """Whether ``classify`` is element-wise NumPy code on numbers: training then calls it once for all pairs of a
    text, with arrays in place of the mention's numbers."""
    prior: ClassVar[npt.NDArray[np.float32] | None] = None
    """Constants added to a pair's score, by class, on top of what the model has learned."""

    def applies(self, mention: MentionFacts) -> bool:
        """Whether the mention needs to be classified at all; if not, its class is 0 for all entities."""
        return True

    def classify(self, mention: Any, states: Any) -> npt.NDArray[Any]:
        """Return the class of the mention against every entity, (entities,)."""
        raise NotImplementedError

    def update(self, entity: ChangingEntity, mention: MentionFacts, states: WordStates) -> None:
        """Update the state of the entity that the mention joins."""

    def update_name(self, entity: ChangingEntity, name: MentionFacts) -> None:
        """Update the state of an entity that the caller named, without a mention."""

    def trim(self, state: EntityState, names: int) -> dict[Field[Any], Any]:
        """Return changes that cut the state of an entity known by too many names down to at most ``names``."""
        return {}


REGISTRY: dict[str, PairFeature] = {}
"""All features by name, in the order that models have them in by default."""


def register(feature: PairFeature) -> PairFeature:
    if REGISTRY.get(feature.name, feature) is not feature:
        raise ValueError(f"there is already a pair feature named '{feature.name}'")
    taken = {field.name for known in REGISTRY.values() if known is not feature for field in known.fields}
    clash = taken & {field.name for field in feature.fields}
    if clash:
        raise ValueError(f"feature '{feature.name}': another feature already keeps {', '.join(sorted(clash))}")
    REGISTRY[feature.name] = feature
    return feature


def unregister(feature: PairFeature) -> None:
    del REGISTRY[feature.name]


def class_counts() -> dict[str, int]:
    """Return the number of classes of each registered feature."""
    return {name: len(feature.classes) for name, feature in REGISTRY.items()}
