"""Models by name: the one in the package, and those of other installed packages.

A package offers models by entry points of the group ``incoref.models``: the name of the model, and an object that is
the path of its folder. Knows nothing of what is in a model folder.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from incoref.errors import IncorefError

DEFAULT_MODEL = Path(__file__).parents[1] / "models" / "en"
_GROUP = "incoref.models"
_SHIPPED = ("en", "en-small", "en-small-4")
_PACKAGES = {"en-base": "incoref-en-base"}
"""Our models that are packages of their own."""


def find_model(given: Path | str | None) -> Path:
    """The folder of a model: a folder itself, an installed model's name, or, for None, the model in the package."""
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
    """The folder of an installed model, if there is one of this name."""
    if name in _SHIPPED:
        return DEFAULT_MODEL
    return next((Path(point.load()) for point in entry_points(group=_GROUP, name=name)), None)
