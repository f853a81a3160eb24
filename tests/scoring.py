"""Action scores without a network: scripted or random."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from incoref.model.transitions import Action


class ScriptedScoring:
    """Prefers the scripted actions for each token, else ADVANCE; records every call."""

    def __init__(self, script: Mapping[int, Sequence[Action]]) -> None:
        self._left = {position: list(preferred) for position, preferred in script.items()}
        self.scored: list[tuple[int, int | None]] = []
        self.actions: list[tuple[int, Action]] = []

    def scores(self, position: int, top: int | None) -> list[float]:
        self.scored.append((position, top))
        scores = [0.0] * len(Action)
        scores[Action.ADVANCE] = 1.0
        for preferred in self._left.get(position, [])[:1]:
            scores[preferred] = 2.0
        return scores

    def taken(self, position: int, action: Action) -> None:
        self.actions.append((position, action))
        if self._left.get(position):
            self._left[position].pop(0)


class RandomScoring:
    """Random scores, reproducible by seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def scores(self, position: int, top: int | None) -> list[float]:
        return [self._draw.gauss(0, 3) for _ in Action]

    def taken(self, position: int, action: Action) -> None:
        pass
