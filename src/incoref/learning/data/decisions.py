"""A model's decisions in a document, with their probabilities, for a smaller model to learn from.

Actions and links are those of the model's own derivation, so another model that follows the same derivation has a
distribution to learn at each step. Decisions are stored with their document, in its attribute ``decisions``, and are
cut together with it. T actions, M mentions, P choices, C sentences. Independent of weights.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from incoref.learning.data.derivation import Derivation, derive
from incoref.model.transitions import EFFECTS, Action

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
ATTRIBUTE = "decisions"
"""The document attribute that holds them, as JSON."""
NEW = -1
"""Stands for a new entity among a mention's choices."""
_EMITS = np.array([EFFECTS[action].emits for action in Action])
_STEPS = 255
"""Probabilities are stored as multiples of one over this."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions of one document, read sentence by sentence."""

    scheme: str
    lengths: Ints  # (C,) words in each sentence
    steps: Ints  # (C,) actions in each sentence
    actions: Ints  # (T,)
    probabilities: Floats  # (T, 4) of the actions; 0 where illegal
    entity_of: Ints  # (M,) entity of each mention, numbered in order of creation
    types: tuple[str | None, ...]  # (M,) entity type of each
    choices: Ints  # (M,) number of choices kept for each mention: the likeliest
    entities: Ints  # (P,) the entity of each choice, or NEW
    shares: Floats  # (P,) its probability; a mention's sum to one

    def derivation(self) -> Derivation:
        """Return the model's own derivation, sentence by sentence."""
        lengths, steps = self.lengths.tolist(), self.steps.tolist()
        chunks, place = [], 0
        for length, count in zip(lengths, steps, strict=True):
            chunks.append((length, [Action(action) for action in self.actions[place : place + count].tolist()]))
            place += count
        return derive(chunks)

    def between(self, start: int, end: int) -> Decisions:
        """Return the decisions of a range of sentences, as if read without the earlier ones.

        An entity that hasn't been mentioned in the range yet becomes a new one.
        """
        actions = _range(self.steps, start, end)
        mentions = slice(*(int(_EMITS[self.actions[:place]].sum()) for place in (actions.start, actions.stop)))
        choices = _range(self.choices, mentions.start, mentions.stop)
        number: dict[int, int] = {}
        entity_of, counts, entities, shares = [], [], list[int](), list[float]()
        place = choices.start
        for entity, count in zip(self.entity_of[mentions].tolist(), self.choices[mentions].tolist(), strict=True):
            known: dict[int, float] = {}
            for other, share in zip(
                self.entities[place : place + count].tolist(),
                self.shares[place : place + count].tolist(),
                strict=True,
            ):
                here = number.get(other, NEW)
                known[here] = known.get(here, 0.0) + share
            place += count
            entity_of.append(number.setdefault(entity, len(number)))
            counts.append(len(known))
            entities += known.keys()
            shares += known.values()
        return Decisions(
            scheme=self.scheme,
            lengths=self.lengths[start:end],
            steps=self.steps[start:end],
            actions=self.actions[actions],
            probabilities=self.probabilities[actions],
            entity_of=np.array(entity_of, np.int64),
            types=self.types[mentions],
            choices=np.array(counts, np.int64),
            entities=np.array(entities, np.int64),
            shares=np.array(shares, np.float32),
        )

    def to_attribute(self) -> str:
        """Encode as JSON, with arrays as compressed bytes."""
        names = list(dict.fromkeys(self.types))
        return json.dumps(
            {
                "scheme": self.scheme,
                "types": names,
                **{
                    name: _packed(values, kind)
                    for name, values, kind in (
                        ("lengths", self.lengths, "<i4"),
                        ("steps", self.steps, "<i4"),
                        ("actions", self.actions, "u1"),
                        ("probabilities", np.rint(self.probabilities * _STEPS), "u1"),
                        ("entity_of", self.entity_of, "<i4"),
                        ("type_of", np.array([names.index(type) for type in self.types], np.int64), "u1"),
                        ("choices", self.choices, "<i4"),
                        ("entities", self.entities, "<i4"),
                        ("shares", np.rint(self.shares * _STEPS), "u1"),
                    )
                },
            }
        )

    @classmethod
    def from_attribute(cls, attribute: str) -> Decisions:
        """Decode the output of ``to_attribute``, which is rounded; anything else is a ValueError."""
        try:
            data: dict[str, Any] = json.loads(attribute)
            names = data["types"]
            decisions = cls(
                scheme=data["scheme"],
                lengths=_unpacked(data["lengths"], "<i4"),
                steps=_unpacked(data["steps"], "<i4"),
                actions=_unpacked(data["actions"], "u1"),
                probabilities=_unpacked(data["probabilities"], "u1").reshape(-1, len(Action)).astype(np.float32),
                entity_of=_unpacked(data["entity_of"], "<i4"),
                types=tuple(names[type] for type in _unpacked(data["type_of"], "u1")),
                choices=_unpacked(data["choices"], "<i4"),
                entities=_unpacked(data["entities"], "<i4"),
                shares=_unpacked(data["shares"], "u1").astype(np.float32),
            )
            decisions._check()
        except (KeyError, IndexError, TypeError, binascii.Error, zlib.error) as error:
            raise ValueError(f"not a model's decisions: {error!r}") from error
        np.divide(
            decisions.probabilities, decisions.probabilities.sum(axis=1, keepdims=True), out=decisions.probabilities
        )
        mention = np.repeat(np.arange(len(decisions.choices)), decisions.choices)
        np.divide(
            decisions.shares,
            np.bincount(mention, decisions.shares)[mention],
            out=decisions.shares,
            casting="same_kind",
        )
        return decisions

    def _check(self) -> None:
        counts = (
            ("actions", len(self.actions), int(self.steps.sum())),
            ("probabilities", len(self.probabilities), len(self.actions)),
            ("sentences", len(self.steps), len(self.lengths)),
            ("mentions", int(_EMITS[self.actions].sum()), len(self.entity_of)),
            ("types", len(self.types), len(self.entity_of)),
            ("choices", int(self.choices.sum()), len(self.entities)),
            ("shares", len(self.shares), len(self.entities)),
        )
        for what, one, other in counts:
            if one != other:
                raise ValueError(f"not a model's decisions: {one} {what} where {other} are expected")
        if not (self.probabilities.sum(axis=1) > 0).all() or (self.choices < 1).any():
            raise ValueError("not a model's decisions: a step or a mention without a choice")


