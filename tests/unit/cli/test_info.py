"""``incoref info`` and ``--version``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import incoref
from incoref.cli import app, info


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"incoref {incoref.__version__}\n"


def test_json() -> None:
    data = json.loads(CliRunner().invoke(app, ["info", "--json"]).stdout)
    assert list(data) == ["versions", "model", "threads", "places"]
    assert data["versions"]["incoref"] == incoref.__version__
    assert data["versions"]["numpy"]
    assert data["threads"]["usable"] >= 1


def test_an_absent_package_comes_with_the_extra_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(info, "_version", lambda package: None if package == "torch" else "1.0")
    printed = CliRunner().invoke(app, ["info"]).stdout
    (line,) = (line for line in printed.splitlines() if line.split()[0] == "torch")
    assert "not installed (pip install 'incoref[train]')" in line


def test_a_model_folder_is_shown(tmp_path: Path) -> None:
    assert info._default_model(tmp_path) == {"default": None}
    folder = tmp_path / "models" / "en"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert info._default_model(tmp_path)["folder"] == str(folder)


def test_an_expected_error_is_one_line_and_exit_code_1() -> None:
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            "import incoref.cli; incoref.cli.main()",
            "score",
            "/no/such/key",
            "/no/such/response",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("incoref: ")
    assert result.stderr.count("\n") == 1
