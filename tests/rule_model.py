"""A model with rule-based decisions, so that tests can predict its output; everything else in it is real.

Mentions are capitalised words, pronouns, and "the" with the next word. A mention joins the entity with an equal
mention; "I" joins the speaker's entity, and other pronouns the latest entity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from incoref.model.clusterer import Decision, EntityMemory, SpanVector
from incoref.model.features import MentionFacts, facts_of
from incoref.model.features.distance import LATEST
from incoref.model.features.match import STRINGS
from incoref.model.features.speaker import I_OF
from incoref.model.folder import Block, Model, ModelState, word_means
from incoref.model.step import BlockResult, FoundMention, Seen, after, quotations_of, turns
from incoref.model.subwords import joined

PRONOUNS = frozenset("i he him his she her it they them".split())
CONFIDENCE, MENTION_CONFIDENCE = 0.75, 0.5


class RuleModel(Model):
    @classmethod
    def like(cls, model: Model) -> RuleModel:
        """Create a rule model with the files of a real one."""
        return cls(model.folder, model.config, model.tokenizer, model.encoder, model.heads)

    def foreseen(self, blocks: Sequence[Block], classes: Mapping[str, int]) -> None:
        """Do nothing, as rules need no precomputation."""

    def step(
        self,
        block: Block,
        state: ModelState,
        classes: Mapping[str, int],
        seen: Seen | None = None,
        between: Callable[[], None] | None = None,
    ) -> tuple[ModelState, BlockResult]:
        subwords = joined([part for _, part in block])
        vectors, encoder = self.encoder.encode(subwords.ids, state.encoder)
        vectors = word_means(vectors, subwords)
        utterances = [utterance for utterance, _ in block]
        before, memory = state.reading, state.reading.memory.copy()
        turn_of = turns((utterance.speaker for utterance in utterances), before.turn, before.speaker)
        mentions, place = [], 0
        for number, (words, speaker) in enumerate(utterances):
            for first, end in _spans(words):
                start = before.tokens + place + first
                facts = facts_of(words[first:end], start, before.sentences + number, turn_of[number], speaker)
                vector = self.heads.clusters.spans(vectors, [(place + first, place + end - 1)])[0]
                decision = self._decide(memory, vector, facts, classes)
                mentions.append(
                    FoundMention(
                        first=start,
                        last=start + end - first - 1,
                        sentence=facts.sentence,
                        entity=decision.entity,
                        new=decision.new,
                        confidence=float(decision.probabilities[decision.entity]),
                        mention_confidence=MENTION_CONFIDENCE,
                        decision=decision,
                    )
                )
            place += len(words)
        reading = after(before, utterances, memory, quotations_of(utterances, before)[1])
        return ModelState(reading, encoder), BlockResult(tuple(mentions), ())

    def _decide(
        self, memory: EntityMemory, vector: SpanVector, facts: MentionFacts, classes: Mapping[str, int]
    ) -> Decision:
        if facts.says_i and facts.speaker in memory.participants:
            return self.heads.clusters.assign(memory, vector, facts, self.heads.clusters.constant(classes))
        rows = memory.states.rows()
        if facts.says_i:
            same = [row for row, known in enumerate(rows) if facts.speaker and known[I_OF] == facts.speaker]
        elif facts.pronoun:
            same = sorted(range(len(rows)), key=lambda row: rows[row][LATEST])
        else:
            same = [row for row, known in enumerate(rows) if facts.string in known[STRINGS]]
        entity = same[-1] if same else len(rows)
        self.heads.clusters.add(memory, vector, facts, entity)
        probabilities = np.full(len(rows) + 1, (1 - CONFIDENCE) / max(1, len(rows)), np.float32)
        probabilities[entity] = CONFIDENCE
        return Decision(entity, entity == len(rows), probabilities)


def _spans(words: Sequence[str]) -> list[tuple[int, int]]:
    """Return mentions as half-open word ranges, ordered by end."""
    spans = []
    for place, word in enumerate(words):
        if place and words[place - 1].lower() == "the":
            spans.append((place - 1, place + 1))
        elif word.lower() in PRONOUNS or (word[0].isupper() and word != "The"):
            spans.append((place, place + 1))
    return spans
