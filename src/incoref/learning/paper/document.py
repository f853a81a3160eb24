"""A document as input to the paper's model: ids of sub-words, speakers and genre, and gold actions if known.

Token positions in mentions and actions count buffer tokens from the start of the document. Independent of the
tokenizer and of torch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from incoref.learning.paper.chunks import Batch, plan
from incoref.learning.paper.config import PaperConfig
from incoref.model.transitions import EFFECTS, Action, Span, derivable, oracle

NO_SPEAKER = 1
"""Speaker number of ``<cls>`` and ``<sep>``; actual speakers are numbered from 2 in order of appearance."""


@dataclass(frozen=True)
class PaperDocument:
    """Sentences of sub-words, and which of the sub-words are buffer tokens."""

    sentences: tuple[tuple[int, ...], ...]
    """Encoder input ids of each sentence (in reference Part-Inc: of each segment)."""
    speakers: tuple[tuple[int, ...], ...]
    """Speaker of each buffer token."""
    genre: int
    buffer: tuple[tuple[int, ...], ...] | None = None
    """Positions of the buffer tokens in each sentence, in order; None: all."""
    actions: tuple[Action, ...] = ()
    """The gold derivation of the whole document."""
    entity_of: tuple[int, ...] = ()
    """Gold entity of each mention, in derivation order; entities are numbered by their first mention."""
    name: str = ""

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Number of encoder tokens in each sentence."""
        return tuple(len(sentence) for sentence in self.sentences)

    @cached_property
    def buffer_lengths(self) -> tuple[int, ...]:
        """Number of buffer tokens in each sentence."""
        return tuple(len(speakers) for speakers in self.speakers)

    def buffer_of(self, batch: Batch) -> list[int]:
        """Return the positions of the batch's buffer tokens among its encoder tokens."""
        places: list[int] = []
        offset = 0
        for i in range(batch.first, batch.end):
            inside = range(self.lengths[i]) if self.buffer is None else self.buffer[i]
            places += [offset + position for position in inside]
            offset += self.lengths[i]
        return places

    def ids_of(self, first: int, end: int) -> list[int]:
        """Return the encoder input ids of sentences ``first`` up to but not including ``end``."""
        return [sub_word for sentence in self.sentences[first:end] for sub_word in sentence]

    def speakers_of(self, batch: Batch) -> list[int]:
        return [speaker for sentence in self.speakers[batch.first : batch.end] for speaker in sentence]

    def chunk_lengths(self, batch: Batch) -> list[int]:
        """Return the number of buffer tokens in each chunk."""
        return [sum(self.buffer_lengths[first:end]) for first, end in batch.chunks]


def stretches(length: int, config: PaperConfig) -> tuple[int, ...]:
    """Divide a chunk into stretches whose ends no mention may cross.

    In reference mode, which treats either of a chunk's last two tokens as its last, the final ``<sep>`` is a stretch
    of its own.
    """
    return (length - 1, 1) if config.reference and length > 1 else (length,)


def split_actions(actions: Sequence[Action], lengths: Sequence[int]) -> list[tuple[Action, ...]]:
    """Split a derivation into the derivations of consecutive stretches with these lengths in tokens."""
    parts = []
    at = 0
    for length in lengths:
        start = at
        while length:
            if at == len(actions):
                raise ValueError("the derivation ends before its tokens do")
            length -= EFFECTS[actions[at]].advances
            at += 1
        parts.append(tuple(actions[start:at]))
    if at != len(actions):
        raise ValueError("the derivation goes on after its last token")
    return parts


def with_gold(
    document: PaperDocument, mentions: Mapping[Span, int], config: PaperConfig
) -> tuple[PaperDocument, tuple[Span, ...]]:
    """Return the document with the gold derivation of its mentions, and the mentions that it can't derive.

    ``mentions`` maps spans of buffer tokens, both ends inclusive, to arbitrary entity numbers.
    """
    actions: list[Action] = []
    entities: list[int] = []
    kept: set[Span] = set()
    left = deque(sorted(mentions))
    offset = 0
    for batch in plan(document.lengths, config):
        for chunk in document.chunk_lengths(batch):
            for length in stretches(chunk, config):
                inside = []
                while left and left[0][0] < offset + length:
                    first, last = left.popleft()
                    inside.append((first - offset, last - offset))
                spans = derivable(inside, length).kept
                actions += oracle(spans, length)
                placed = [(first + offset, last + offset) for first, last in spans]
                kept.update(placed)
                entities += [mentions[span] for span in placed]
                offset += length
    gold = replace(document, actions=tuple(actions), entity_of=number_entities(entities))
    return gold, tuple(sorted(set(mentions) - kept))


def number_entities(entities: Sequence[int]) -> tuple[int, ...]:
    """Renumber entities by their first mention."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(entity, len(numbers)) for entity in entities)
