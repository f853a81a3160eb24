"""``incoref batch`` as a user meets it: real processes, really killed."""

from __future__ import annotations

import gzip
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
import zstandard

from incoref.batch import run
from tiny_models import WORDS, TinyModels

ROWS = 150
KILLS = 3


def document(number: int) -> str:
    draw = random.Random(number)
    sentences = (" ".join(draw.choices(WORDS, k=draw.randint(2, 12))) for _ in range(draw.randint(1, 12)))
    return ". ".join(sentences) + "."


@pytest.fixture(scope="module")
def model(tiny: TinyModels) -> Path:
    return tiny.stateless["int8"].folder


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("batch") / "in.jsonl"
    rows = [{"id": n, "text": document(n) if n % 50 != 17 else None, "topic": f"t{n % 7}"} for n in range(ROWS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def whole(lines: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a run gives that nobody interrupts, in this process."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    run(lines, folder, model=model, shard_rows=5)
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name[0] != "."}


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "incoref", "batch", *map(str, arguments)]


def done(*arguments: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(*arguments), input=given, capture_output=True, check=False)


def parts(folder: Path) -> int:
    return len(list(folder.glob("part-*")))


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def started(arguments: Sequence[str], folder: Path, more: int) -> subprocess.Popen[bytes]:
    """A run that has finished so many more shards."""
    wanted = parts(folder) + more
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a background job ignores it
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=heed)
    deadline = time.monotonic() + 60
    while parts(folder) < wanted and process.poll() is None:
        assert time.monotonic() < deadline, "no shard was finished"
        time.sleep(0.005)
    return process


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_is_killed_again_and_again_gives_the_same_bytes(
    lines: Path, model: Path, whole: dict[str, bytes], tmp_path: Path, workers: int
) -> None:
    out = tmp_path / "out"
    arguments = command(lines, "-o", out, "--model", model, "--shard-rows", "5", "--workers", str(workers))
    killed = 0
    for number in range(KILLS):
        process = started(arguments, out, 2 + number)
        workers_of_it = children(process.pid) if process.poll() is None else []
        process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        deadline = time.monotonic() + 30
        while not all(map(gone, workers_of_it)):
            assert time.monotonic() < deadline, "a worker outlived its parent"
            time.sleep(0.02)
    assert killed, "every run was done before it could be killed"
    assert 0 < parts(out) < ROWS / 5
    last = subprocess.run(arguments, capture_output=True, check=True)
    assert b"in earlier runs" in last.stdout
    assert contents(out) == whole


def test_a_worker_that_is_killed_ends_the_run_which_then_goes_on(
    lines: Path, model: Path, whole: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = command(lines, "-o", out, "--model", model, "--shard-rows", "5", "--workers", "2")
    process = started(arguments, out, 2)
    os.kill(children(process.pid)[0], signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"a worker process was ended by signal 9; what is finished is kept" in said
    assert subprocess.run(arguments, capture_output=True, check=False).returncode == 0
    assert contents(out) == whole


def test_ctrl_c_is_quiet_and_leaves_nobody_behind(lines: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = command(lines, "-o", out, "--model", model, "--shard-rows", "5", "--workers", "2")
    process = started(arguments, out, 1)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == b"incoref: interrupted; run the same command again to continue\n"
    assert all(map(gone, workers))


def test_compressed_lines_and_standard_input_give_the_same(
    lines: Path, model: Path, whole: dict[str, bytes], tmp_path: Path
) -> None:
    data = lines.read_bytes()
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(data))
    (tmp_path / "in.jsonl.zst").write_bytes(zstandard.compress(data))
    expected = {name: found for name, found in whole.items() if name != "errors.jsonl"}
    sources: list[str | Path] = [tmp_path / "in.jsonl.gz", tmp_path / "in.jsonl.zst", "-"]
    for number, source in enumerate(sources):
        out = tmp_path / f"out-{number}"
        given = data if source == "-" else b""
        process = done(source, "-o", out, "--model", model, "--shard-rows", "5", given=given)
        assert process.returncode == 0, process.stderr
        assert process.stderr == b""
        found = contents(out)
        assert len(found.pop("errors.jsonl").splitlines()) == 3
        assert found == expected


def test_the_summary_says_what_was_done(lines: Path, model: Path, tmp_path: Path) -> None:
    process = done(lines, "-o", tmp_path / "out", "--model", model)
    first, second = process.stdout.decode().splitlines()
    assert first.startswith("147 documents, ")
    assert "in 1 shards" in first
    assert first.endswith(f"3 bad rows: {tmp_path / 'out' / 'errors.jsonl'}")
    assert "documents/s" in second
    assert "words/s" in second


@pytest.mark.parametrize("workers", [1, 2])
def test_a_disk_without_room_is_said_in_a_line_and_the_run_goes_on_later(
    lines: Path, model: Path, whole: dict[str, bytes], tmp_path: Path, workers: int
) -> None:
    out = tmp_path / "out"
    arguments = command(lines, "-o", out, "--model", model, "--shard-rows", "5", "--workers", str(workers))
    room = sorted(len(content) for name, content in whole.items() if name.startswith("part-"))[-3]
    process = subprocess.run(
        arguments,
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )
    assert process.returncode == 1
    assert process.stderr.startswith(f"incoref: {out}: File too large; what is finished is kept".encode())
    assert process.stderr.count(b"\n") == 1
    subprocess.run(arguments, capture_output=True, check=True)
    assert contents(out) == whole


def test_faults_are_one_line(lines: Path, model: Path, tmp_path: Path) -> None:
    cases: list[tuple[tuple[str | Path, ...], bytes]] = [
        (
            (lines, "-o", tmp_path / "a", "--max-errors", "1", "--shard-rows", "20"),
            b"2 rows can't be read as documents, more",
        ),
        ((tmp_path / "none.jsonl", "-o", tmp_path / "b"), b"no such file or folder"),
        ((lines, "-o", tmp_path / "c", "--text-column", "id", "--id-column", "id"), b"columns of their own"),
    ]
    for arguments, fault in cases:
        process = done(*arguments, "--model", model)
        assert process.returncode == 1
        assert fault in process.stderr
        assert process.stderr.startswith(b"incoref: ")
        assert process.stderr.count(b"\n") == 1
