"""``incoref train`` as people run it: interrupted, killed at random moments, resumed, tried out first."""

from __future__ import annotations

import json
import multiprocessing
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from tiny_training import losses, train, write_paper_run, write_streaming_run

TOOL = (sys.executable, "-c", "from incoref.cli import main; main()")
KILLS = 5


@pytest.fixture(scope="module")
def processes() -> multiprocessing.context.ForkServerContext:
    """Makes processes that have PyTorch loaded already, so that they can be many."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tiny_training", "incoref.learning.train.paper"])
    return context


def finish(processes: multiprocessing.context.ForkServerContext, folder: Path, out: Path) -> None:
    process = processes.Process(target=train, args=(folder, out, True))
    process.start()
    process.join()
    assert process.exitcode == 0


def wait_for(out: Path, steps: int, alive: Callable[[], bool]) -> None:
    """Until a run has logged so many updates, or is no longer alive."""
    while alive() and len(losses(out)) < steps:
        time.sleep(0.002)


@pytest.mark.parametrize("kind", ["streaming", "paper"])
def test_kills_at_random_moments_change_nothing(
    tmp_path: Path, processes: multiprocessing.context.ForkServerContext, kind: str
) -> None:
    options = "checkpoint_minutes = 0.0001\naverage = 0.9\naverage_epochs = 2"
    (write_streaming_run if kind == "streaming" else write_paper_run)(tmp_path, options)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    finish(processes, tmp_path, whole)
    total, seed = len(losses(whole)), random.randrange(10**6)
    moments = random.Random(seed)
    killed_after = []
    for stretch in range(KILLS):
        process = processes.Process(target=train, args=(tmp_path, parts, True))
        process.start()
        # Soon after some update of this stretch of the run: while it computes, logs, saves or evaluates.
        wait_for(parts, moments.randint(stretch * total // KILLS, (stretch + 1) * total // KILLS), process.is_alive)
        process.join(moments.uniform(0, 0.3))
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        killed_after.append(len(losses(parts)))
    finish(processes, tmp_path, parts)
    about = f"seed {seed}, killed after {killed_after} of {total} updates"
    assert losses(parts) == losses(whole), about
    for name in ("last/run.safetensors", "best/model.safetensors"):
        one, other = load_file(parts / name), load_file(whole / name)
        assert one.keys() == other.keys()
        assert all((one[tensor] == other[tensor]).all() for tensor in one), f"{name}, {about}"
    assert not list(parts.glob("**/*.new")) and not list(parts.glob("**/*.old"))


def incoref(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*TOOL, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )


def test_an_interrupt_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    write_streaming_run(tmp_path)
    arguments = ("train", "config.toml", "--out", "run", "--set", "training.epochs=30")
    process = incoref(tmp_path, *arguments)
    wait_for(tmp_path / "run", 5, lambda: process.poll() is None)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    done = len(losses(tmp_path / "run"))
    assert f"stopped and saved after {done} of " in err
    assert "continue with: incoref train config.toml --out run --set training.epochs=30 --resume" in err
    assert "Traceback" not in err
    progress = json.loads((tmp_path / "run" / "last" / "progress.json").read_text(encoding="utf-8"))
    assert progress["step"] == done
    assert re.search(
        r"^update 1/\d+  epoch 1  loss \d+\.\d+  F1 –  \d+ tokens/s  \d+:\d\d:\d\d left$", out, re.MULTILINE
    )
    refused = incoref(tmp_path, *arguments)
    _, err = refused.communicate()
    assert (refused.returncode, err) == (
        1,
        "incoref: run holds a run already; go on with --resume, or choose another folder\n",
    )


def test_a_dry_run_and_a_progress_bar(tmp_path: Path) -> None:
    write_paper_run(tmp_path)
    tried = incoref(tmp_path, "train", "config.toml", "--dry-run")
    out, err = tried.communicate()
    assert (tried.returncode, err) == (0, "")
    for line in (
        r"train\.conll +train +4 +16 +\d+ +\d+ +\d+ +\d+",
        r"mentions to learn +\d+",
        r"sub-words +\d+, 0 of them unknown to the tokenizer",
        r"updates +8, \d+ tokens",
        r"memory +\d+\.\d GiB.*",
        r"time +\d:\d\d:\d\d, plus evaluation",
    ):
        assert re.search(f"^{line}$", out, re.MULTILINE), (line, out)
    assert not (tmp_path / "runs").exists()
    shown = on_a_terminal(tmp_path, "train", "config.toml", "--limit", "2", "--set", "training.epochs=1")
    assert re.search(r"2/2 .*loss \d+\.\d+ +F1 \d+\.\d\d +\d+ tokens/s +0:00:00 left", shown), shown
    assert re.search(r"epoch 1: F1 \d+\.\d\d +\(dev\.conll \d+\.\d\d, mentions \d+\.\d\d\) +best so far", shown)
    assert (tmp_path / "runs" / "config" / "best" / "model.safetensors").is_file()


def on_a_terminal(folder: Path, *arguments: str) -> str:
    """What the tool shows on a wide terminal, without the codes that place it."""
    main, other = pty.openpty()
    environment = {**os.environ, "COLUMNS": "200", "TERM": "xterm", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([*TOOL, *arguments], cwd=folder, stdout=other, stderr=other, env=environment)
    os.close(other)
    shown = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:  # the terminal is closed
            break
        if not piece:
            break
        shown += piece
    os.close(main)
    assert process.wait() == 0, shown
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode("utf-8"))


def test_an_encoder_that_is_not_here(tmp_path: Path) -> None:
    write_paper_run(tmp_path)
    shutil.rmtree(tmp_path / "encoder")
    process = incoref(tmp_path, "train", "config.toml")
    _, err = process.communicate()
    assert process.returncode == 1
    assert err.startswith("incoref: encoder 'encoder': neither a folder with a model nor a name in the local cache")
    assert err.count("\n") == 1
