"""Find pretrained encoders on this machine: a folder, or a name in the local Hugging Face cache. Never downloads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from incoref.errors import IncorefError


def pretrained_folder(encoder: Path | str) -> Path:
    """Return the folder with the files of ``encoder``, a path or a name."""
    path, name = Path(encoder), Path(encoder).as_posix()
    if (path / "config.json").is_file():
        return path
    if path.is_dir():
        raise IncorefError(
            f"{encoder}: the folder has no config.json; it needs config.json, model.safetensors and tokenizer.json."
        )
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.errors import HFValidationError

    try:
        cached = try_to_load_from_cache(name, "config.json")
    except HFValidationError:  # a path that doesn't exist and can't be a name
        cached = None
    if isinstance(cached, str):
        return Path(cached).parent
    raise IncorefError(
        f"encoder '{encoder}': neither a folder with a model nor a name in the local cache {HF_HUB_CACHE}. Where "
        f"there is a network run 'hf download {name} --local-dir FOLDER', copy FOLDER (tokenizer.json, config.json "
        'and model.safetensors) to this machine and set encoder = "FOLDER".'
    )


def load_pretrained(model_class: Any, encoder: Path | str, **options: Any) -> Any:
    """Load a transformers model of ``model_class`` with the weights of ``encoder``, a path or a name."""
    from transformers.utils import logging

    folder = pretrained_folder(encoder)
    shows_bar = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return model_class.from_pretrained(folder, local_files_only=True, **options)
    except OSError as error:
        raise IncorefError(f"{folder}: the encoder can't be loaded: {error}") from error
    finally:
        if shows_bar:
            logging.enable_progress_bar()
