"""Models that an analysis trains: one a variant of a configuration, kept in folders and found again.

Imports the learning side, which needs the extra ``train``, only when something is to be trained or read with a model
that can't be exported. How training is shown and interrupted is the caller's business.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from incoref.analysis.keeping import Keeper, digest
from incoref.analysis.systems import Clusters, ModelSystem, Options, System
from incoref.errors import IncorefError
from incoref.modelfile import Model
from incoref.types import Document

if TYPE_CHECKING:
    from incoref.learning.paper_training import PaperTraining

Train = Callable[[Path, Path, list[str]], None]
"""Trains a configuration file, in a folder, with settings NAME=VALUE; goes on with what is in the folder."""


class Models:
    """Trains variants of one configuration, each once."""

    def __init__(
        self,
        config: Path,
        folder: Path,
        train: Train,
        keeper: Keeper,
        options: Options,
        settings: Sequence[str] = (),
    ) -> None:
        """``settings`` hold for all variants."""
        self._settings = list(settings)
        self._config, self._folder, self._train = config, folder, train
        self._keeper, self._options = keeper, options
        try:
            self._text = config.read_text(encoding="utf-8")
        except OSError as error:
            raise IncorefError(f"{config}: {error.strerror or error}") from error

    @property
    def kind(self) -> str:
        """``streaming`` or ``paper``."""
        from incoref.learning.config import Configuration

        return str(Configuration.read(self._config).kind)

    def trained(self, name: str, settings: Sequence[str], setting: str | None = None) -> System:
        """The model of a variant; ``setting`` is how it reads, as it was trained when not given."""
        settings = [*self._settings, *settings]
        plain = re.sub(r"[^\w.-]+", "-", name).strip("-")
        folder = self._folder / f"{plain}-{digest(self._text, settings)[:8]}"

        def train(_: str) -> bool:
            self._train(self._config, folder, settings)
            return True

        self._keeper.each(f"training {name}", [name], lambda _: (self._text, settings), train)
        if not (folder / "best").is_dir():
            train(name)  # it was trained, but its folder is gone
        if self.kind == "paper":
            return PaperSystem(name, folder / "best", self._config, settings)
        model = exported(folder)
        return ModelSystem(model, setting or f"k={model.config.k}", self._options, name)


def exported(run: Path) -> Model:
    """The model folder of a run in full precision, made if it is not there."""
    place = run / "model"
    if not (place / "golden.json").is_file():
        from incoref.learning.export import export

        export(run / "best", place, name=run.name, quantise=False)
    return Model.load(place)


class PaperSystem:
    """A trained model of the paper's kind, which runs on the learning side alone."""

    def __init__(self, name: str, best: Path, config: Path, settings: Sequence[str]) -> None:
        self.name = name
        self._best, self._config, self._settings = best, config, settings

    @cached_property
    def digest(self) -> str:
        found = hashlib.blake2b(digest_size=12)
        for path in sorted(self._best.iterdir()):
            found.update(path.read_bytes())
        return found.hexdigest()

    @cached_property
    def _trained(self) -> PaperTraining:
        from incoref.learning.config import Configuration
        from incoref.learning.paper_checkpoint import load_paper_model
        from incoref.learning.paper_training import PaperTraining
        from incoref.learning.trainer import device_named

        config = Configuration.read(self._config, self._settings)
        made = PaperTraining(config, device_named(config.training.device))
        made.model.load_state_dict(load_paper_model(self._best).state_dict())
        return made

    def clusters(self, document: Document) -> Clusters:
        from incoref.learning.config import CorpusConfig

        [found] = self._trained.predict([document], CorpusConfig(path=self._config))
        return found
