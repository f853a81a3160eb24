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
    documents = json.loads(before.read_text(encoding="utf-8"))
    same = predictions("--against", before)
    assert (same.returncode, same.stdout) == (
        0,
        f"{len(documents)} of {len(documents)} documents are predicted as before\n"
        "largest difference of a probability in them: 0.0e+00\n",
    )
    name = next(iter(documents))
    for change, complaint in (
        ({"entities": "0"}, "other entities"),
        ({"probabilities": [[1.5, 0.5], *documents[name]["probabilities"][1:]]}, "off by "),
    ):
        before.write_text(json.dumps({**documents, name: {**documents[name], **change}}), encoding="utf-8")
        changed = predictions("--against", before)
        assert changed.returncode == 1
        assert f"{name}: {complaint}" in changed.stdout
        assert f"{len(documents) - 1} of {len(documents)} documents" in changed.stdout
    before.write_text(json.dumps({**documents, "another": documents[name]}), encoding="utf-8")
    missing = predictions("--against", before)
    assert (missing.returncode, missing.stdout) == (1, "the documents are not the same: another\n")
