"""Scores of actions without weights: from a script, or at random."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from incoref.model.transitions import Action


class ScriptedScoring:
    """Wants a script's actions, token by token, and otherwise to advance; remembers what it was asked and told."""

    def __init__(self, script: Mapping[int, Sequence[Action]]) -> None:
        self._left = {position: list(wanted) for position, wanted in script.items()}
        self.asked: list[tuple[int, int | None]] = []
        self.told: list[tuple[int, Action]] = []

    def scores(self, position: int, top: int | None) -> list[float]:
        self.asked.append((position, top))
        scores = [0.0] * len(Action)
        scores[Action.ADVANCE] = 1.0
        for wanted in self._left.get(position, [])[:1]:
            scores[wanted] = 2.0
        return scores

    def taken(self, position: int, action: Action) -> None:
        self.told.append((position, action))
        if self._left.get(position):
            self._left[position].pop(0)


class RandomScoring:
    """Any scores at all, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def scores(self, position: int, top: int | None) -> list[float]:
        return [self._draw.gauss(0, 3) for _ in Action]

    def taken(self, position: int, action: Action) -> None:
        pass
