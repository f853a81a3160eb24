"""Resolve system names from the command line.

A name is ``default``, a model folder, a folder of a paper model or baseline (a run's ``best``, or an imported
checkpoint), or a file or directory with a system's output. A model's setting may follow after ``@``: ``default@k=4``,
``mine@part-inc``. A title may come first: ``four at once: default@k=4``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from incoref.analysis.paper_systems import BaselineSystem, PaperSystem, folder_system
from incoref.analysis.systems import AnswerSystem, ModelSystem, Options, System
from incoref.errors import IncorefError
from incoref.model.folder import Model

DEFAULT = "default"


def system_named(name: str, options: Options, loaded: dict[Path | None, Model]) -> System:
    """Return the system with this name; ``loaded`` caches models that are used in several settings."""
    title, _, plain = name.rpartition(": ")
    system = _untitled(plain, options, loaded)
    system.name = title or system.name
    return system


def _untitled(
    name: str, options: Options, loaded: dict[Path | None, Model]
) -> ModelSystem | PaperSystem | BaselineSystem | AnswerSystem:
    place, at, setting = name.rpartition("@")
    if not at:
        place = name
    folder = None if place == DEFAULT else Path(place)
    learned = None if folder is None else folder_system(folder, place)
    if learned is not None:
        if at:
            raise IncorefError(f"{place}: this kind of model only runs in the setting that it was trained with")
        return learned
    if folder is not None and folder.exists() and not (folder / "config.json").is_file():
        if at:
            raise IncorefError(f"{place}: takes no setting, because it isn't a model folder (config.json is missing)")
        return AnswerSystem(folder)
    if folder not in loaded:
        loaded[folder] = Model.load(folder, options.threads)
    return ModelSystem(loaded[folder], setting if at else None, options, None if folder is None else str(folder))


def systems_named(names: Sequence[str], options: Options) -> list[System]:
    """Return the named systems, which must differ; each model is loaded only once."""
    loaded: dict[Path | None, Model] = {}
    systems = [system_named(name, options, loaded) for name in names]
    twice = [
        system.name for number, system in enumerate(systems) if system.name in {s.name for s in systems[:number]}
    ]
    if twice:
        raise IncorefError(f"'{twice[0]}' is used twice; give each system a unique name")
    return systems
