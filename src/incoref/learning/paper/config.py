"""The configuration of the paper's model: mode, encoder setting and sizes.

``mode`` alone chooses between the paper's text and the authors' program; docs/paper-and-reference.md lists the
differences. Free of torch.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from incoref.model.transitions import Action


class Mode(StrEnum):
    """Which description of the model to follow where the two differ."""

    PAPER = "paper"
    REFERENCE = "reference"


class Setting(StrEnum):
    """What the encoder reads at a time."""

    SENT_INC = "sent-inc"
    K_SENTENCE = "k-sentence"
    PART_INC = "part-inc"


ONTONOTES_GENRES = ("bc", "bn", "mz", "nw", "pt", "tc", "wb")

XLNET_BASE: dict[str, Any] = {
    "vocab_size": 32000,
    "d_model": 768,
    "n_layer": 12,
    "n_head": 12,
    "d_inner": 3072,
    "dropout": 0.1,
}


class PaperConfig(BaseModel):
    """The defaults are the paper's own sizes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Mode = Field(Mode.PAPER, description="Follow the paper's text (paper) or the authors' program (reference)")
    setting: Setting = Field(
        Setting.SENT_INC, description="What the encoder reads at a time: sent-inc, k-sentence or part-inc"
    )
    k: int = Field(1, ge=1, description="Sentences per block in the k-sentence setting")
    window: int = Field(512, ge=1, description="Tokens that the encoder sees at a time, active and cached")
    cache: int | None = Field(
        None,
        ge=0,
        description="Cached tokens before a sentence or segment. Default: what the window leaves (part-inc: none). "
        "The authors' Sent-Inc model has 384",
    )
    backprop_sentences: int = Field(32, ge=1, description="Sentences after which gradients are cut (not in part-inc)")
    stack_size: int = Field(200, ge=1, description="Hidden size of the Stack-LSTM")
    history_size: int = Field(30, ge=1, description="Hidden size of the action-history LSTM")
    action_size: int | None = Field(
        None, ge=1, description="Size of an action's embedding. Default: 20 (paper), history_size (reference)"
    )
    feature_size: int = Field(20, ge=1, description="Size of a feature's embedding")
    detector_hidden: int = Field(1000, ge=1, description="Hidden size of the action scorer f_M")
    clusterer_hidden: int = Field(3000, ge=1, description="Hidden size of the cluster scorer f_C")
    dropout: float = Field(0.3, ge=0, lt=1, description="Dropout in f_M and f_C")
    genres: tuple[str, ...] = Field(ONTONOTES_GENRES, min_length=1, description="Names of the genres")
    max_width: int = Field(30, ge=1, description="Number of span-width classes")
    max_speakers: int = Field(20, ge=1, description="Number of speaker classes; all later speakers share the last")
    use_speakers: bool = Field(True, description="Add a speaker embedding to span vectors")
    max_count: int = Field(10, ge=2, description="Number of classes for an entity's mention count")
    max_distance: int = Field(10, ge=2, description="Number of classes for the mentions since an entity's last one")
    new_score: float = Field(0.0, description="α, the score of a new entity")
    action_weights: tuple[float, ...] = Field(
        (1.0,) * len(Action),
        min_length=len(Action),
        max_length=len(Action),
        description="Weights of ADVANCE, PUSH, POP, PEEK in the loss (no effect in reference mode)",
    )
    xlnet: dict[str, Any] = Field(
        default_factory=lambda: dict(XLNET_BASE), description="Sizes of the encoder, as in transformers' XLNetConfig"
    )

    @property
    def reference(self) -> bool:
        return self.mode is Mode.REFERENCE

    @property
    def embedded_action_size(self) -> int:
        if self.action_size is not None:
            return self.action_size
        return self.history_size if self.reference else 20

    @property
    def width_classes(self) -> int:
        """Number of width classes; reference mode has one more, for the empty stack."""
        return self.max_width + 1 if self.reference else self.max_width


def inverse_frequency(counts: tuple[int, ...]) -> tuple[float, ...]:
    """Return weights w_a = N / (4·N_a) from action counts N_a with sum N; 0 for an action that never occurs."""
    total = sum(counts)
    return tuple(total / (len(counts) * count) if count else 0.0 for count in counts)
