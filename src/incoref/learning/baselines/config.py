"""Settings of the baselines that the paper compares with; the defaults are those of their authors."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ONTONOTES_GENRES = ("bc", "bn", "mz", "nw", "pt", "tc", "wb")


class BaselineConfig(BaseModel):
    """Settings shared by all systems."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dropout: float = Field(0.3, ge=0, lt=1, description="Dropout in the scorers.")
    segment: int = Field(512, gt=2, description="Sub-words per segment; the encoder reads each segment alone.")


class _SpanSystem(BaselineConfig):
    """Settings shared by the systems with the span scorer."""

    hidden: int = Field(3000, gt=0, description="Hidden size of the scorers.")
    feature: int = Field(20, gt=0, description="Size of a feature's embedding.")
    widest: int = Field(30, gt=0, description="Maximum span width in sub-words.")
    ratio: float = Field(0.4, gt=0, description="Spans kept, relative to the number of sub-words.")
    genres: tuple[str, ...] = Field(ONTONOTES_GENRES, description="Known genres; any other counts as the first.")


class C2FConfig(_SpanSystem):
    """Coarse-to-fine span ranking (Lee et al. 2018; Joshi et al. 2019, 2020)."""

    most_spans: int = Field(3900, gt=0, description="Maximum number of spans kept.")
    antecedents: int = Field(50, gt=0, description="Antecedents per span in the fine scoring.")
    segments: int = Field(
        11, gt=0, description="Maximum segments of a training document; longer ones are cut at random."
    )
    attended: bool = Field(False, description="Refine span vectors by attention over antecedents, and score again.")
    loss: Literal["marginalized", "hinge"] = Field(
        "marginalized", description="Marginal likelihood of antecedents, or hinge loss: marginalized or hinge."
    )
    mention_loss: float = Field(0.0, ge=0, description="Weight of the mention-score loss.")
    false_new: float = Field(1.5, description="Hinge loss: cost of wrongly starting an entity.")


class S2EConfig(BaselineConfig):
    """Start-to-end: no span vectors (Kirstain et al. 2021)."""

    hidden: int = Field(3072, gt=0, description="Size of the start and end vectors.")
    widest: int = Field(30, gt=0, description="Maximum span width in sub-words.")
    ratio: float = Field(0.4, gt=0, description="Spans kept, relative to the number of sub-words.")
    normalise: bool = Field(True, description="Divide the loss by the number of spans kept.")


class ICorefConfig(_SpanSystem):
    """Incremental clustering, segment by segment (Xia et al. 2020)."""

    sentences: bool = Field(False, description="ICoref-inc: make every sentence a segment.")
    width_classes: int = Field(30, gt=0, description="Number of width classes.")
    evict: int | None = Field(
        600, gt=0, description="Sub-words after which a singleton entity is evicted; twice as many for others."
    )
    mentions: bool = Field(False, description="Drop spans with a mention score of 0 or less.")
    singletons: bool = Field(False, description="Also output entities with one mention.")
    threshold: float = Field(0.0, description="Score of a new entity.")
    teacher_forcing: bool = Field(False, description="Follow the gold decision wherever the model links.")
    finetune: bool = Field(True, description="Also train the encoder; the authors train only the rest.")


class LongdocConfig(_SpanSystem):
    """Incremental clustering with bounded memory (Toshniwal et al. 2020)."""

    ratio: float = Field(0.3, gt=0, description="Spans kept, relative to the number of sub-words.")
    memory: Literal["unbounded", "unbounded-no-ignore", "learned", "lru"] = Field(
        "unbounded", description="Which entities are kept: all, or as many as there are cells."
    )
    cells: int = Field(20, gt=0, description="Entities tracked at once in bounded memory.")
    overlap: bool = Field(True, description="Let encoder windows overlap by half; otherwise they are independent.")
    entity: Literal["mean", "learned"] = Field("mean", description="How a mention updates an entity's vector.")
    use_genre: bool = Field(True, description="Use the genre as a feature.")
    singletons: bool = Field(False, description="Also output entities with one mention.")
    new_weight: float = Field(1.0, gt=0, description="Weight of a new entity in the clustering loss.")
    memory_loss: float = Field(1.0, ge=0, description="Weight of the loss for keeping, overwriting and ignoring.")
    sample_invalid: float = Field(0.25, ge=0, le=1, description="Share of the kept non-mentions to train on.")


class CorefQAConfig(BaselineConfig):
    """Coreference as question answering (Wu et al. 2020)."""

    hidden: int = Field(1000, gt=0, description="Hidden size of the scorers.")
    widest: int = Field(10, gt=0, description="Maximum span width in sub-words.")
    ratio: float = Field(0.2, gt=0, description="Mentions proposed, relative to the number of sub-words.")
    answers: int = Field(50, gt=0, description="Answers kept per question.")
    context: int = Field(256, gt=2, description="Sub-words per passage that a question is asked about.")
    questions: int = Field(12, gt=1, description="Questions per training document.")
    weight: float = Field(0.5, ge=0, le=1, description="Share of the reverse question in a pair's score.")
    mention_weight: float = Field(0.2, ge=0, le=1, description="Weight of the mention scores in a pair's score.")


BASELINES: dict[str, type[BaselineConfig]] = {
    "c2f": C2FConfig,
    "s2e": S2EConfig,
    "icoref": ICorefConfig,
    "longdoc": LongdocConfig,
    "corefqa": CorefQAConfig,
}
"""The settings class of each baseline, by kind."""
