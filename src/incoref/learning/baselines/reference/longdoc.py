"""Check longdoc against the output of shtoshni/long-doc-coref."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from incoref.errors import FormatError
from incoref.learning.baselines.config import LongdocConfig
from incoref.learning.baselines.longdoc import NO_CELL, Action, Kind, Longdoc, Reading, Step, gold_actions
from incoref.learning.baselines.pieces import Pieces, Window
from incoref.learning.baselines.reference.weights import (
    Names,
    ReferenceModel,
    by_group,
    gradient_norms,
    load,
    new_encoder,
    norms,
    read_config,
)
from incoref.learning.reference_outputs import Outputs, Reference, numbers, read_json, read_outputs

NAMES = Names(
    encoder="doc_encoder.bert.",
    modules={
        "genre_embeddings": "genre",
        "mention_attn": "span_scorer.attention",
        "span_width_embeddings": "span_scorer.width",
        "span_width_prior_embeddings": "span_scorer.width_prior",
        "mention_mlp.fc_layers.0": "span_scorer.score.hidden",
        "mention_mlp.fc_layers.3": "span_scorer.score.output",
        "span_width_mlp.fc_layers.0": "span_scorer.width_score.hidden",
        "span_width_mlp.fc_layers.3": "span_scorer.width_score.output",
        "memory_net.distance_embeddings": "distance",
        "memory_net.counter_embeddings": "count",
        "memory_net.last_action_embeddings": "previous",
        "memory_net.mem_coref_mlp.fc_layers.0": "coref_score.hidden",
        "memory_net.mem_coref_mlp.fc_layers.3": "coref_score.output",
        "memory_net.fert_mlp.fc_layers.0": "write_score.hidden",
        "memory_net.fert_mlp.fc_layers.3": "write_score.output",
        "memory_net.alpha.fc_layers.0": "interpolation.hidden",
        "memory_net.alpha.fc_layers.3": "interpolation.output",
    },
)
_KINDS = {Kind.COREFERENT: "c", Kind.OVERWRITE: "o", Kind.IGNORE: "i", Kind.NO_SPACE: "n"}


def read_reference(folder: Path) -> Reference:
    """Read a folder of the program's outputs."""
    exact = _read_model(folder)
    rough = copy.deepcopy(exact).float()
    described = read_json(folder / "documents.json")
    documents = [_document(each, number, folder, exact.system.config) for number, each in enumerate(described)]
    path = folder / "expected.json"
    expected = read_outputs(path, len(documents))
    try:
        sampling = [
            (outputs["training"]["sampled_invalid"]["sample_invalid"], _random_numbers(outputs))
            for outputs in expected
        ]
    except (KeyError, TypeError) as error:
        raise FormatError(f"the random numbers of a document are missing: {error!r}", path=path) from error

    def outputs(model: ReferenceModel[Longdoc], number: int) -> Outputs:
        return _outputs(model, documents[number], folder, *sampling[number])

    return Reference(expected, lambda n: outputs(exact, n), lambda n: outputs(rough, n), path)


def _random_numbers(outputs: Mapping[str, Any]) -> list[float]:
    drawn: list[float] = outputs["training"]["sampled_invalid"]["random_numbers"]
    return drawn


def _read_model(folder: Path) -> ReferenceModel[Longdoc]:
    described = read_config(folder)
    try:
        litbank = described["dataset"] == "litbank"
        config = LongdocConfig(
            dropout=described["dropout_rate"],
            segment=described["max_segment_len"],
            hidden=described["mlp_size"],
            feature=described["emb_size"],
            widest=described["max_span_width"],
            ratio=described["top_span_ratio"],
            genres=tuple(described["genres"] or ()),
            memory=described["mem_type"].replace("_", "-"),
            cells=described["num_cells"],
            overlap=described["doc_enc"] == "overlap",
            entity={"wt_avg": "mean", "learned_avg": "learned"}[described["entity_rep"]],
            use_genre=not litbank,
            singletons=litbank,
            new_weight=described["new_ent_wt"],
            memory_loss=described["over_loss_wt"],
        )
        encoder = new_encoder(described["encoder"])
    except KeyError as error:
        raise FormatError(f"the field {error} is missing", path=folder / "config.json") from error
    model = ReferenceModel(encoder, Longdoc(config, encoder.sizes.width))
    load(model, folder, NAMES)
    return model.eval()


