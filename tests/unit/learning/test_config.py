"""Configurations of training runs: what is read, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoref.analysis.ablate import read_variants
from incoref.errors import IncorefError
from incoref.learning.config import Configuration
from tiny_training import PAPER, STREAMING

ROOT = Path(__file__).resolve().parents[3]


def read(tmp_path: Path, text: str, *settings: str) -> Configuration:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return Configuration.load(path, settings)


@pytest.fixture
def paper() -> str:
    return PAPER.format(mode="paper", setting="sent-inc")


def test_defaults_and_values(tmp_path: Path) -> None:
    config = read(tmp_path, STREAMING)
    assert (config.kind, config.encoder.window, config.training.epochs) == ("streaming", 48, 2)
    assert [corpus.share for corpus in config.train] == [1.0, 0.7]


def test_an_encoder_may_be_a_path_alone(tmp_path: Path, paper: str) -> None:
    assert read(tmp_path, paper).encoder.path == Path("encoder")


@pytest.mark.parametrize("kind", ["streaming", "paper"])
def test_json_round_trip(tmp_path: Path, paper: str, kind: str) -> None:
    config = read(tmp_path, STREAMING if kind == "streaming" else paper)
    assert Configuration.model_validate_json(config.model_dump_json()) == config


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kind = ", "not TOML"),
        (STREAMING + "\n[training2]\n", "training2: Extra inputs"),
        (STREAMING.replace("epochs = 2", "epochs = 0"), r"training\.epochs: .*greater than 0"),
        (STREAMING + '\n[paper]\nmode = "paper"\n', 'the section paper is for kind = "paper"'),
        (
            STREAMING.replace("types =", 'kind = "paper"\ntypes ='),
            'not for kind = "paper": heads, types, encoder.window',
        ),
    ],
)
def test_faults_are_named(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(IncorefError, match=f"config\\.toml: .*{fault}"):
        read(tmp_path, text)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(IncorefError, match="no such configuration file"):
        Configuration.load(tmp_path / "none.toml")


def test_settings_change_single_values(tmp_path: Path) -> None:
    config = read(
        tmp_path, STREAMING, "training.epochs=7", "dev.0.limit = 2", "training.device=cpu", "training.k=[1, 4]"
    )
    assert (config.training.epochs, config.dev[0].limit, config.training.device) == (7, 2, "cpu")
    assert config.training.k == (1, 4)


@pytest.mark.parametrize("setting", ["training.epochs", "dev.3.limit=2", "dev.x.limit=2", "types.a=1"])
def test_settings_that_have_no_place_are_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(IncorefError, match="write it as"):
        read(tmp_path, STREAMING, setting)


def test_changes_that_matter(tmp_path: Path) -> None:
    before = read(tmp_path, STREAMING)
    assert read(tmp_path, STREAMING, "training.threads=2", "training.device=cpu").changes_since(before) == []
    after = read(tmp_path, STREAMING, "training.seed=9", "dev.0.drop_singletons=false")
    assert sorted(after.changes_since(before)) == ["dev", "training.seed"]


def test_a_limit_holds_for_all_corpora(tmp_path: Path) -> None:
    config = read(tmp_path, STREAMING, "dev.0.limit=2").with_limit(3)
    assert [corpus.limit for corpus in (*config.train, *config.dev)] == [3, 3, 2]


STREAMING_CONFIGS = ("default-en", "base-en", "adapt-dialogues", "reduced-en", "reduced-litbank")
PAPER_CONFIGS = ("paper-sent-inc", "paper-part-inc", "k-sentence")


@pytest.mark.parametrize("name", [*STREAMING_CONFIGS, *PAPER_CONFIGS])
def test_the_configurations_of_the_project_are_valid(name: str) -> None:
    config = Configuration.load(ROOT / "configs" / f"{name}.toml")
    assert config.kind == ("streaming" if name in STREAMING_CONFIGS else "paper")


def test_every_setting_is_described() -> None:
    """The descriptions are the documentation of the settings; those of a section are its own settings'."""
    clear = {"encoder", "heads", "training", "train", "dev"}
    for section in (Configuration, *(field.annotation for field in Configuration.model_fields.values())):
        for name, field in getattr(section, "model_fields", {}).items():
            assert field.description or name in clear, name


def test_ablations_change_the_reduced_recipe() -> None:
    variants = read_variants(ROOT / "configs" / "ablations-en.toml")
    whole = Configuration.load(ROOT / "configs" / "reduced-en.toml")
    changed = {
        name: Configuration.load(ROOT / "configs" / "reduced-en.toml", some) for name, some in variants.items()
    }
    assert all(config != whole for config in changed.values())
    assert changed["without singletons"].train[0].singletons_from is None
    assert not changed["without cache"].encoder.sizes.cache
    assert changed["without speakers"].heads.without == ("speaker", *whole.heads.without)
