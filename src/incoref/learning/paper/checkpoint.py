"""Save and load the paper's model, and import the authors' checkpoints.

A model folder contains ``config.json`` (a PaperConfig) and ``model.safetensors`` (the weights under our names).
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors.torch import save_file
from torch import Tensor

from incoref.errors import FormatError, IncorefError
from incoref.learning.paper.authors_names import CLASS_WEIGHTS, NEW_SCORE, load_authors_weights
from incoref.learning.paper.config import ONTONOTES_GENRES, Mode, PaperConfig, Setting
from incoref.learning.paper.model import PaperModel
from incoref.learning.reference_outputs import read_weights


def save_paper_model(folder: Path, model: PaperModel) -> None:
    """Write a model's configuration and weights; shared embedding tables are written only once."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: parameter.detach().contiguous() for name, parameter in model.named_parameters()}
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(model.config.model_dump_json(indent=1), encoding="utf-8")


def load_paper_model(folder: Path) -> PaperModel:
    """Load a model written by ``save_paper_model``, ready for inference."""
    try:
        config = PaperConfig.model_validate_json((folder / "config.json").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise IncorefError(f"{folder}: no model there (config.json is missing)") from error
    except ValidationError as error:
        raise FormatError(f"not the configuration of a paper model: {error}", path=folder / "config.json") from error
    model = PaperModel(config)
    weights = read_weights(folder / "model.safetensors")
    parameters = dict(model.named_parameters())
    if weights.keys() != parameters.keys():
        odd = ", ".join(sorted(weights.keys() ^ parameters.keys()))
        raise FormatError(f"the weights don't fit the configuration: {odd}", path=folder / "model.safetensors")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
    return model.eval()


def import_checkpoint(
    path: Path, *, setting: Setting, k: int = 1, window: int = 512, cache: int | None = None
) -> PaperModel:
    """Import an authors' checkpoint; the encoder setting isn't stored in the file and must be given."""
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise FormatError(f"not a torch state dict: {error}", path=path) from error
    if not isinstance(weights, Mapping) or not all(isinstance(value, Tensor) for value in weights.values()):
        raise FormatError("not a torch state dict: its values are not tensors by name", path=path)
    sizes = _sizes(weights, path)
    config = PaperConfig(mode=Mode.REFERENCE, setting=setting, k=k, window=window, cache=cache, **sizes)
    model = PaperModel(config)
    load_authors_weights(model, weights)
    return model.eval()


def _sizes(weights: Mapping[str, Tensor], path: Path) -> dict[str, Any]:
    """Infer the sizes and constants of the model from an authors' checkpoint."""
    try:
        heads = weights["encoder.layer.0.rel_attn.q"].shape[1]
        genres = len(weights["emb_genre.weight"])
        speakers = weights.get("emb_speaker.weight")
        return {
            "stack_size": weights["left_boundary_stack.h0"].shape[-1],
            "history_size": weights["action_hist_stack.h0"].shape[-1],
            "action_size": weights["emb_action.weight"].shape[1],
            "feature_size": weights["emb_genre.weight"].shape[1],
            "detector_hidden": len(weights["parse_action_ffnn.0.bias"]),
            "clusterer_hidden": len(weights["memory_query_ffnn.0.bias"]),
            "genres": ONTONOTES_GENRES if genres == len(ONTONOTES_GENRES) else tuple(map(str, range(genres))),
            "max_width": len(weights["emb_span_width.weight"]) - 1,
            "use_speakers": speakers is not None,
            "max_speakers": 20 if speakers is None else len(speakers),
            "max_count": len(weights["emb_entity_count.weight"]),
            "max_distance": len(weights["emb_mention_distance.weight"]),
            "new_score": float(weights[NEW_SCORE]) if NEW_SCORE in weights else 0.0,
            "action_weights": tuple(weights[CLASS_WEIGHTS].tolist()) if CLASS_WEIGHTS in weights else (1.0,) * 4,
            "xlnet": {
                "vocab_size": len(weights["encoder.word_embedding.weight"]),
                "d_model": weights["encoder.word_embedding.weight"].shape[1],
                "n_layer": len([name for name in weights if name.endswith(".rel_attn.q")]),
                "n_head": heads,
                "d_inner": len(weights["encoder.layer.0.ff.layer_1.bias"]),
            },
        }
    except KeyError as error:
        raise FormatError(f"not a checkpoint of the authors' model: it has no {error}", path=path) from error
