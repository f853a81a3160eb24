"""Every shell block of the documentation runs, page by page from top to bottom, in a folder with example files.

A block that can't run has a comment right above it, ``<!-- not run: the reason -->``, or its page has one for all of
its blocks, ``<!-- no shell block of this page is run: the reason -->``. Such a block is still checked: it is valid
shell, and its incoref commands exist and take the options given. A block with ``title="FILE"`` is first written to
that file. Blocks marked ``sh tour`` need a server and are run by ``tests/e2e/test_serve.py``.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest
import typer

from incoref import corpora
from incoref.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "configs").rglob("*.md")),
    ROOT / "benchmarks" / "README.md",
    ROOT / "src" / "incoref" / "models" / "en" / "MODEL_CARD.md",
]
BLOCK = re.compile(r"^(?:<!-- not run: (?P<reason>.*?) -->\n)?```sh\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE)
WHOLE_PAGE = re.compile(r"^<!-- no shell block of this page is run: (?P<reason>.*?) -->$", re.DOTALL | re.MULTILINE)
TITLED = re.compile(r'^```\w+ title="(?P<file>[\w.-]+)"\n(?P<code>.*?)^```', re.DOTALL | re.MULTILINE)
NOT_RUN = {
    "results.md": "made by incoref report configs/results.toml, which needs corpora and trains models for hours"
}
"""Generated pages, which have no place for a comment."""
OPERATORS = ("&", "&&", "|", "||", ";", "<", ">")
UNMARKED = re.compile(r"^```(?:bash|shell|shellsession|)\n", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    code: str
    reason: str | None
    """Why it is not run."""


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    whole = WHOLE_PAGE.search(text)
    of_page = whole["reason"] if whole else NOT_RUN.get(page.name)
    return [
        Block(
            page,
            text.count("\n", 0, match.start()) + 1,
            match["code"],
            match["reason"] or of_page,
        )
        for match in BLOCK.finditer(text)
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
RUN_ON = sorted({block.page for block in BLOCKS if block.reason is None})


def name_of(value: Block | Path) -> str:
    return f"{value.page.name}:{value.line}" if isinstance(value, Block) else value.name


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A folder with the files that the pages' commands read, and the tool itself on the path."""
    for folder in ("formats", "scoring"):
        shutil.copytree(ROOT / "examples" / folder, tmp_path, dirs_exist_ok=True)
    shutil.copy(ROOT / "examples" / "story.txt", tmp_path)
    corpora.write(corpora.read(tmp_path / "key.conll"), tmp_path / "dev.conllu")
    for folder in ("train", "dev", "ontogum/dev", "ontogum/test"):
        (tmp_path / folder).mkdir(parents=True)
        for name in ("ferry.conllu", "key.conll"):
            shutil.copy(tmp_path / name, tmp_path / folder)
    for name in ("key", "response"):
        (tmp_path / name).mkdir()
        shutil.copy(tmp_path / f"{name}.conll", tmp_path / name / "one.conll")
    (tmp_path / "my-model").symlink_to(ROOT / "src" / "incoref" / "models" / "en")
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin" / "incoref"
    tool.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m incoref "$@"\n', encoding="utf-8")
    tool.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("page", RUN_ON, ids=name_of)
def test_blocks_run(page: Path, examples: Path) -> None:
    for match in TITLED.finditer(page.read_text(encoding="utf-8")):
        (examples / match["file"]).write_text(match["code"], encoding="utf-8")
    environment = {**os.environ, "PATH": f"{examples / 'bin'}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    for block in blocks_of(page):
        if block.reason is None:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", block.code],
                cwd=examples,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, f"{name_of(block)}\n{block.code}\n{done.stderr}"


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.reason], ids=name_of)
def test_blocks_that_are_not_run_could_be(block: Block) -> None:
    syntax = subprocess.run(["bash", "-n", "-c", block.code], capture_output=True, text=True)
    assert syntax.returncode == 0, syntax.stderr
    for line in block.code.replace("\\\n", " ").splitlines():
        words = list(takewhile(lambda word: word not in OPERATORS, shlex.split(line, comments=True)))
        if words[:1] == ["incoref"]:
            command = typer.main.get_command(app)
            arguments = words[1:]
            while hasattr(command, "commands"):
                command = command.commands[arguments.pop(0)]
            command.make_context(line, arguments)


def test_every_shell_block_is_marked_as_one() -> None:
    """A fence without a language, or another name for a shell, would slip through."""
    for page in PAGES:
        fences = page.read_text(encoding="utf-8").split("\n```")
        openings = "\n".join(f"```{fence}" for fence in fences[1::2])
        assert not UNMARKED.search(openings), f"{page.name}: a code block without a language, or not marked sh"