def choices_of(probabilities: Sequence[npt.NDArray[np.floating[Any]]], least: float) -> tuple[Ints, Ints, Floats]:
    """Select the likelier choices of mentions: how many each has, their entities, and their shares.

    Each mention's last choice is a new entity. Choices with a probability under ``least`` are left out, except the
    likeliest.
    """
    counts, entities, shares = [], list[Ints](), list[Floats]()
    for row in probabilities:
        kept = np.flatnonzero(row >= min(least, row.max()))
        counts.append(len(kept))
        entities.append(np.where(kept == len(row) - 1, NEW, kept))
        shares.append((row[kept] / row[kept].sum()).astype(np.float32))
    return (
        np.array(counts, np.int64),
        np.concatenate([np.zeros(0, np.int64), *entities]),
        np.concatenate([np.zeros(0, np.float32), *shares]),
    )


def _range(counts: Ints, start: int, end: int) -> slice:
    """Return the slice of items in groups ``start`` to ``end``, where ``counts`` are the sizes of the groups."""
    return slice(int(counts[:start].sum()), int(counts[:end].sum()))


def _packed(values: npt.NDArray[Any], kind: str) -> str:
    return base64.b64encode(zlib.compress(values.astype(kind).tobytes(), 9)).decode("ascii")


def _unpacked(text: str, kind: str) -> Ints:
    return np.frombuffer(zlib.decompress(base64.b64decode(text, validate=True)), kind).astype(np.int64)
