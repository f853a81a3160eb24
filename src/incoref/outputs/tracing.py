"""Every step of the transition system as a row of the paper's table: action, stack, buffer, clusters.

From updates with a trace and the words of the text; the states between the actions are found by replaying them.
Knows no model and no terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from incoref.model.transitions import EFFECTS, Action
from incoref.session.updates import Update, mention_json
from incoref.types import Mention


@dataclass(frozen=True, slots=True)
class Row:
    """An action and the state after it."""

    step: int
    """Number of the action, from 1."""
    sentence: int
    action: str
    probability: float
    probabilities: tuple[tuple[str, float], ...]
    """Of all actions that were legal."""
    stack: tuple[str, ...]
    """Words at which open mentions start, the latest one last."""
    buffer: tuple[str, ...]
    """Words of the sentence that are still to be read."""
    clusters: tuple[tuple[str, tuple[str, ...]], ...]
    """Entities with a mention in this sentence so far: id and mentions."""
    mention: Mention | None = None
    """What the action found."""

    def to_json(self) -> dict[str, Any]:
        mention = self.mention
        return {
            "step": self.step,
            "sentence": self.sentence,
            "action": self.action,
            "probability": self.probability,
            "probabilities": dict(self.probabilities),
            "stack": list(self.stack),
            "buffer": list(self.buffer),
            "clusters": [{"entity": entity, "mentions": list(mentions)} for entity, mentions in self.clusters],
            "mention": None if mention is None else mention_json(mention),
        }


def rows(updates: Iterable[Update], words: Sequence[str]) -> Iterator[Row]:
    """All steps of these updates, which start with the text's first sentence and have a trace."""
    said: dict[str, tuple[str, ...]] = {}
    mention_at: dict[tuple[int, int], Mention] = {}
    stack: list[int] = []  # goes on from sentence to sentence where several are read at once
    step = 0
    for update in updates:
        mention_at.update({mention.tokens: mention for mention in update.mentions})
        here: dict[str, None] = {}
        end = update.trace[-1].token + 1 if update.trace else 0
        for taken in update.trace:
            step += 1
            mention = None if taken.mention is None else mention_at[taken.mention]
            effect = EFFECTS[Action[taken.action]]
            if effect.pops:
                stack.pop()
            if effect.pushes:
                stack.append(taken.token)
            if mention is not None:
                said[mention.entity] = (*said.get(mention.entity, ()), mention.text)
                here.setdefault(mention.entity)
            yield Row(
                step=step,
                sentence=update.sentence,
                action=taken.action,
                probability=dict(taken.probabilities)[taken.action],
                probabilities=taken.probabilities,
                stack=tuple(words[token] for token in stack),
                buffer=tuple(words[taken.token + effect.advances : end]),
                clusters=tuple((entity, said[entity]) for entity in here),
                mention=mention,
            )
