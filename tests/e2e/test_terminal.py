"""What people see on a terminal and programs don't see in a pipe: colours, a table, a progress bar."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

pty = pytest.importorskip("pty", reason="needs a Unix terminal")

STORY = Path(__file__).resolve().parents[2] / "examples" / "story.txt"
ESCAPE = "\x1b["
COLOUR = re.compile(r"\x1b\[(?:\d+;)*[39]\d")


def on_terminal(*arguments: str, stream: str, settings: Mapping[str, str] | None = None) -> str:
    """What a command writes to standard output or standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    unset = {"NO_COLOR", "FORCE_COLOR", "CI", "TTY_COMPATIBLE"}
    plain = {name: value for name, value in os.environ.items() if name not in unset}
    with subprocess.Popen(
        [sys.executable, "-m", "incoref", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs if stream == "stdout" else subprocess.DEVNULL,
        stderr=theirs if stream == "stderr" else subprocess.DEVNULL,
        env={**plain, "TERM": "xterm-256color", "COLUMNS": "120", **(settings or {})},
    ) as process:
        os.close(theirs)
        written = b""
        while piece := _read(ours):
            written += piece
        assert process.wait() == 0
    os.close(ours)
    return written.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux says so when nobody writes to a terminal any more
        return b""


def test_colours_and_a_table_on_a_terminal() -> None:
    shown = on_terminal("resolve", str(STORY), stream="stdout")
    assert COLOUR.search(shown)
    assert "mentions" in shown
    without = on_terminal("resolve", str(STORY), stream="stdout", settings={"NO_COLOR": "1"})
    assert "Anna Kern" in without
    assert not COLOUR.search(without)


def test_a_progress_bar_on_a_terminal(tmp_path: Path) -> None:
    files = (str(STORY), str(STORY))
    shown = on_terminal("resolve", *files, "-f", "json", "-o", f"{tmp_path}/", stream="stderr")
    assert "2 files" in shown
    assert "100%" in shown
    assert sorted(path.name for path in tmp_path.iterdir()) == ["story-2.json", "story.json"]


def test_neither_in_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "incoref", "resolve", str(STORY), str(STORY)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ESCAPE not in done.stdout
    assert done.stderr == ""
