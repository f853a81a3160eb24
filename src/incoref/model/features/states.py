"""The feature state of all entities of a text: columns of numbers, and indexes by word.

The only implementation, shared by training, evaluation and run time. Independent of vectors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from incoref.model.features.base import NOBODY, REGISTRY, STRANGER, Ints
from incoref.model.features.fields import EntityState, Field, Number, SpeakerName, WordSet, WordSetList
from incoref.model.features.mention import MentionFacts, name_words

Index = dict[str, frozenset[int]]
"""Entities (or speakers) by word."""


class _Fields:
    """The fields of some features, by kind, with the column of each number."""

    def __init__(self, fields: Iterable[Field[Any]]) -> None:
        self.all = tuple(fields)
        columns = [field for field in self.all if isinstance(field, Number | SpeakerName)]
        self.place: dict[Field[Any], int] = {field: place for place, field in enumerate(columns)}
        self.numbers = [(field, self.place[field]) for field in columns if isinstance(field, Number)]
        self.speakers = [(field, self.place[field]) for field in columns if isinstance(field, SpeakerName)]
        self.speaker_places = [place for _, place in self.speakers]
        self.word_sets = [field for field in self.all if isinstance(field, WordSet)]
        self.word_set_lists = [field for field in self.all if isinstance(field, WordSetList)]
        defaults = [field.default if isinstance(field, Number) else NOBODY for field in columns]
        self.new_entity: Ints = np.array(defaults, np.int64)[:, None]


@lru_cache(maxsize=8)
def _fields_of(features: tuple[str, ...]) -> _Fields:
    return _Fields(field for name in features for field in REGISTRY[name].fields)


class EntityStates:
    """The state of all entities of a text, in order of creation; grows with ``add``, and ``copy`` is cheap.

    Keeps the state of all registered features, whichever of them a model uses.
    """

    def __init__(self) -> None:
        self._fields = _fields_of(tuple(REGISTRY))
        self.columns: Ints = np.zeros((len(self._fields.place), 0), np.int64)
        """The numbers of every entity, (columns, entities)."""
        self._mentions = 0
        indexed: list[Field[Any]] = [*self._fields.word_sets, *self._fields.word_set_lists]
        self._indexes: dict[Field[Any], Index] = {field: {} for field in indexed}
        self._lists: dict[Field[Any], list[tuple[frozenset[str], ...]]] = {
            field: [] for field in self._fields.word_set_lists
        }
        self._speakers: dict[str, int] = {}
        self._speaker_words: Index = {}

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    # What features read

    def __getitem__(self, field: Number | SpeakerName) -> Ints:
        """Return the field's value for every entity; speakers as their numbers."""
        column: Ints = self.columns[self._fields.place[field]]
        return column

    @property
    def mentions(self) -> int:
        """How many mentions have been added, including those of removed entities."""
        return self._mentions

    def with_word(self, field: WordSet | WordSetList, word: str) -> frozenset[int]:
        return self._indexes[field].get(word, frozenset())

    def with_any(self, field: WordSet | WordSetList, words: Iterable[str]) -> list[int]:
        return _under_any(self._indexes[field], words)

    def word_sets(self, field: WordSetList, entity: int) -> tuple[frozenset[str], ...]:
        return self._lists[field][entity]

    def speaker_number(self, name: str) -> int:
        return self._speakers.get(name, STRANGER)

    def speakers_called(self, words: Iterable[str]) -> list[int]:
        return _under_any(self._speaker_words, words)

    def speaker_name(self, field: SpeakerName, entity: int) -> str | None:
        number = self[field][entity]
        return next((name for name, other in self._speakers.items() if other == number), None)

    def classes(self, mention: MentionFacts, features: Sequence[str] | None = None) -> Ints:
        """Return the mention's classes against every entity, (features, entities); by default, of all features."""
        features = tuple(REGISTRY) if features is None else features
        classes = np.zeros((len(features), len(self)), np.int64)
        for row, name in zip(classes, features, strict=True):
            feature = REGISTRY[name]
            if feature.applies(mention):
                row[:] = feature.classify(mention, self)
        return classes

    # Changes

    def add(self, mention: MentionFacts, entity: int) -> None:
        """Add the mention to the entity; a number one past the last creates a new entity."""
        if entity == len(self):
            self._append()
        changing = _ChangingEntity(self, entity)
        for feature in REGISTRY.values():
            feature.update(changing, mention, self)
        changing.commit()
        self._mentions += 1

    def named(self, entity: int, name: MentionFacts) -> EntityStates:
        """Return a copy in which the entity also has this name."""
        twin = self.copy()
        changing = _ChangingEntity(twin, entity)
        for feature in REGISTRY.values():
            feature.update_name(changing, name)
        changing.commit()
        return twin

    def with_value(self, entity: int, field: Field[Any], value: int | str | None) -> EntityStates:
        """Return a copy with one field of one entity changed."""
        twin = self.copy()
        changing = _ChangingEntity(twin, entity)
        changing[field] = value
        changing.commit()
        return twin

    def without_speaker(self, name: str) -> EntityStates:
        """Return a copy that has forgotten a speaker, as if their lines had no known speaker."""
        fields = [field for field, _ in self._fields.speakers]
        rows = [row.with_values({field: None for field in fields if row[field] == name}) for row in self.rows()]
        return EntityStates.of(rows, self._mentions)

    def kept(self, entities: Sequence[int]) -> EntityStates:
        """Return only these entities, renumbered in this order; equals ``of`` with their rows, but is faster."""
        place = {entity: row for row, entity in enumerate(entities)}

        def left(index: Index) -> Index:
            pairs = ((key, [place[e] for e in entities_with if e in place]) for key, entities_with in index.items())
            return {key: _set_of(renumbered) for key, renumbered in pairs if renumbered}

        twin = EntityStates()
        twin._mentions = self._mentions
        twin.columns = self.columns[:, list(entities)]
        twin._indexes = {field: left(index) for field, index in self._indexes.items()}
        twin._lists = {field: [values[e] for e in entities] for field, values in self._lists.items()}
        speakers = twin.columns[self._fields.speaker_places]
        needed = set(speakers.ravel().tolist())
        renumbered = np.full(len(self._speakers) + 1, NOBODY)  # the last one for NOBODY
        for name, number in self._speakers.items():
            if number in needed:
                renumbered[number] = twin._numbered(name)
        twin.columns[self._fields.speaker_places] = renumbered[speakers]
        return twin

    def trimmed(self, names: int) -> EntityStates:
        """Return the states without data that grows with the text even if the number of entities doesn't.

        An entity known by more than twice ``names`` names keeps ``names`` of them. If there are many speakers, only
        those that an entity refers to stay.
        """
        if len(self._speakers) > 4 * len(self) + names:
            return self.kept(range(len(self))).trimmed(names)
        if all(max(map(len, values), default=0) <= 2 * names for values in self._lists.values()):
            return self
        crowded = {
            entity
            for values in self._lists.values()
            for entity, word_sets in enumerate(values)
            if len(word_sets) > 2 * names
        }
        rows = self.rows()
        for entity in crowded:
            for feature in REGISTRY.values():
                rows[entity] = rows[entity].with_values(feature.trim(rows[entity], names))
        return EntityStates.of(rows, self._mentions)

    @classmethod
    def of_one(cls, mentions: Iterable[tuple[int, MentionFacts, bool]]) -> EntityState:
        """Return one entity's state from mentions: each has its number in the text, and whether it is the entity's.

        Mentions of other entities matter to features that ask what else has been mentioned.
        """
        states, places = cls(), dict[bool, int]()
        for number, facts, mine in mentions:
            states._mentions = number
            states.add(facts, places.setdefault(mine, len(places)))
        return states.rows()[places[True]]

    def merged(self, one: int, other: int) -> EntityStates:
        """Return a copy in which ``one`` has absorbed the state of ``other``, which stays."""
        rows = self.rows()
        rows[one] = rows[one].merged(rows[other])
        return EntityStates.of(rows, self._mentions)

    # Copies and rows

    def copy(self) -> EntityStates:
        twin = EntityStates.__new__(EntityStates)
        twin._fields, twin._mentions = self._fields, self._mentions
        twin.columns = self.columns.copy()
        twin._indexes = {field: index.copy() for field, index in self._indexes.items()}
        twin._lists = {field: values.copy() for field, values in self._lists.items()}
        twin._speakers, twin._speaker_words = self._speakers.copy(), self._speaker_words.copy()
        return twin

    @property
    def nbytes(self) -> int:
        """Approximate memory use in bytes; copies share strings and sets, but not the tables of them."""
        tables = (*self._indexes.values(), *self._lists.values(), self._speakers, self._speaker_words)
        return self.columns.nbytes + sum(map(sys.getsizeof, tables))

    @property
    def fields(self) -> tuple[Field[Any], ...]:
        return self._fields.all

    def rows(self) -> list[EntityState]:
        """Return the state of each entity as a value."""
        words: dict[Field[Any], list[set[str]]] = {
            field: [set() for _ in range(len(self))] for field in self._fields.word_sets
        }
        for field, sets in words.items():
            for key, entities in self._indexes[field].items():
                for entity in entities:
                    sets[entity].add(key)
        names = {NOBODY: None, **{number: name for name, number in self._speakers.items()}}
        return [
            EntityState(
                {
                    **{field: numbers[place] for field, place in self._fields.numbers},
                    **{field: names[numbers[place]] for field, place in self._fields.speakers},
                    **{field: frozenset(sets[entity]) for field, sets in words.items()},
                    **{field: values[entity] for field, values in self._lists.items()},
                }
            )
            for entity, numbers in enumerate(self.columns.T.tolist())
        ]

    @classmethod
    def of(cls, rows: Sequence[EntityState], mentions: int) -> EntityStates:
        """Build states from rows, after ``mentions`` mentions; speakers that no row refers to are forgotten."""
        states = cls()
        states._mentions = mentions
        fields = states._fields
        states.columns = np.zeros((len(fields.place), len(rows)), np.int64)
        for entity, row in enumerate(rows):
            for field, place in fields.numbers:
                states.columns[place, entity] = row[field]
            for speaker, place in fields.speakers:
                states.columns[place, entity] = states._numbered(row[speaker])
            for word_set in fields.word_sets:
                for word in row[word_set]:
                    _put(states._indexes[word_set], word, entity)
            for word_sets in fields.word_set_lists:
                states._lists[word_sets].append(row[word_sets])
                for word in frozenset[str]().union(*row[word_sets]):
                    _put(states._indexes[word_sets], word, entity)
        return states

    def _append(self) -> None:
        self.columns = np.concatenate((self.columns, self._fields.new_entity), axis=1)
        for values in self._lists.values():
            values.append(())

    def _numbered(self, speaker: str | None) -> int:
        if speaker is None:
            return NOBODY
        if speaker not in self._speakers:
            self._speakers[speaker] = len(self._speakers)
            for word in name_words(speaker):
                _put(self._speaker_words, word, self._speakers[speaker])
        return self._speakers[speaker]


