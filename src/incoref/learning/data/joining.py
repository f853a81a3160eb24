"""Parts of a text that a model labelled one by one, put together: entities that have a name in common are the same.

A model that reads a whole book puts more and more into a few entities; one that reads a part at a time doesn't, but
knows nobody from the part before. Names tell: the entity that a name mostly means in one part is the one that it
mostly means in the next. What has no name stays apart.
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
"""The share of a name's mentions that the entity must have whose name it is."""
_LONGEST = 4
"""Words of a name; longer ones are descriptions with a name in them."""

Names = Sequence[Counter[str]]
"""How often each entity is called by each of its names."""


def names_in(document: Document, entity_of: Sequence[Sequence[tuple[int, int]]]) -> list[Counter[str]]:
    """How often each entity, given by the half-open spans of its mentions, is called by which name."""
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
    """The entities of each part as numbers that hold in all of them, in order of first appearance."""
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
    """The entity that a name mostly means."""
    for entity, count in entities.most_common(1):
        if count >= _MOSTLY * entities.total():
            return entity
    return None


def joined(parts: Sequence[Decisions], numbers: Sequence[Sequence[int]]) -> Decisions:
    """The decisions of all parts, whose entities have these numbers in the whole text.

    Where the first mention of an entity in a part was a new entity to the model, it is a link if the entity is known.
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
