"""The script that compares a model's predictions with earlier ones: with the shipped model, on a small corpus."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "examples" / "scoring" / "key.conll"


def predictions(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "benchmarks" / "predictions.py", CORPUS, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_predictions_are_the_same_until_something_changes(tmp_path: Path) -> None:
    before = tmp_path / "before.json"
    written = predictions("-o", before)
    assert written.returncode == 0, written.stderr
    digests = json.loads(before.read_text(encoding="utf-8"))
    same = predictions("--against", before)
    assert (same.returncode, same.stdout) == (
        0,
        f"{len(digests)} of {len(digests)} documents are predicted as before\n",
    )
    name = next(iter(digests))
    before.write_text(json.dumps({**digests, name: "0"}), encoding="utf-8")
    changed = predictions("--against", before)
    assert changed.returncode == 1
    assert f"{name}: differs\n" in changed.stdout