class _ChangingEntity:
    """One entity being updated; numbers are written all at once, so columns show the previous state until then."""

    def __init__(self, states: EntityStates, entity: int) -> None:
        self._states, self._entity = states, entity
        self._place = states._fields.place
        self._row: list[int] = states.columns[:, entity].tolist()

    def __getitem__(self, field: Number) -> int:
        return self._row[self._place[field]]

    def __setitem__(self, field: Field[Any], value: int | str | None) -> None:
        number = self._states._numbered(value) if value is None or isinstance(value, str) else int(value)
        self._row[self._place[field]] = number

    def add(self, field: WordSet | WordSetList, value: Any) -> None:
        index = self._states._indexes[field]
        if isinstance(field, WordSet):
            _put(index, value, self._entity)
            return
        values = self._states._lists[field]
        if value not in values[self._entity]:
            values[self._entity] = (*values[self._entity], value)
            for word in value:
                _put(index, word, self._entity)

    def commit(self) -> None:
        self._states.columns[:, self._entity] = self._row


class PairStates:
    """Columns for the entities of many pairs, in place of all entities of one text."""

    def __init__(self, states: EntityStates, columns: Ints, mentions: Ints) -> None:
        self._place = states._fields.place
        self._columns, self.mentions = columns, mentions

    def __getitem__(self, field: Number | SpeakerName) -> Ints:
        column: Ints = self._columns[self._place[field]]
        return column


def _put(index: Index, key: str, entity: int) -> None:
    known = index.get(key)
    if known is None:
        index[key] = _set_of((entity,))
    elif entity not in known:
        index[key] = known | {entity}


def _under_any(index: Index, words: Iterable[str]) -> list[int]:
    return list(frozenset[int]().union(*(index.get(word, ()) for word in words)))


def _set_of(entities: Sequence[int]) -> frozenset[int]:
    return _alone(entities[0]) if len(entities) == 1 else frozenset(entities)


@lru_cache(maxsize=1 << 14)
def _alone(entity: int) -> frozenset[int]:
    """Return a shared singleton set: most words belong to one entity, and every kept state would hold its own."""
    return frozenset((entity,))
