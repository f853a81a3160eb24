"""Models that an analysis trains: one a variant of a configuration, kept in folders and found again.

Imports the learning side, which needs the extra ``train``, only when something is to be trained. How training is
shown and interrupted is the caller's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from incoref.analysis.paper_systems import folder_system
from incoref.analysis.result_cache import ResultCache, digest
from incoref.analysis.systems import ModelSystem, Options, System
from incoref.errors import IncorefError
from incoref.model.folder import Model

Train = Callable[[Path, Path, list[str]], None]
"""Trains a configuration file, in a folder, with settings NAME=VALUE; goes on with what is in the folder."""


class Models:
    """Trains variants of one configuration, each once."""

    def __init__(
        self,
        config: Path,
        folder: Path,
        train: Train,
        cache: ResultCache,
        options: Options,
        settings: Sequence[str] = (),
    ) -> None:
        """``settings`` hold for all variants."""
        self._settings = list(settings)
        self._config, self._folder, self._train = config, folder, train
        self._cache, self._options = cache, options
        try:
            self._text = config.read_text(encoding="utf-8")
        except OSError as error:
            raise IncorefError(f"{config}: {error.strerror or error}") from error

    @property
    def kind(self) -> str:
        """``streaming``, ``paper``, or one of the systems that the paper compares with."""
        from incoref.learning.config import Configuration

        return str(Configuration.load(self._config).kind)

    def trained(self, name: str, settings: Sequence[str], setting: str | None = None) -> System:
        """The model of a variant; ``setting`` is how it reads, as it was trained when not given."""
        settings = [*self._settings, *settings]
        plain = re.sub(r"[^\w.-]+", "-", name).strip("-")
        folder = self._folder / f"{plain}-{digest(self._text, settings)[:8]}"

        def train(_: str) -> bool:
            self._train(self._config, folder, settings)
            return True

        self._cache.each(f"training {name}", [name], lambda _: (self._text, settings), train)
        if not (folder / "best").is_dir():
            train(name)  # it was trained, but its folder is gone
        learned = folder_system(folder / "best", name)
        if learned is not None:
            return learned
        model = exported(folder)
        return ModelSystem(model, setting, self._options, name)


def exported(run: Path) -> Model:
    """The model folder of a run in full precision, made if it is not there."""
    place = run / "model"
    if not (place / "golden.json").is_file():
        from incoref.learning.export.export import export

        export([run / "best"], place, name=run.name, quantise=False)
    return Model.load(place)
