"""Train models for an analysis: one per variant of a configuration, each kept in a folder and reused.

The learning side, which needs the extra ``train``, is imported only for training. Displaying and interrupting the
training is up to the caller.
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
"""Takes a configuration file, a folder and NAME=VALUE settings; resumes an unfinished run in the folder."""


class Models:
    """Trains variants of one configuration, each only once."""

    def __init__(
        self,
        config: Path,
        folder: Path,
        train: Train,
        cache: ResultCache,
        options: Options,
        settings: Sequence[str] = (),
    ) -> None:
        """``settings`` apply to all variants."""
        self._settings = list(settings)
        self._config, self._folder, self._train = config, folder, train
        self._cache, self._options = cache, options
        try:
            self._text = config.read_text(encoding="utf-8")
        except OSError as error:
            raise IncorefError(f"{config}: {error.strerror or error}") from error

    @property
    def kind(self) -> str:
        """``streaming``, ``paper``, or the name of a baseline."""
        from incoref.learning.config import Configuration

        return str(Configuration.load(self._config).kind)

    def trained(self, name: str, settings: Sequence[str], setting: str | None = None) -> System:
        """Return the trained model of a variant; ``setting`` defaults to the one it was trained for."""
        settings = [*self._settings, *settings]
        plain = re.sub(r"[^\w.-]+", "-", name).strip("-")
        folder = self._folder / f"{plain}-{digest(self._text, settings)[:8]}"

        def train(_: str) -> bool:
            self._train(self._config, folder, settings)
            return True

        self._cache.each(f"training {name}", [name], lambda _: (self._text, settings), train)
        if not (folder / "best").is_dir():
            train(name)  # trained before, but its folder is gone
        learned = folder_system(folder / "best", name)
        if learned is not None:
            return learned
        model = exported(folder)
        return ModelSystem(model, setting, self._options, name)


def exported(run: Path) -> Model:
    """Load the full-precision model of a run, exporting it first if necessary."""
    place = run / "model"
    if not (place / "golden.json").is_file():
        from incoref.learning.export.export import export

        export([run / "best"], place, name=run.name, quantise=False)
    return Model.load(place)
