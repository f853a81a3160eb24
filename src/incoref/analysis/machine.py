"""Where and with what figures were measured: machine, versions, date."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

from incoref._version import __version__

_PACKAGES = ("numpy", "onnxruntime", "tokenizers", "scipy", "matplotlib", "torch", "transformers")


def made_here(date: str) -> dict[str, Any]:
    """Machine and versions, for the record, with the date of the measurements."""
    versions = {"incoref": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "date": date,
        "machine": f"{processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "versions": versions,
    }


def processor() -> str:
    """Its name as the system gives it."""
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8").splitlines():
            name, colon, value = line.partition(":")
            if colon and name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def resident_bytes() -> int | None:
    """Memory of this process, where the system tells."""
    listing = Path("/proc/self/statm")
    if not listing.is_file():
        return None
    return int(listing.read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")
