"""Check s2e, with a small Longformer as encoder, against the output of yuvalkirstain/s2e-coref."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from incoref.errors import FormatError
from incoref.learning.baselines.antecedents import marginal_loss
from incoref.learning.baselines.config import S2EConfig
from incoref.learning.baselines.pieces import Pieces
from incoref.learning.baselines.reference.longformer import local_vectors
from incoref.learning.baselines.reference.weights import (
    Names,
    ReferenceModel,
    by_group,
    gradient_norms,
    load,
    new_encoder,
    read_config,
    smallest,
)
from incoref.learning.baselines.s2e import S2E, S2EScores
from incoref.learning.reference_outputs import Outputs, Reference, numbers, read_json, read_outputs

NAMES = Names(
    encoder="longformer.",
    modules={
        "start_mention_mlp": "mention_start",
        "end_mention_mlp": "mention_end",
        "start_coref_mlp": "coref_start",
        "end_coref_mlp": "coref_end",
        "mention_start_classifier": "start_score",
        "mention_end_classifier": "end_score",
        "mention_s2e_classifier": "mention_bilinear",
        "antecedent_s2s_classifier": "start_start",
        "antecedent_e2e_classifier": "end_end",
        "antecedent_s2e_classifier": "start_end",
        "antecedent_e2s_classifier": "end_start",
    },
)


class _Check:
    """A model with the encoder settings from its folder."""

    def __init__(self, folder: Path) -> None:
        described = read_config(folder)
        try:
            config = S2EConfig(
                dropout=described["dropout_prob"],
                hidden=described["ffnn_size"],
                widest=described["max_span_length"],
                ratio=described["top_lambda"],
                normalise=described["normalise_loss"],
            )
            encoder = new_encoder(described["encoder"])
            self._windows: Sequence[int] = described["encoder"]["attention_window"]
            self._padding: int = described["encoder"]["pad_token_id"]
        except KeyError as error:
            raise FormatError(f"the field {error} is missing", path=folder / "config.json") from error
        self._folder = folder
        self.model = ReferenceModel(encoder, S2E(config, encoder.sizes.width, encoder.sizes.epsilon))
        load(self.model, folder, NAMES)
        self.model.eval()

    def single(self) -> _Check:
        """Return a copy in single precision."""
        other = copy.copy(self)
        other.model = copy.deepcopy(self.model).float()
        return other

    def vectors(self, ids: Sequence[int]) -> Tensor:
        return local_vectors(self.model.encoder, torch.tensor(ids), self._windows, self._padding)

    def outputs(self, ids: Sequence[int], document: Pieces) -> dict[str, Any]:
        system = self.model.system
        pieces = self.vectors(ids)
        scores = system(pieces, document)
        gold = system.gold(scores, document)
        total = marginal_loss(scores.scores, gold).sum()
        loss = total / max(len(scores.spans), 1)
        self.model.zero_grad()
        loss.backward()
        norms = gradient_norms(self.model, self._folder, NAMES, padding=self._padding)
        before = scores.scores[:, :-1] > -torch.inf
        products = {name: product.masked_fill(~before, -torch.inf) for name, product in scores.products.items()}
        return {
            "num_tokens": len(document),
            "sequence_output": numbers(pieces),
            "start_scores": numbers(scores.start_scores),
            "end_scores": numbers(scores.end_scores),
            "candidate_starts": scores.candidates.first.tolist(),
            "candidate_ends": scores.candidates.last.tolist(),
            "candidate_mention_scores": numbers(scores.mention_scores),
            "num_kept": len(scores.spans),
            "kept_starts": scores.spans.first.tolist(),
            "kept_ends": scores.spans.last.tolist(),
            "kept_mention_scores": numbers(scores.mention_scores[scores.kept]),
            **{f"{name}_scores": numbers(product) for name, product in products.items()},
            "pair_scores": numbers(torch.stack(list(products.values())).sum(dim=0)),
            "antecedent_scores": numbers(scores.scores),
            "predicted_antecedents": scores.links,
            "predicted_clusters": scores.clusters,
            "gold_antecedent_labels": gold.long().tolist(),
            "margins": _margins(scores),
            "loss": {"sum": total.item(), "normalised": loss.item()},
            "gradient_norms": {"per_parameter": norms, "per_group": by_group(norms)},
        }

    def batch(self, documents: Sequence[tuple[Sequence[int], Pieces]]) -> dict[str, Any]:
        """Return the outputs for all documents as one padded batch."""
        longest = max(len(ids) for ids, _ in documents)
        padded = [[*ids, *[self._padding] * (longest - len(ids))] for ids, _ in documents]
        scores = [
            self.model.system.scored(self.vectors(row), len(ids))
            for row, (ids, _) in zip(padded, documents, strict=True)
        ]
        most = max(1, *(len(each.spans) for each in scores))
        losses = [
            marginal_loss(each.scores, self.model.system.gold(each, document)).sum() / most
            for each, (_, document) in zip(scores, documents, strict=True)
        ]
        loss = torch.stack(losses).mean()
        self.model.zero_grad()
        loss.backward()
        norms = gradient_norms(self.model, self._folder, NAMES, padding=self._padding)
        spans = [[*each.spans.pairs(), *[(longest - 1, longest - 1)] * (most - len(each.spans))] for each in scores]
        return {
            "input_ids": padded,
            "attention_mask": [[int(id != self._padding) for id in row] for row in padded],
            "loss_normalised": loss.item(),
            "gradient_norms": by_group(norms),
            "best_score_per_span": [
                numbers(each.scores.max(dim=1).values) + [0.0] * (most - len(each.spans)) for each in scores
            ],
            "kept_starts": [[first for first, _ in of] for of in spans],
            "kept_ends": [[last for _, last in of] for of in spans],
        }


def read_reference(folder: Path) -> Reference:
    """Read a folder of the program's outputs; the padded batch counts as one more document."""
    exact = _Check(folder)
    rough = exact.single()
    described = read_json(folder / "documents.json")
    documents = [_document(each, number, folder) for number, each in enumerate(described)]
    expected = read_outputs(folder / "expected.json", len(documents))
    batch = read_json(folder / "expected_batch.json")

    def outputs(check: _Check, number: int) -> Outputs:
        if number == len(documents):
            return {"batch": _without_padding(check.batch(documents), documents)}
        return check.outputs(*documents[number])

    return Reference(
        [*expected, {"batch": _without_padding(batch, documents)}],
        lambda number: outputs(exact, number),
        lambda number: outputs(rough, number),
        folder / "expected.json",
    )


