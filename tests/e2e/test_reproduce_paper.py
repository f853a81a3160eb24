"""Every row of the paper has a command, and every command runs dry with a stand-in for the encoder and the corpus."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from incoref.analysis.paper import figures
from incoref.cli import app
from tiny_training import write_bert, write_corpus, write_xlnet

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "configs" / "reproduce-paper" / "README.md"
ROWS = dict(re.findall(r"^\| (.+?) \| `(incoref train .+?)` \|$", README.read_text(encoding="utf-8"), re.MULTILINE))
NOT_BUILT = {"s2e + centering"}


def test_every_row_of_the_paper_is_there() -> None:
    systems = {entry["system"] for entry in figures()["ontonotes_test"]["rows"]}
    assert systems - ROWS.keys() == NOT_BUILT
    configs = {path.relative_to(ROOT).as_posix() for path in README.parent.glob("*.toml")} - {
        f"configs/reproduce-paper/{name}.toml" for name in ("ablations", "report")
    }
    assert configs <= {shlex.split(command)[2] for command in ROWS.values()}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_runs_dry(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, config, *options = shlex.split(ROWS[row])
    papers_own = not config.startswith("configs/reproduce-paper/")
    (write_xlnet if papers_own or "xlnet" in row.lower() else write_bert)(tmp_path / "encoder")
    write_corpus(tmp_path / "train.conll", 3)
    write_corpus(tmp_path / "dev.conll", 1, seed=90)
    monkeypatch.chdir(tmp_path)
    stand_in = {
        "encoder" if papers_own else "encoder.path": "encoder",
        "train.0.path": "train.conll",
        "dev.0.path": "dev.conll",
    }
    changed = [word for name, value in stand_in.items() for word in ("--set", f"{name}={value}")]
    found = CliRunner().invoke(app, ["train", str(ROOT / config), *options, *changed, "--dry-run"])
    assert found.exception is None, found.output
    assert re.search(r"^mentions to learn +\d+$", found.output, re.MULTILINE)
    assert re.search(r"^updates +\d+, ", found.output, re.MULTILINE)
    assert not (tmp_path / "runs").exists()
