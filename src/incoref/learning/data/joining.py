"""Join parts of a text that a model labelled one by one, merging entities that have a name in common.

Over a whole book, a model puts more and more mentions into a few entities. Reading the book in parts avoids this, but
entities don't carry over from one part to the next. So entities are matched by name: the entity that a name mostly
refers to in one part is the one that it mostly refers to in the next. Entities without a name stay separate.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from incoref.learning.data.decisions import NEW, Decisions
from incoref.model.features import facts_of
from incoref.text.english import TITLES
from incoref.types import Document

_MOSTLY = 0.7
"""The least share of a name's mentions that its entity must have."""
_LONGEST = 4
"""Most words in a name; longer ones are descriptions that contain a name."""

Names = Sequence[Counter[str]]
"""For each entity, how often each of its names is used."""


def names_in(document: Document, entity_of: Sequence[Sequence[tuple[int, int]]]) -> list[Counter[str]]:
    """Count the names of each entity, given the half-open spans of its mentions."""
    words = [token.text for token in document.tokens]
    names_of_entities = []
    for spans in entity_of:
        names = Counter[str]()
        for start, end in spans:
            facts = facts_of(words[start:end], start, 0, 0, None)
            if facts.name and end - start <= _LONGEST and facts.content - TITLES == facts.name:
                names[facts.string] += 1
        names_of_entities.append(names)
    return names_of_entities


def same_entities(parts: Sequence[Names]) -> list[list[int]]:
    """Number the entities of each part consistently across all parts, in order of first appearance."""
    known: dict[str, Counter[int]] = defaultdict(Counter)
    numbers, total = [], 0
    for part in parts:
        here: dict[str, Counter[int]] = defaultdict(Counter)
        for entity, names in enumerate(part):
            for name, count in names.items():
                here[name][entity] += count
        votes = Counter[tuple[int, int]]()
        for name, owners in here.items():
            own, other = _owner(owners), _owner(known.get(name, Counter()))
            if own is not None and other is not None:
                votes[own, other] += owners[own]
        number: dict[int, int] = {}
        for (own, other), _ in votes.most_common():
            if own not in number and other not in number.values():
                number[own] = other
        for entity, names in enumerate(part):
            if entity not in number:
                number[entity] = total
                total += 1
            for name, count in names.items():
                known[name][number[entity]] += count
        numbers.append([number[entity] for entity in range(len(part))])
    return numbers


def _owner(entities: Counter[int]) -> int | None:
    """Return the entity that a name mostly refers to, if there is one."""
    for entity, count in entities.most_common(1):
        if count >= _MOSTLY * entities.total():
            return entity
    return None


def joined(parts: Sequence[Decisions], numbers: Sequence[Sequence[int]]) -> Decisions:
    """Join the decisions of all parts, whose entities have these numbers in the whole text.

    Where the model took an entity's first mention in a part for a new entity, it becomes a link if an earlier part
    has the entity.
    """
    founded: dict[int, int] = {}
    entity_of, counts, entities, shares = [], list[int](), list[int](), list[float]()
    for part, number in zip(parts, numbers, strict=True):
        seen, place = set[int](), 0
        for entity, count in zip(part.entity_of.tolist(), part.choices.tolist(), strict=True):
            own = slice(place, place + count)
            place += count
            known = number[entity] in founded
            link = founded.setdefault(number[entity], len(founded))
            here: dict[int, float] = {}
            for other, share in zip(part.entities[own].tolist(), part.shares[own].tolist(), strict=True):
                if other != NEW:
                    choice = founded[number[other]]
                else:
                    choice = link if known and entity not in seen else NEW
                here[choice] = here.get(choice, 0.0) + share
            seen.add(entity)
            entity_of.append(link)
            counts.append(len(here))
            entities += here.keys()
            shares += here.values()
    return Decisions(
        scheme=parts[0].scheme,
        lengths=np.concatenate([part.lengths for part in parts]),
        steps=np.concatenate([part.steps for part in parts]),
        actions=np.concatenate([part.actions for part in parts]),
        probabilities=np.concatenate([part.probabilities for part in parts]),
        entity_of=np.array(entity_of, np.int64),
        types=tuple(type for part in parts for type in part.types),
        choices=np.array(counts, np.int64),
        entities=np.array(entities, np.int64),
        shares=np.array(shares, np.float32),
    )
