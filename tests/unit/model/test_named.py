"""Models by name: shipped, installed in another package, missing."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

import incoref
from incoref.errors import IncorefError
from incoref.model.folder import Model
from incoref.model.named import DEFAULT_MODEL, find_model
from incoref.model.selftest import check
from tiny_models import TinyModels


@pytest.fixture
def package(tiny: TinyModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that offers a model: a module and what pip writes beside it."""
    (tmp_path / "some_models.py").write_text(f"FOLDER = {str(tiny.int8)!r}\n", encoding="utf-8")
    info = tmp_path / "some_models-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-models\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[incoref.models]\nour-tiny = some_models:FOLDER\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "some_models", raising=False)


def test_the_shipped_model_has_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_model(None) == find_model("en") == find_model("en-small") == find_model(Path("en")) == DEFAULT_MODEL
    assert find_model(incoref.load().model.config.name) == DEFAULT_MODEL
    (tmp_path / "en").mkdir()
    assert find_model("en") == Path("en")  # a folder comes first


def test_a_model_of_an_installed_package(package: None, tiny: TinyModels) -> None:
    assert find_model("our-tiny") == tiny.int8
    assert incoref.load("our-tiny").model.folder == tiny.int8


def test_a_model_that_is_a_package_of_its_own_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incoref.model.named.entry_points", lambda **_: ())
    with pytest.raises(
        IncorefError, match=r"^en-base: .* isn't installed: pip install incoref-en-base, or in a check"
    ):
        incoref.load("en-base")


def test_the_package_of_the_larger_model_holds_all_of_it() -> None:
    """Installed, it is found by the entry point in its pyproject.toml."""
    package = Path(__file__).parents[3] / "packages" / "incoref-en-base"
    described = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert described["entry-points"]["incoref.models"] == {"en-base": "incoref_en_base:MODEL"}
    assert (package / described["readme"]).is_file()
    folder = package / "src" / "incoref_en_base" / "model"
    assert 'MODEL = Path(__file__).parent / "model"' in (folder.parent / "__init__.py").read_text(encoding="utf-8")
    assert max(file.stat().st_size for file in folder.iterdir()) <= 95e6
    assert check(Model.load(folder)) == 3


def test_an_unknown_name_lists_those_that_are_installed(package: None) -> None:
    with pytest.raises(IncorefError, match=r"xx: no such model folder, .* installed: en, (.*, )?our-tiny"):
        find_model("xx")
