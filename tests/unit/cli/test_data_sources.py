"""A missing corpus or encoder gives an error that says where it comes from; docs/data.md has the same sources."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from incoref.cli import app
from incoref.cli._data_sources import SOURCES, check_paths, where_from
from incoref.errors import IncorefError
from incoref.learning.config import Configuration
from incoref.model.named import installed_model
from tiny_training import write_streaming_run

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
CONFIGS = [path for path in sorted((ROOT / "configs").glob("*.toml")) if "[[train]]" in path.read_text("utf-8")]


@pytest.mark.parametrize("name", SOURCES)
def test_the_page_names_every_source(name: str) -> None:
    source = SOURCES[name]
    assert source.title in PAGE
    rows = [line for line in PAGE.splitlines() if source.address in line and line.startswith("|")]
    assert any(source.licence in row for row in rows), f"docs/data.md: no row with {source.address}, {source.licence}"


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_every_path_in_configs_has_a_known_source(config: Path) -> None:
    """So that whoever has a fresh clone learns where to get it."""
    configuration = Configuration.load(config)
    paths = [corpus.path for corpus in (*configuration.train, *configuration.dev)]
    if installed_model(str(configuration.encoder.path)) is None:
        paths.append(configuration.encoder.path)
    assert all(where_from(path) for path in paths)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_training_in_a_fresh_clone_says_what_to_get(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    error = _error_of("train", str(config), "--dry-run")
    needs_encoder = installed_model(str(Configuration.load(config).encoder.path)) is None
    assert f"{config}: {'encoder.path' if needs_encoder else 'train.0.path'}" in str(error)
    assert ("https://huggingface.co/" if needs_encoder else "https://github.com/") in str(error)
    assert "docs/data.md" in str(error)


def test_a_missing_corpus_is_named_with_its_setting_and_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_streaming_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    [config] = tmp_path.glob("*.toml")
    error = _error_of("train", str(config), "--dry-run", "--set", "train.0.path=x/litbank/conll")
    assert str(error).startswith(f"{config}: train.0.path = 'x/litbank/conll': no such file or directory. LitBank")
    error = _error_of("train", str(config), "--dry-run", "--set", "dev.0.path=mine")
    assert "dev.0.path = 'mine'" in str(error)
    assert f"relative to the current directory, {tmp_path}" in str(error)


def test_what_is_there_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_streaming_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    [config] = tmp_path.glob("*.toml")
    check_paths(Configuration.load(config), config)


def test_evaluating_on_a_missing_corpus_says_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = _error_of("evaluate", "corpora/ontogum/dev")
    assert str(error).startswith("corpora/ontogum/dev: no such file or directory. OntoGUM comes from https://")


def _error_of(*words: str) -> IncorefError:
    error = CliRunner().invoke(app, words).exception
    assert isinstance(error, IncorefError)
    return error