def _document(described: Mapping[str, Any], number: int, folder: Path, config: LongdocConfig) -> Pieces:
    try:
        windows = zip(described["input_ids"], described["used_from"], described["used_to"], strict=True)
        length, genre = len(described["sentence_map"]), described["genre"]
        clusters = described["subtoken_clusters"]
        return Pieces(
            windows=tuple(Window(tuple(ids), first + 1, end + 1) for ids, first, end in windows),  # after [CLS]
            sentence=tuple(described["sentence_map"]),
            segment=(0,) * length,
            speaker=(0,) * length,
            word=tuple(described["subtoken_map"]),
            genre=config.genres.index(genre) if genre in config.genres else 0,
            clusters=tuple(tuple((first, last) for first, last in cluster) for cluster in clusters),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"document {number} is not complete: {error!r}", path=folder / "documents.json") from error


def _outputs(
    model: ReferenceModel[Longdoc], document: Pieces, folder: Path, share: float, drawn: Sequence[float]
) -> dict[str, Any]:
    system = model.system
    with torch.no_grad():
        pieces = model.vectors(document)
        free = system(pieces, document)
    spans = free.mentions.spans.pairs()
    gold = document.gold
    nothing = [False] * len(spans)
    skipped = [span not in gold and number > share for span, number in zip(spans, drawn, strict=True)]
    every, sampled = (_train(model, pieces, document, folder, skips) for skips in (nothing, skipped))
    return {
        "num_tokens": len(document),
        "token_embeddings": numbers(pieces),
        "candidate_starts": free.mentions.candidates.first.tolist(),
        "candidate_ends": free.mentions.candidates.last.tolist(),
        "candidate_mention_scores": numbers(free.mentions.scores_of_all),
        "kept_by_score": free.mentions.kept.tolist(),
        "mentions": spans,
        "mention_scores": numbers(free.mentions.scores),
        "steps": [_step(step, system.config.memory) for step in free.steps],
        "memory": {
            "vectors": numbers(free.memory.vectors),
            "counts": free.memory.counts,
            "last_mention": free.memory.latest,
        },
        "all_clusters": free.clusters,
        "predicted_clusters": system.clusters(free),
        "gold_actions": every[0]["gold_actions"],
        "training": {
            "all_invalid": every[0]
            | {
                "steps": [
                    {
                        "mention_index": step.mention,
                        "coref_new_scores": numbers(step.coref_scores),
                        "new_ignore_scores": None if step.write_scores is None else numbers(step.write_scores),
                        "predicted_action": _action(step.action),
                    }
                    for step in every[1].steps
                ],
                "final_memory_norms": norms(every[1].memory.vectors),
            },
            "sampled_invalid": sampled[0]
            | {
                "sample_invalid": share,
                "random_numbers": list(drawn),
                "scored_mentions": [step.mention for step in sampled[1].steps],
            },
        },
    }


def _train(
    model: ReferenceModel[Longdoc], pieces: torch.Tensor, document: Pieces, folder: Path, skipped: Sequence[bool]
) -> tuple[dict[str, Any], Reading]:
    system = model.system
    mentions = system.mentions(pieces, document)
    gold = gold_actions(system.config, mentions.spans.pairs(), document.clusters, skipped)
    reading = system.forced(mentions, document, gold, skipped)
    loss = system.loss(reading)
    model.zero_grad()
    if loss.total.requires_grad:  # else all spans were skipped
        loss.total.backward()
    gradients = gradient_norms(model, folder, NAMES, encoder=False)
    parts = {"total": loss.total.item(), "coref": loss.coref.item()}
    if system.config.memory != "unbounded-no-ignore":
        parts["over"] = loss.write.item()
    groups = by_group(gradients, parts_of="memory_net")
    return {
        "loss": parts,
        "gradient_norms": {"per_parameter": gradients, "per_group": groups},
        "gold_actions": [_action(action) for action in gold],
    }, reading


def _step(step: Step, memory: str) -> dict[str, Any]:
    before = step.memory
    outputs = {
        "mention_index": step.mention,
        "mention_score": step.mention_score.item(),
        "mention_vector_norm": step.vector.norm().item(),
        "coref_new_scores": numbers(step.coref_scores),
        "new_ignore_scores": None if step.write_scores is None else numbers(step.write_scores),
        "cell_norms": norms(before.vectors),
        "cell_counts": before.counts,
        "cell_last_mention": before.latest,
        "last_action": int(before.previous),
        "action": _action(step.action),
    }
    return outputs | ({"lru_order": before.least_recent} if memory == "lru" else {})


def _action(action: Action | None) -> list[Any]:
    return [NO_CELL, None] if action is None else [action.cell, _KINDS[action.kind]]
