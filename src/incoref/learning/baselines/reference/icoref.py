"""Check ICoref against the output of pitrack/incremental-coref."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from incoref.errors import FormatError
from incoref.learning.baselines.config import ICorefConfig
from incoref.learning.baselines.icoref import Entity, Guidance, ICoref, Segment, Step
from incoref.learning.baselines.pieces import Pieces, Window, encode
from incoref.learning.baselines.reference.weights import (
    Names,
    ReferenceModel,
    by_group,
    gradient_norms,
    load,
    new_encoder,
    read_config,
)
from incoref.learning.reference_outputs import Outputs, Reference, numbers, read_json, read_outputs

NAMES = Names(
    encoder="encoder.model.",
    modules={
        "genre_embedder.genre_emb": "genre.weight",
        "span_scorer.span_width_embeddings": "span_scorer.width.weight",
        "span_scorer.span_width_prior_embeddings": "span_scorer.width_prior.weight",
        "span_scorer.attnProjection.output_layer": "span_scorer.attention",
        "span_scorer.spanFFNN.layers.0": "span_scorer.score.hidden",
        "span_scorer.spanFFNN.projection": "span_scorer.score.output",
        "span_scorer.widthFFNN.layers.0": "span_scorer.width_score.hidden",
        "span_scorer.widthFFNN.projection": "span_scorer.width_score.output",
        "pair_scorer.same_speaker_emb": None,
        "pair_scorer.antecedent_distance_emb": "distance.weight",
        "pair_scorer.segment_distance_emb": "segment_distance.weight",
        "pair_scorer.slow_antecedent_scores.layers.0": "pair_score.hidden",
        "pair_scorer.slow_antecedent_scores.projection": "pair_score.output",
        "mlp.layers.0": "interpolation.hidden",
        "mlp.projection": "interpolation.output",
    },
    constants=("threshold",),
)


def read_reference(folder: Path) -> Reference:
    """Read a folder of the program's outputs."""
    exact, clip = _read_model(folder)
    rough = copy.deepcopy(exact).float()
    described = read_json(folder / "documents.json")
    genres = exact.system.config.genres
    documents = [_document(each, number, folder, genres) for number, each in enumerate(described)]
    expected = read_outputs(folder / "expected.json", len(documents))

    def outputs(model: ReferenceModel[ICoref], number: int) -> Outputs:
        return _outputs(model, documents[number], folder, clip)

    return Reference(expected, lambda n: outputs(exact, n), lambda n: outputs(rough, n), folder / "expected.json")


def _read_model(folder: Path) -> tuple[ReferenceModel[ICoref], float]:
    """Load the model and the gradient-clipping norm."""
    described, path = read_config(folder), folder / "config.json"
    try:
        evict = described["evict_fn"]
        if evict and evict["name"] not in ("trunc_linscale", "none", None):
            raise FormatError(f"the eviction rule {evict['name']} is not implemented", path=path)
        config = ICorefConfig(
            dropout=described["dropout"],
            hidden=described["spans"]["output_size"],
            feature=described["spans"]["feature_size"],
            widest=described["max_span_width"],
            width_classes=described["spans"]["span_width_buckets"],
            ratio=described["top_span_ratio"],
            genres=tuple(described["genres"]),
            evict=evict["distance"] if evict and evict["name"] == "trunc_linscale" else None,
            threshold=described["threshold"],
            mentions=described["mentions"],
            singletons=described["singleton_eval"],
        )
        encoder = new_encoder(described["encoder"])
        clip: float = described["max_grad_norm"]
    except KeyError as error:
        raise FormatError(f"the field {error} is missing", path=path) from error
    model = ReferenceModel(encoder, ICoref(config, encoder.sizes.width))
    load(model, folder, NAMES)
    return model.eval(), clip


def _document(described: Mapping[str, Any], number: int, folder: Path, genres: tuple[str, ...]) -> Pieces:
    try:
        rows, length = described["input_ids"], len(described["sentence_map"])
        clusters = described["subtoken_clusters"]
        genre = described["genre"]
        return Pieces(
            windows=tuple(Window(tuple(ids), 0, len(ids)) for ids in rows),
            sentence=tuple(described["sentence_map"]),
            segment=tuple(number for number, ids in enumerate(rows) for _ in ids),
            speaker=(0,) * length,
            word=tuple(described["subtoken_map"]),
            genre=genres.index(genre) if genre in genres else 0,
            clusters=tuple(tuple((first, last) for first, last in cluster) for cluster in clusters),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"document {number} is not complete: {error!r}", path=folder / "documents.json") from error


