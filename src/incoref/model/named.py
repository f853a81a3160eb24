"""Find models by name: the bundled one and those of other installed packages.

A package provides models through entry points in the group ``incoref.models``: an entry point has the model's name
and loads the path of the model folder. This module doesn't look inside model folders.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from incoref.errors import IncorefError

DEFAULT_MODEL = Path(__file__).parents[1] / "models" / "en"
_GROUP = "incoref.models"
_SHIPPED = ("en", "en-small", "en-small-5")
_PACKAGES = {"en-base": "incoref-en-base"}
"""Our models that are distributed as separate packages."""


def find_model(given: Path | str | None) -> Path:
    """Return a model's folder, given the folder itself, an installed model's name, or None for the bundled model."""
    if given is None:
        if not DEFAULT_MODEL.is_dir():
            raise IncorefError(f"{DEFAULT_MODEL}: incoref comes without a default model here")
        return DEFAULT_MODEL
    if not isinstance(given, str | Path):
        raise IncorefError(f"a model is a folder or a name, not {given!r:.40}; load() takes the one in the package")
    folder, name = Path(given), str(given)
    if folder.is_dir():
        return folder
    installed = installed_model(name)
    if installed is not None:
        return installed
    if name in _PACKAGES:
        package = _PACKAGES[name]
        raise IncorefError(
            f"{name}: this model is a package of its own, which isn't installed: pip install {package}, or in a "
            f"checkout of incoref pip install ./packages/{package}"
        )
    names = sorted({"en", *(point.name for point in entry_points(group=_GROUP))})
    raise IncorefError(f"{name}: no such model folder, nor an installed model; installed: {', '.join(names)}")


def installed_model(name: str) -> Path | None:
    """Return the folder of the installed model with this name, if there is one."""
    if name in _SHIPPED:
        return DEFAULT_MODEL
    return next((Path(point.load()) for point in entry_points(group=_GROUP, name=name)), None)
