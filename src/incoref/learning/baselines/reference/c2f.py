"""Check c2f against the output of lxucs/coref-hoi."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from incoref.errors import FormatError
from incoref.learning.baselines.antecedents import gold_clusters
from incoref.learning.baselines.c2f import C2F, C2FScores
from incoref.learning.baselines.config import C2FConfig
from incoref.learning.baselines.pieces import Pieces, Window
from incoref.learning.baselines.reading import cut_segments
from incoref.learning.baselines.reference.weights import (
    Names,
    ReferenceModel,
    by_group,
    gradient_norms,
    load,
    new_encoder,
    norms,
    read_config,
    smallest,
)
from incoref.learning.reference_outputs import Outputs, Reference, numbers, read_json, read_outputs

NAMES = Names(
    encoder="bert.",
    modules={
        "emb_span_width": "span_scorer.width",
        "emb_span_width_prior": "span_scorer.width_prior",
        "mention_token_attn": "span_scorer.attention",
        "span_emb_score_ffnn.0": "span_scorer.score.hidden",
        "span_emb_score_ffnn.3": "span_scorer.score.output",
        "span_width_score_ffnn.0": "span_scorer.width_score.hidden",
        "span_width_score_ffnn.3": "span_scorer.width_score.output",
        "coarse_bilinear": "bilinear",
        "emb_antecedent_distance_prior": "distance_prior",
        "antecedent_distance_score_ffnn": "distance_score",
        "emb_same_speaker": "same_speaker",
        "emb_genre": "genre",
        "emb_segment_distance": "segment_distance",
        "emb_top_antecedent_distance": "distance",
        "coref_score_ffnn.0": "pair_score.hidden",
        "coref_score_ffnn.3": "pair_score.output",
        "gate_ffnn": "gate",
    },
)
_TRUNCATED = "truncated_from_segment_1"


def read_reference(folder: Path) -> Reference:
    """Read a folder of the program's outputs."""
    exact = _read_model(folder)
    rough = copy.deepcopy(exact).float()
    described = read_json(folder / "documents.json")
    documents = [_document(each, number, folder) for number, each in enumerate(described)]
    expected = read_outputs(folder / "expected.json", len(documents))

    def outputs(model: ReferenceModel[C2F], number: int) -> Outputs:
        ours = _outputs(model, documents[number], folder)
        if isinstance(expected[number], dict) and _TRUNCATED in expected[number]:
            ours[_TRUNCATED] = _truncated(model, documents[number], folder)
        return ours

    return Reference(expected, lambda n: outputs(exact, n), lambda n: outputs(rough, n), folder / "expected.json")


def _read_model(folder: Path) -> ReferenceModel[C2F]:
    described = read_config(folder)
    try:
        config = C2FConfig(
            dropout=described["dropout_rate"],
            segment=described["max_segment_len"],
            hidden=described["ffnn_size"],
            feature=described["feature_emb_size"],
            widest=described["max_span_width"],
            ratio=described["top_span_ratio"],
            genres=tuple(described["genres"]),
            most_spans=described["max_num_extracted_spans"],
            antecedents=described["max_top_antecedents"],
            segments=described["max_training_sentences"],
            attended=described["coref_depth"] > 1,
            loss=described["loss_type"],
            mention_loss=described["mention_loss_coef"],
            false_new=described["false_new_delta"],
        )
        encoder = new_encoder(described["encoder"])
    except KeyError as error:
        raise FormatError(f"the field {error} is missing", path=folder / "config.json") from error
    model = ReferenceModel(encoder, C2F(config, encoder.sizes.width))
    load(model, folder, NAMES)
    return model.eval()


def _document(described: Mapping[str, Any], number: int, folder: Path) -> Pieces:
    try:
        lengths = described["segment_lengths"]
        rows = list(zip(described["input_ids"], described["speaker_ids"], lengths, strict=True))
        return Pieces(
            windows=tuple(Window(tuple(ids[:length]), 0, length) for ids, _, length in rows),
            sentence=tuple(described["sentence_map"]),
            segment=tuple(number for number, length in enumerate(lengths) for _ in range(length)),
            speaker=tuple(speaker for _, speakers, length in rows for speaker in speakers[:length]),
            word=tuple(described["subtoken_map"]),
            genre=described["genre_id"],
            clusters=_clusters(described),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"document {number} is not complete: {error!r}", path=folder / "documents.json") from error