def _outputs(model: ReferenceModel[ICoref], document: Pieces, folder: Path, clip: float) -> dict[str, Any]:
    gold = document.gold
    with torch.no_grad():
        segments = _read(model, document, Guidance(gold))
        of_gold = _read(model, document, Guidance(gold, gold_mentions=True))

    def trained(guidance: Guidance, **how: Any) -> dict[str, Any]:
        loss, norms = _train(model, document, guidance, folder, **how)
        return {"loss": loss, "gradient_norms": {"per_parameter": norms, "per_group": by_group(norms)}}

    def trained_on_gold(teacher_forcing: bool) -> dict[str, Any]:
        guidance = Guidance(gold, learning=True, gold_mentions=True, teacher_forcing=teacher_forcing)
        loss, norms = _train(model, document, guidance, folder)
        return {"loss": loss, "gradient_norms": by_group(norms)}

    memory, learning = segments[-1].memory, Guidance(gold, learning=True)
    return {
        "segments": [
            {
                **_segment(segment),
                "candidate_starts": segment.candidates.first.tolist(),
                "candidate_ends": segment.candidates.last.tolist(),
                "candidate_mention_scores": numbers(segment.mention_scores),
                "kept_by_score": segment.kept.tolist(),
                "token_embeddings": numbers(pieces),
            }
            for segment, pieces in zip(segments, _pieces(model, document), strict=True)
        ],
        "evaluation_loss": sum(segment.loss.item() for segment in segments),
        "predicted_clusters": model.system.clusters(memory),
        "all_clusters": memory.clusters,
        "memory": {
            "active": [_entity(entity) for entity in memory.active],
            "evicted": [_entity(entity) for entity in memory.evicted],
        },
        "gold_mentions": {
            "segments": [_segment(segment) for segment in of_gold],
            "evaluation_loss": sum(segment.loss.item() for segment in of_gold),
            "predicted_clusters": model.system.clusters(of_gold[-1].memory),
            "all_clusters": of_gold[-1].memory.clusters,
            "training": {"own_decisions": trained_on_gold(False), "teacher_forced": trained_on_gold(True)},
        },
        "training": {
            "frozen_encoder": trained(learning),
            "finetuned_encoder": trained(learning, finetune=True),
            "frozen_encoder_clipped": trained(learning, clip=clip),
        },
    }


def _pieces(model: ReferenceModel[ICoref], document: Pieces) -> list[torch.Tensor]:
    vectors = model.vectors(document)
    return [vectors[start:end] for start, end in document.segment_bounds()]


def _read(model: ReferenceModel[ICoref], document: Pieces, guidance: Guidance) -> list[Segment]:
    """Read all segments of a document."""
    return list(model.system.segments(lambda windows: encode(model.encoder, windows), document, guidance))


def _train(
    model: ReferenceModel[ICoref],
    document: Pieces,
    guidance: Guidance,
    folder: Path,
    *,
    finetune: bool = False,
    clip: float | None = None,
) -> tuple[float, dict[str, float]]:
    """Return the loss and its gradient norms; with ``clip``, gradients are clipped after every segment."""
    model.zero_grad()

    def encoded(windows: Sequence[Window]) -> torch.Tensor:
        vectors = encode(model.encoder, windows)
        return vectors if finetune else vectors.detach()

    total = 0.0
    for segment in model.system.segments(encoded, document, guidance, detach=True):
        loss = segment.loss
        total += loss.item()
        if loss.requires_grad:
            loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    return total, gradient_norms(model, folder, NAMES, encoder=finetune)


def _segment(segment: Segment) -> dict[str, Any]:
    memory = segment.memory
    return {
        "start_index": segment.start,
        "num_tokens": segment.length,
        "steps": [_step(step) for step in segment.steps],
        "after_eviction": {
            "active": [entity.spans for entity in memory.active],
            "evicted": [entity.spans for entity in memory.evicted],
            "active_norms": [entity.vector.norm().item() for entity in memory.active],
        },
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "span": step.span,
        "mention_score": step.mention_score.item(),
        "gold_cluster_ids": step.gold,
        "chosen": step.choice,
        "skipped": False,
        "update_alpha": None if step.interpolation is None else numbers(step.interpolation),
        "scores": None if step.scores is None else numbers(step.scores),
        "loss": None if step.loss is None else step.loss.item(),
        "cluster_norms": [entity.vector.norm().item() for entity in step.memory.active],
    }


def _entity(entity: Entity) -> dict[str, Any]:
    return {
        "spans": entity.spans,
        "embedding": numbers(entity.vector),
        "mean_mention_score": entity.mention_score,
    }
