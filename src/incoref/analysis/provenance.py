"""How figures were measured: the machine, the date, and the versions of code and packages."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from incoref._version import __version__

_PACKAGES = ("numpy", "onnxruntime", "tokenizers", "scipy", "matplotlib", "torch", "transformers")
_PACKAGE = Path(__file__).parents[1]
_CODE = (
    "types.py",
    "options.py",
    "resolver.py",
    "text",
    "corpora",
    "model",
    "session",
    "evaluation",
    "learning",
    "analysis",
)
"""The code that figures depend on; the server, the outputs and the command line only present them."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a result was made; for several results, the range of dates and all machines and versions."""

    date: str
    machine: str
    load: float | None
    """The load average when the result was computed; for several results, the highest."""
    versions: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Provenance:
        return cls(data["date"], data["machine"], data["load"], data["versions"])


def here() -> Provenance:
    """Return the provenance of a result computed now, on this machine."""
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    return Provenance(today(), machine(), load, _versions())


def combined(provenances: Sequence[Provenance]) -> Provenance:
    """Return the provenance of figures derived from several results."""
    dates = sorted({each.date for each in provenances})
    loads = [each.load for each in provenances if each.load is not None]
    packages = dict.fromkeys(package for each in provenances for package in each.versions)
    return Provenance(
        date=dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}",
        machine=_listed(each.machine for each in provenances),
        load=max(loads, default=None),
        versions={name: _listed(each.versions.get(name, "none") for each in provenances) for name in packages},
    )


def _listed(values: Any) -> str:
    return " / ".join(dict.fromkeys(values))


def today() -> str:
    return datetime.now(UTC).date().isoformat()


@cache
def code_digest(package: Path = _PACKAGE) -> str:
    """Return a digest of the source files that figures depend on, so that stale results are not reused."""
    digest = hashlib.blake2b(digest_size=6)
    for part in _CODE:
        place = package / part
        for path in [place] if place.suffix else sorted(place.rglob("*.py")):
            digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def machine() -> str:
    """Return the processor, the number of cores and the operating system."""
    return f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"


def resident_bytes() -> int | None:
    """Return the resident memory of this process, where the operating system reports it."""
    listing = Path("/proc/self/statm")
    if not listing.is_file():
        return None
    return int(listing.read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def peak_resident_bytes() -> int | None:
    """Return the peak resident memory of this process, where the operating system reports it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else 1024 * held


@cache
def _versions() -> dict[str, str]:
    versions = {"incoref": __version__, "code": code_digest(), "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _processor() -> str:
    """Return the processor's name as reported by the operating system."""
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8").splitlines():
            name, colon, value = line.partition(":")
            if colon and name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
