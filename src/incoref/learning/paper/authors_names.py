"""Map between our names and the authors' names for the weights of the paper's model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import Parameter

from incoref.errors import IncorefError
from incoref.learning.paper.model import PaperModel

_MODULES = {
    "detector.stack_cell": "left_boundary_stack.stack",
    "detector.action_lstm": "action_hist_stack.stack",
    "detector.action_embedding": "emb_action",
    "detector.features.tables.width": "emb_span_width",
    "detector.features.tables.genre": "emb_genre",
    "detector.hidden.linear": "parse_action_ffnn.0",
    "detector.output": "parse_action_ffnn.3",
    "clusterer.attention": "mention_attn",
    "clusterer.span_features.tables.speaker": "emb_speaker",
    "clusterer.pair_features.tables.count": "emb_entity_count",
    "clusterer.pair_features.tables.distance": "emb_mention_distance",
    "clusterer.pair_features.tables.previous": "emb_last_mem_action",
    "clusterer.hidden.linear": "memory_query_ffnn.0",
    "clusterer.output": "memory_query_ffnn.3",
}
_STARTS = {"detector.stack_start": "left_boundary_stack", "detector.action_start": "action_hist_stack"}
"""In our tensors, row 0 is their h0 and row 1 their c0."""

CLASS_WEIGHTS, NEW_SCORE = "mention_cross_entropy_loss.weight", "new_cell_threshold"
"""Constants in the authors' checkpoints that are part of our configuration."""


def load_authors_weights(model: PaperModel, weights: Mapping[str, Tensor]) -> None:
    """Copy an authors' checkpoint, except its constants, into a reference-mode model of the same sizes."""
    places = _in_their_names(model, lambda parameter: parameter.data)
    given = weights.keys() - {CLASS_WEIGHTS, NEW_SCORE}
    faults = [f"{name} is missing" for name in sorted(places.keys() - given)]
    faults += [f"{name} is not part of it" for name in sorted(given - places.keys())]
    faults += [
        f"{name} is {tuple(weights[name].shape)} instead of {tuple(place.shape)}"
        for name, place in places.items()
        if name in weights and weights[name].shape != place.shape
    ]
    if faults:
        raise IncorefError(f"these are not the weights of the authors' model in the given sizes: {'; '.join(faults)}")
    for name, place in places.items():
        place.copy_(weights[name])


def authors_weights(model: PaperModel) -> dict[str, Tensor]:
    """Return all weights and constants of a reference-mode model under the authors' names."""
    constants = {
        CLASS_WEIGHTS: torch.tensor(model.config.action_weights),
        NEW_SCORE: torch.tensor([model.config.new_score]),
    }
    return constants | _in_their_names(model, lambda parameter: parameter.data)


def gradients(model: PaperModel) -> dict[str, Tensor]:
    """Return the gradients of a reference-mode model under the authors' names; weights without one are omitted."""
    return _in_their_names(model, lambda parameter: parameter.grad)


def _in_their_names(model: PaperModel, take: Callable[[Parameter], Tensor | None]) -> dict[str, Tensor]:
    """Apply ``take`` to each parameter; return the results, as views, under the authors' names."""
    renamed: dict[str, Tensor] = {}
    for name, parameter in model.named_parameters():
        value = take(parameter)
        if value is None:
            continue
        module, _, kind = name.rpartition(".")
        if name in _STARTS:
            renamed[f"{_STARTS[name]}.h0"], renamed[f"{_STARTS[name]}.c0"] = value[:1], value[1:]
        elif name.startswith("encoder."):
            renamed[name] = value
        else:
            renamed[f"{_MODULES[module]}.{kind.removesuffix('_l0')}"] = value
    return renamed
