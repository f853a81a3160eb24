"""The configuration of the paper's model: its mode, its encoder setting, its sizes.

``mode`` is the one field that chooses between the paper's text and the authors' program; what it changes is listed,
difference by difference, in docs/paper-and-reference.md. This module knows no tensors.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from incoref.model.transitions import Action


class Mode(StrEnum):
    """Which of the two descriptions of the model to follow where they differ."""

    PAPER = "paper"
    REFERENCE = "reference"


class Setting(StrEnum):
    """What the encoder reads at once."""

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

    mode: Mode = Field(Mode.PAPER, description="the paper's text, or the authors' program")
    setting: Setting = Field(Setting.SENT_INC, description="what the encoder reads at once")
    k: int = Field(1, ge=1, description="sentences that the encoder reads at once in the k-sentence setting")
    window: int = Field(512, ge=1, description="tokens that the encoder sees at once, active and cached")
    cache: int | None = Field(
        None,
        ge=0,
        description="cached tokens before each sentence or segment; empty: what the window leaves "
        "(part-inc: none). The authors' Sent-Inc model has 384",
    )
    backprop_sentences: int = Field(32, ge=1, description="sentences after which gradients are cut (not in part-inc)")
    stack_size: int = Field(200, ge=1, description="hidden size of the Stack-LSTM")
    history_size: int = Field(30, ge=1, description="hidden size of the action-history LSTM")
    action_size: int | None = Field(
        None, ge=1, description="size of an action's embedding; empty: 20 (paper), that of the history (reference)"
    )
    feature_size: int = Field(20, ge=1, description="size of a feature's embedding")
    detector_hidden: int = Field(1000, ge=1, description="hidden layer of the action scorer f_M")
    clusterer_hidden: int = Field(3000, ge=1, description="hidden layer of the cluster scorer f_C")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout in f_M and f_C")
    genres: tuple[str, ...] = Field(ONTONOTES_GENRES, min_length=1, description="names of the genres")
    max_width: int = Field(30, ge=1, description="classes of span widths")
    max_speakers: int = Field(20, ge=1, description="classes of speakers; all later ones share the last")
    use_speakers: bool = Field(True, description="whether a span's vector has a speaker embedding")
    max_count: int = Field(10, ge=2, description="classes of the number of mentions in an entity")
    max_distance: int = Field(10, ge=2, description="classes of the number of mentions since an entity's last one")
    new_score: float = Field(0.0, description="α, the score of founding an entity")
    action_weights: tuple[float, ...] = Field(
        (1.0,) * len(Action),
        min_length=len(Action),
        max_length=len(Action),
        description="weights of ADVANCE, PUSH, POP, PEEK in the loss (without effect in reference mode)",
    )
    xlnet: dict[str, Any] = Field(
        default_factory=lambda: dict(XLNET_BASE), description="sizes of the encoder, as transformers' XLNetConfig"
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
        """The reference has one more, for the empty stack."""
        return self.max_width + 1 if self.reference else self.max_width


def inverse_frequency(counts: tuple[int, ...]) -> tuple[float, ...]:
    """Weights w_a = N / (4·N_a) from how often each action occurs; one that never does weighs nothing."""
    total = sum(counts)
    return tuple(total / (len(counts) * count) if count else 0.0 for count in counts)
