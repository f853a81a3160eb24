"""ONNX Runtime sessions, and the array types of encoders."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime

from incoref.errors import IncorefError

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


def loaded(path: Path, threads: int, *, spin: bool = True) -> onnxruntime.InferenceSession:
    """Load a graph to run on this many threads, which busy-wait for each other with ``spin``, or else sleep."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", str(int(spin)))
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime raises classes of its own that share no base
        raise IncorefError(f"{path}: ONNX Runtime can't load this encoder: {error}") from error


def processors() -> int:
    """Return the number of processors this process may use, or of all where the system doesn't tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
