"""Finds pretrained encoders on this machine: a folder, or a name in the local Hugging Face cache. Never downloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incoref.errors import IncorefError


def load_pretrained(model_class: Any, encoder: str, **options: Any) -> Any:
    """A transformers model of ``model_class`` with the weights of ``encoder``, a path or a name."""
    if Path(encoder).is_dir() and not (Path(encoder) / "config.json").is_file():
        raise IncorefError(f"{encoder}: the folder has no config.json; it needs config.json and model.safetensors.")
    try:
        return model_class.from_pretrained(encoder, local_files_only=True, **options)
    except OSError as error:
        from huggingface_hub.constants import HF_HUB_CACHE

        raise IncorefError(
            f"encoder '{encoder}': neither a folder with a model nor a name in the local cache {HF_HUB_CACHE}. Where "
            f"there is a network run 'hf download {encoder} --local-dir FOLDER', copy FOLDER (config.json and "
            'model.safetensors) to this machine and set encoder = "FOLDER".'
        ) from error
