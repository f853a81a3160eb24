"""Write findings to one folder: NAME.json, NAME.png, NAME.svg and any further pages."""

from __future__ import annotations

import json
from pathlib import Path

from incoref.analysis.findings import Findings
from incoref.analysis.plots import draw
from incoref.analysis.provenance import Provenance
from incoref.errors import IncorefError


def write_findings(findings: Findings, folder: Path, name: str, command: str, provenance: Provenance) -> list[Path]:
    """Write all files and return their paths; ``command`` and ``provenance`` are recorded in the JSON file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / f"{name}.json"]
        described = {"command": command, "made": provenance.to_json(), **findings.to_json()}
        written[0].write_text(json.dumps(described, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        for ending, content in findings.pages.items():
            written.append(folder / f"{name}-{ending}")
            written[-1].write_text(content, encoding="utf-8")
    except OSError as error:
        raise IncorefError(f"{folder}: {error.strerror or error}") from error
    if findings.plots:
        written += [folder / f"{name}.png", folder / f"{name}.svg"]
        draw(findings.plots, written[-2], written[-1])
    return written
