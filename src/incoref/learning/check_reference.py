"""Read folders of reference outputs, whichever program computed them."""

from __future__ import annotations

from pathlib import Path

from incoref.errors import FormatError
from incoref.learning.baselines.reference import c2f, icoref, longdoc, s2e
from incoref.learning.paper import reference as paper
from incoref.learning.reference_outputs import Reference, read_json

SYSTEMS = {
    "c2f span ranking": c2f.read_reference,
    "ICoref": icoref.read_reference,
    "longdoc": longdoc.read_reference,
    "s2e": s2e.read_reference,
}
"""Readers by the field ``system`` of config.json, which the paper's own folders don't have."""


def read_reference(folder: Path) -> Reference:
    """Read a folder with ``config.json``, ``model.safetensors``, ``documents.json`` and ``expected.json``."""
    path = folder / "config.json"
    described = read_json(path)
    if not isinstance(described, dict):
        raise FormatError("not an object with the sizes of a model", path=path)
    system = described.get("system")
    if system is None:
        return paper.read_reference(folder)
    if system not in SYSTEMS:
        raise FormatError(f"the system '{system}' is not known; there are {', '.join(SYSTEMS)}", path=path)
    return SYSTEMS[system](folder)