def _clusters(described: Mapping[str, Any]) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Group gold mentions into clusters by their ids, which start at 1."""
    ids = described["gold_cluster_ids"]
    clusters: list[list[tuple[int, int]]] = [[] for _ in range(max(ids, default=0))]
    for first, last, id in zip(described["gold_starts"], described["gold_ends"], ids, strict=True):
        clusters[id - 1].append((first, last))
    return tuple(map(tuple, clusters))


def _outputs(model: ReferenceModel[C2F], document: Pieces, folder: Path) -> dict[str, Any]:
    system = model.system
    pieces = model.vectors(document)
    scores = system(pieces, document)
    gold = system.gold(scores, document)
    marginal = system.marginal_loss(scores, gold)
    losses = {
        "marginalized": marginal,
        "marginalized_plus_mention_loss": marginal + system.mention_loss(scores, document),
        "hinge": system.hinge_loss(scores, gold),
    }
    real = scores.coarse > -torch.inf
    outputs = {
        "token_embeddings": numbers(pieces),
        "token_attention": numbers(system.span_scorer.attention(pieces).squeeze(1)),
        "width_scores": numbers(system.span_scorer.width_scores()),
        "candidate_starts": scores.candidates.first.tolist(),
        "candidate_ends": scores.candidates.last.tolist(),
        "candidate_mention_scores": numbers(scores.mention_scores),
        "num_top_spans": len(scores.spans),
        "top_span_candidate_index": scores.kept.tolist(),
        "top_span_starts": scores.spans.first.tolist(),
        "top_span_ends": scores.spans.last.tolist(),
        "top_span_mention_scores": numbers(scores.mention_scores[scores.kept]),
        "top_span_embedding_norms": norms(scores.vectors),
        "coarse_scores_all_pairs": numbers(scores.coarse_all),
        "distance_scores": numbers(system.distance_scores()),
        "top_antecedent_index": scores.antecedents.masked_fill(~real, -1).tolist(),
        "coarse_scores": numbers(scores.coarse),
        "fine_scores": numbers(scores.fine.masked_fill(~real, -torch.inf)),
        "antecedent_scores": numbers(scores.scores),
        "predicted_antecedents": scores.links,
        "predicted_clusters": scores.clusters,
        "top_span_gold_cluster": gold_clusters(scores.spans.pairs(), document.gold, scores.kept).tolist(),
        "gold_antecedent_labels": gold.long().tolist(),
        "margins": _margins(scores),
        "loss": {name: loss.item() for name, loss in losses.items()},
    }
    if scores.attended is not None:
        outputs["first_pass_antecedent_scores"] = numbers(scores.attended.first_scores)
        outputs["refined_span_embedding_norms"] = norms(scores.attended.attended)
        outputs["gate_means"] = numbers(scores.attended.gate.mean(dim=1))
        outputs["updated_span_embedding_norms"] = norms(scores.attended.vectors)
    outputs["gradient_norms"] = {}
    for name in ("marginalized", "marginalized_plus_mention_loss"):
        model.zero_grad()
        losses[name].backward(retain_graph=True)
        found_norms = gradient_norms(model, folder, NAMES)
        outputs["gradient_norms"][name] = {"per_parameter": found_norms, "per_group": by_group(found_norms)}
    return outputs


def _margins(scores: C2FScores) -> dict[str, float | None]:
    """Smallest gaps: adjacent mention scores, adjacent coarse scores in a row, best and second-best entries."""
    ordered = scores.scores[1:].sort(dim=1).values
    return {
        "mention_score_gap": smallest(_gaps(scores.mention_scores[None])),
        "coarse_gap": smallest(_gaps(scores.coarse_all)),
        "argmax_gap": smallest(ordered[:, -1:] - ordered[:, -2:-1]),
    }


def _gaps(rows: Tensor) -> Tensor:
    ordered = rows.sort(dim=1).values
    gaps = ordered[:, 1:] - ordered[:, :-1]
    return gaps[gaps.isfinite()]


def _truncated(model: ReferenceModel[C2F], document: Pieces, folder: Path) -> dict[str, Any]:
    """Train on a document cut to a range of segments that starts at the second."""
    cut = cut_segments(document, 1, model.system.config.segments)
    scores = model.system(model.vectors(cut), cut)
    loss = model.system.marginal_loss(scores, model.system.gold(scores, cut))
    model.zero_grad()
    loss.backward()
    gold = sorted(span for cluster in cut.clusters for span in cluster)
    return {
        "loss": loss.item(),
        "gradient_norms": by_group(gradient_norms(model, folder, NAMES)),
        "num_words": len(cut),
        "gold_starts": [first for first, _ in gold],
        "gold_ends": [last for _, last in gold],
    }
