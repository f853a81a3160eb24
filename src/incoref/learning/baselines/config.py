"""Settings of the systems that the paper compares with; the defaults are their authors'."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

ONTONOTES_GENRES = ("bc", "bn", "mz", "nw", "pt", "tc", "wb")


class BaselineConfig(BaseModel):
    """What all systems have in common."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dropout: float = Field(0.3, ge=0, lt=1, description="Dropout in the scorers.")
    segment: int = Field(512, gt=2, description="Pieces in a segment, which the encoder reads on its own.")


class _SpanSystem(BaselineConfig):
    """What the systems with the shared span scorer have in common."""

    hidden: int = Field(3000, gt=0, description="Hidden layer of the scorers.")
    feature: int = Field(20, gt=0, description="Size of a feature's embedding.")
    widest: int = Field(30, gt=0, description="Pieces of the widest span.")
    ratio: float = Field(0.4, gt=0, description="Spans kept, as a share of the pieces.")
    genres: tuple[str, ...] = Field(ONTONOTES_GENRES, description="Genres that it knows; others count as the first.")


class C2FConfig(_SpanSystem):
    """Coarse-to-fine span ranking (Lee et al. 2018; Joshi et al. 2019, 2020)."""

    most_spans: int = Field(3900, gt=0, description="Spans kept, at most.")
    antecedents: int = Field(50, gt=0, description="Antecedents per span that are scored finely.")
    segments: int = Field(
        11, gt=0, description="Segments of a training document, at most: longer ones are cut at random."
    )
    attended: bool = Field(False, description="Refine span vectors by their antecedents, and score once more.")
    loss: Literal["marginalized", "hinge"] = "marginalized"
    mention_loss: float = Field(0.0, ge=0, description="Weight of the mention scores' own loss.")
    false_new: float = Field(1.5, description="Hinge loss: cost of a span that wrongly starts an entity.")


class S2EConfig(BaselineConfig):
    """Start-to-end: no span vectors (Kirstain et al. 2021)."""

    hidden: int = Field(3072, gt=0, description="Size of the vectors of starts and ends.")
    widest: int = Field(30, gt=0, description="Pieces of the widest span.")
    ratio: float = Field(0.4, gt=0, description="Spans kept, as a share of the pieces.")
    normalise: bool = Field(True, description="Divide the loss by the number of spans kept.")


class ICorefConfig(_SpanSystem):
    """Incremental clustering, segment by segment (Xia et al. 2020)."""

    sentences: bool = Field(False, description="ICoref-inc: every sentence is a segment.")
    width_classes: int = Field(30, gt=0, description="Rows of the width tables.")
    evict: int | None = Field(
        600, gt=0, description="Pieces after which an entity of one mention leaves, twice as many for others."
    )
    mentions: bool = Field(False, description="Leave out spans with a mention score of 0 or less.")
    singletons: bool = Field(False, description="Output entities of one mention, too.")
    threshold: float = Field(0.0, description="Score of a new entity.")
    teacher_forcing: bool = Field(False, description="Take the gold decision where the model links.")
    finetune: bool = Field(True, description="Train the encoder, too; the authors train the rest alone.")


class LongdocConfig(_SpanSystem):
    """Incremental clustering with bounded memory (Toshniwal et al. 2020)."""

    ratio: float = Field(0.3, gt=0, description="Spans kept, as a share of the pieces.")
    memory: Literal["unbounded", "unbounded-no-ignore", "learned", "lru"] = Field(
        "unbounded", description="Which entities stay: all, or as many as there are cells."
    )
    cells: int = Field(20, gt=0, description="Entities tracked at once in bounded memory.")
    overlap: bool = Field(True, description="Encoder windows overlap by half; else they are read on their own.")
    entity: Literal["mean", "learned"] = Field("mean", description="How a mention changes an entity's vector.")
    use_genre: bool = Field(True, description="Genre as a feature.")
    singletons: bool = Field(False, description="Output entities of one mention, too.")
    new_weight: float = Field(1.0, gt=0, description="Weight of a new entity in the clustering loss.")
    memory_loss: float = Field(1.0, ge=0, description="Weight of the loss of keeping, overwriting and ignoring.")
    sample_invalid: float = Field(
        0.25, ge=0, le=1, description="Share of the kept spans that are no mentions to learn from."
    )


class CorefQAConfig(BaselineConfig):
    """Coreference as question answering (Wu et al. 2020)."""

    hidden: int = Field(1000, gt=0, description="Hidden layer of the scorers.")
    widest: int = Field(10, gt=0, description="Pieces of the widest span.")
    ratio: float = Field(0.2, gt=0, description="Mentions proposed, as a share of the pieces.")
    answers: int = Field(50, gt=0, description="Answers kept per question.")
    context: int = Field(256, gt=2, description="Pieces of a passage that a question is asked of.")
    questions: int = Field(12, gt=1, description="Questions asked of a document in training.")
    weight: float = Field(0.5, ge=0, le=1, description="Share of the question asked the other way round.")
    mention_weight: float = Field(0.2, ge=0, description="Weight of the mention scores in a pair's score.")


BASELINES: dict[str, type[BaselineConfig]] = {
    "c2f": C2FConfig,
    "s2e": S2EConfig,
    "icoref": ICorefConfig,
    "longdoc": LongdocConfig,
    "corefqa": CorefQAConfig,
}
"""The settings of each system, by the name of its kind."""
