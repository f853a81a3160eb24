"""The log of a run: one JSON line per step and per evaluation, and optionally the same for TensorBoard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incoref.errors import IncorefError


class RunLog:
    """Appends to ``log.jsonl``; each line is written in one piece and handed to the system before the next step."""

    def __init__(self, folder: Path, step: int, epoch: int, averaged: bool, tensorboard: bool = False) -> None:
        """Continue from a checkpoint: lines that a killed run logged after it are removed.

        The checkpoint is from after ``step`` steps and the evaluation of ``epoch`` epochs, and of the averaged
        weights if ``averaged``.
        """
        self._path = folder / "log.jsonl"
        kept = [line for line in _lines(self._path) if _belongs(line, step, epoch, averaged)]
        fresh = self._path.with_suffix(".new")
        fresh.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
        fresh.replace(self._path)
        self._board = _Board(folder / "tensorboard", step) if tensorboard else None

    def write(self, line: Mapping[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        if self._board is not None:
            self._board.write(line)


def dev_scores(folder: Path, step: int) -> list[float]:
    """Return the mean dev F1 after each epoch in the first ``step`` steps, from the log."""
    lines = _lines(folder / "log.jsonl")
    return [line["mean_f1"] for line in lines if line["kind"] == "dev" and line["epoch"] and line["step"] <= step]


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a log, up to one that a kill has cut short."""
    if not path.is_file():
        return []
    lines: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            lines.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return lines


def _belongs(line: Mapping[str, Any], step: int, epoch: int, averaged: bool) -> bool:
    if line["kind"] == "step":
        return int(line["step"]) < step
    return int(line["epoch"]) <= epoch and (averaged or "averaged" not in line)


class _Board:
    def __init__(self, folder: Path, step: int) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise IncorefError(
                "training.tensorboard needs the package 'tensorboard', which is not installed. "
                "Install it with: pip install tensorboard"
            ) from error
        self._writer = SummaryWriter(str(folder), purge_step=step)

    def write(self, line: Mapping[str, Any]) -> None:
        step = int(line["step"])
        if line["kind"] == "step":
            for name, value in line.items():
                if isinstance(value, float):
                    self._writer.add_scalar(f"train/{name}", value, step)
            return
        self._writer.add_scalar("dev/mean_f1", line["mean_f1"], step)
        for corpus, scores in line["scores"].items():
            self._writer.add_scalar(f"dev/{corpus}", scores["conll_f1"], step)
        self._writer.flush()
