"""``incoref info``: what is installed, and where. Imports none of the packages it reports on."""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from incoref._version import __version__

PACKAGES = {
    "numpy": None,
    "onnxruntime": None,
    "tokenizers": None,
    "safetensors": None,
    "typer": None,
    "rich": None,
    "torch": "train",
    "transformers": "train",
    "pydantic": "train",
    "scipy": "eval",
    "matplotlib": "eval",
    "spacy": "spacy",
    "fastapi": "serve",
    "uvicorn": "serve",
    "websockets": "serve",
    "prometheus_client": "serve",
    "redis": "redis",
    "httpx": "client",
    "pyarrow": "parquet",
    "zstandard": "zstd",
    "ray": "ray",
    "pyspark": "spark",
}
"""Packages that incoref can use, with the extra that installs each; none for the plain install."""


def register(app: typer.Typer) -> None:
    app.command("info")(info)


def info(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show versions, the default model, threads and paths."""
    facts = gather()
    if as_json:
        print(json.dumps(facts, ensure_ascii=False, indent=2))
        return
    width = max(len(name) for section in facts.values() for name in section)
    for section, entries in facts.items():
        print(section)
        for name, value in entries.items():
            print(f"  {name:{width}}  {_readable(name, value)}")


def gather() -> dict[str, dict[str, Any]]:
    """All facts by section; None means absent."""
    package = Path(__file__).parent.parent
    return {
        "versions": {
            "incoref": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
            **{name: _version(name) for name in PACKAGES},
        },
        "model": _default_model(package),
        "threads": {
            "processors": os.cpu_count(),
            "usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS"),
        },
        "places": {"package": str(package), "python": sys.executable},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _default_model(package: Path) -> dict[str, Any]:
    folder = package / "models" / "en"
    if not (folder / "config.json").is_file():
        return {"default": None}
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {"default": "en", "folder": str(folder), "megabytes": round(size / 1e6, 1)}


def _readable(name: str, value: Any) -> str:
    if value is not None:
        return str(value)
    extra = PACKAGES.get(name)
    if name not in PACKAGES:
        return "none"
    return f"not installed (pip install 'incoref[{extra}]')" if extra else "not installed"
