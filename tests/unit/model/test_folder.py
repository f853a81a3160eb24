"""Model folders: what loads, what is refused and how; vectors of words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from incoref.errors import IncorefError
from incoref.model.folder import FORMAT, Model, ModelConfig, word_means
from incoref.model.step import Temperatures
from incoref.model.subwords import NO_WORD, Subwords
from tiny_models import NAMES, SIZES, TinyModels


@pytest.fixture
def folder(tiny: TinyModels, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny.int8, tmp_path / "model"))


def test_a_configuration_survives_its_file(tmp_path: Path) -> None:
    config = ModelConfig("tiny", NAMES, "kv_cache", SIZES, Temperatures(1.5, 0.75), 4, "a description")
    (tmp_path / "config.json").write_text(json.dumps(config.to_json()), encoding="utf-8")
    assert ModelConfig.load(tmp_path / "config.json") == config


def test_a_folder_loads(tiny: TinyModels) -> None:
    model = Model.load(tiny.int8, threads=2)
    assert model.config.names == NAMES
    assert model.config.window == SIZES
    assert Model.load(str(tiny.int8)).fingerprint == model.fingerprint
    assert tiny.model.fingerprint != model.fingerprint


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(IncorefError, match="no such model folder"):
        Model.load(tmp_path / "nothing")


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(IncorefError, match=r"no model there \(config\.json is missing\)"):
        Model.load(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 4}', '{"format": "x"}'])
def test_a_broken_configuration(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content, encoding="utf-8")
    with pytest.raises(IncorefError, match=r"config\.json: not a model's configuration"):
        Model.load(folder)


def test_a_format_of_the_future(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, "format": FORMAT + 1}), encoding="utf-8")
    with pytest.raises(IncorefError, match=f"format {FORMAT + 1}, this incoref reads format {FORMAT}: upgrade"):
        Model.load(folder)


@pytest.mark.parametrize("name", ["encoder.onnx", "head.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("how", ["missing", "empty", "cut", "foreign"])
def test_a_file_that_is_missing_or_damaged_is_named(folder: Path, name: str, how: str) -> None:
    path = folder / name
    whole = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "foreign": b"\x89PNG\r\n"}[how])
    with pytest.raises(IncorefError, match=name.replace(".", r"\.")):
        Model.load(folder)


def test_heads_that_do_not_fit_the_configuration_are_refused(folder: Path, tiny: TinyModels) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["names"]["schemes"] = ["ontonotes", "all", "one", "more"]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(IncorefError, match=r"head\.safetensors"):
        Model.load(folder)


def test_the_first_scheme_is_the_default(tiny: TinyModels) -> None:
    assert tiny.model.classes() == {"genre": 0, "scheme": 0}
    assert tiny.model.classes("all", "talk") == {"genre": 2, "scheme": 1}


@pytest.mark.parametrize(
    ("scheme", "genre", "fault"), [("craft", "unknown", "scheme 'craft'"), (None, "x", "genre 'x'")]
)
def test_what_a_model_does_not_know_is_refused(tiny: TinyModels, scheme: str | None, genre: str, fault: str) -> None:
    with pytest.raises(IncorefError, match=f"the model knows no {fault}; it knows"):
        tiny.model.classes(scheme, genre)


def test_a_words_vector_is_the_mean_of_its_subwords() -> None:
    vectors = np.arange(12, dtype=np.float32).reshape(6, 2)
    found = word_means(vectors, Subwords(np.arange(6), np.array([NO_WORD, 0, 0, 1, NO_WORD, 2])))
    np.testing.assert_array_equal(found, [[3, 4], [6, 7], [10, 11]])
    assert found.dtype == np.float32


def test_no_words_no_vectors() -> None:
    assert word_means(np.zeros((1, 4), np.float32), Subwords(np.array([3]), np.array([NO_WORD]))).shape == (0, 4)