def _document(described: Mapping[str, Any], number: int, folder: Path) -> tuple[list[int], Pieces]:
    try:
        ids = described["input_ids"]
        clusters = tuple(tuple((first, last) for first, last in cluster) for cluster in described["token_clusters"])
        zeros = (0,) * len(ids)
        return ids, Pieces((), zeros, zeros, zeros, zeros, clusters=clusters)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"document {number} is not complete: {error!r}", path=folder / "documents.json") from error


def _without_padding(batch: Any, documents: Sequence[tuple[Sequence[int], Pieces]]) -> Any:
    """Map all span positions in the padding to its first position.

    Padding positions all have the same vector, so which of the equally scored spans there are kept is arbitrary.
    """
    if not isinstance(batch, dict):
        return batch
    lengths = [len(ids) for ids, _ in documents]
    clamped = dict(batch)
    for name in ("kept_starts", "kept_ends"):
        rows = batch.get(name)
        if isinstance(rows, list) and len(rows) == len(lengths):
            clamped[name] = [[min(place, length) for place in row] for row, length in zip(rows, lengths, strict=True)]
    return clamped


def _margins(scores: S2EScores) -> dict[str, float | None]:
    """Gaps between the last kept span and the next, and between the best and second-best entries."""
    ordered = scores.mention_scores.sort(descending=True).values
    entries = scores.scores[1:].sort(dim=1).values
    count = len(scores.spans)
    return {
        "kept_gap": smallest(ordered[:count][-1:] - ordered[count : count + 1]),
        "argmax_gap": smallest(entries[:, -1:] - entries[:, -2:-1]),
    }
