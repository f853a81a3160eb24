"""The steps of the transition system as rows of the paper's table: action, stack, buffer, clusters.

Computed from updates with a trace and the words of the text, by replaying the actions. Independent of the model and
the terminal.
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
    """Number of the action, starting at 1."""
    sentence: int
    action: str
    probability: float
    probabilities: tuple[tuple[str, float], ...]
    """Probabilities of all legal actions."""
    stack: tuple[str, ...]
    """Words at which open mentions start, most recent last."""
    buffer: tuple[str, ...]
    """Words of the sentence still to be read."""
    clusters: tuple[tuple[str, tuple[str, ...]], ...]
    """Entities with a mention in this sentence so far: id and mentions."""
    mention: Mention | None = None
    """The mention that the action completed, if any."""

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
    """Yield all steps of updates that have a trace and start with the text's first sentence."""
    said: dict[str, tuple[str, ...]] = {}
    mention_at: dict[tuple[int, int], Mention] = {}
    stack: list[int] = []  # carried over between sentences that are read together
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
