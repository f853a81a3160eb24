"""The paper's models and the baselines it compares with, loaded from folders.

``incoref train`` and ``import-checkpoint`` write these folders. The models need the learning side, which is imported
when the first document is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incoref.analysis.systems import Clusters
from incoref.errors import IncorefError
from incoref.types import Document

if TYPE_CHECKING:
    from incoref.learning.baselines.system import Baseline, PrefixReader

_WEIGHTS = "model.safetensors"


def is_paper_model(folder: Path) -> bool:
    """Whether a folder holds a model of the paper's kind."""
    return {"mode", "setting"} <= _described(folder).keys()


def is_baseline(folder: Path) -> bool:
    """Whether a folder holds one of the baselines that the paper compares with."""
    return {"kind", "settings", "encoder"} <= _described(folder).keys()


def _described(folder: Path) -> dict[str, Any]:
    config = folder / "config.json"
    if not (config.is_file() and (folder / _WEIGHTS).is_file()):
        return {}
    described = json.loads(config.read_text(encoding="utf-8"))
    return described if isinstance(described, dict) else {}


class _FolderSystem:
    """A folder with ``config.json``, ``model.safetensors`` and ``tokenizer.json``."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder

    @cached_property
    def digest(self) -> str:
        blake = hashlib.blake2b(digest_size=12)
        for name in ("config.json", _WEIGHTS, "tokenizer.json"):
            path = self._folder / name
            if not path.is_file():
                raise IncorefError(f"{path}: is missing; copy the encoder's file of this name there")
            with path.open("rb") as file:
                blake.update(hashlib.file_digest(file, "blake2b").digest())
        return blake.hexdigest()


class PaperSystem(_FolderSystem):
    """A model of the paper's kind."""

    @cached_property
    def _read(self) -> Callable[[Document], Clusters]:
        import torch

        from incoref.learning.paper.checkpoint import load_paper_model
        from incoref.learning.paper.definition import run
        from incoref.learning.paper.reading import read_paper, word_clusters
        from incoref.learning.paper.xlnet_cache import CachedReader, CachedXLNet
        from incoref.model.subwords import SubwordTokenizer

        model = load_paper_model(self._folder)
        tokenizer = SubwordTokenizer.load(self._folder / "tokenizer.json")
        encoder = CachedXLNet(model.encoder)

        def read(document: Document) -> Clusters:
            with torch.inference_mode():
                reading = read_paper(document, tokenizer, model.config)
                outcome = run(model, reading.document, gold=False, reader=CachedReader(encoder))
            return word_clusters(reading, outcome.clusters)

        return read

    def clusters(self, document: Document) -> Clusters:
        return self._read(document)


class BaselineSystem(_FolderSystem):
    """One of the baselines that the paper compares with."""

    @cached_property
    def model(self) -> Baseline:
        from incoref.learning.baselines.system import load_baseline

        return load_baseline(self._folder)

    def clusters(self, document: Document) -> Clusters:
        return self.model.predict(document).clusters

    def prefix_reader(self) -> PrefixReader:
        """Return a reader that does for growing prefixes what ``model`` does, without repeating work."""
        from incoref.learning.baselines.system import PrefixReader

        return PrefixReader(self.model)


def folder_system(folder: Path, name: str) -> PaperSystem | BaselineSystem | None:
    """Return the paper model or baseline in a folder, or None for anything else."""
    if is_paper_model(folder):
        return PaperSystem(folder, name)
    return BaselineSystem(folder, name) if is_baseline(folder) else None
