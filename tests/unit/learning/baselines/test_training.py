"""Every baseline is trained, resumed, saved, loaded and run like the other kinds of model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from baseline_runs import SYSTEMS, write_baseline_run
from incoref import corpora
from incoref.errors import IncorefError
from incoref.learning.baselines.encoders import XLNetWindows
from incoref.learning.baselines.pieces import encode
from incoref.learning.baselines.system import load_baseline
from incoref.learning.config import Configuration
from incoref.learning.train.dry_run import inspect
from incoref.learning.train.progress import Report, StepReport
from incoref.learning.train.trainer import Stopped, Trainer
from tiny_training import losses, write_xlnet


@pytest.fixture(params=SYSTEMS)
def run_folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_baseline_run(tmp_path, request.param)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trainer(out: str, *settings: str) -> Trainer:
    return Trainer(Configuration.load(Path("config.toml"), settings), Path(out))


def test_it_learns_and_finds_what_it_has_learned(run_folder: Path) -> None:
    run = trainer(
        "out", "training.epochs=6", "training.head_rate=0.02", "training.encoder_rate=0.001", "dev.0.limit=1"
    )
    run.run()
    found = [loss for _, _, loss in losses(Path("out"))]
    assert np.mean(found[-4:]) < 0.95 * np.mean(found[:4])
    model = load_baseline(Path("out/best"))
    for document in corpora.read(Path("dev.conll")):
        prediction = model.predict(document)
        spans = [span for cluster in prediction.clusters for span in cluster]
        assert len(spans) == len(set(spans))
        assert all(0 <= first < end <= len(document.tokens) for first, end in spans)
        assert prediction.spans > 0
        assert prediction.comparisons >= 0


def test_a_stopped_run_goes_on_bit_for_bit(run_folder: Path) -> None:
    trainer("out-whole").run()
    steps = 0

    def count(event: Report) -> None:
        nonlocal steps
        steps += isinstance(event, StepReport)

    with pytest.raises(Stopped):
        trainer("out-parts").run(count, stop=lambda: steps >= 3)
    trainer("out-parts").run(resume=True)
    assert losses(Path("out-parts")) == losses(Path("out-whole"))
    one, other = (load_file(f"{out}/best/model.safetensors") for out in ("out-parts", "out-whole"))
    assert one.keys() == other.keys()
    assert all(torch.equal(value, other[name]) for name, value in one.items())


def test_a_saved_model_predicts_what_the_trained_one_does(run_folder: Path) -> None:
    run = trainer("out", "training.epochs=1")
    run.run()
    documents = list(corpora.read(Path("dev.conll")))
    corpus = run.config.dev[0]
    loaded = load_baseline(Path("out/best"))
    assert [loaded.predict(document).clusters for document in documents] == list(
        run.trainable.predict(documents, corpus)
    )


def test_a_dry_run_inspects_it(run_folder: Path) -> None:
    found = inspect(trainer("out"))
    assert found.trained > 0
    assert len(found.measured) > 0


def test_settings_of_other_kinds_are_refused(tmp_path: Path) -> None:
    write_baseline_run(tmp_path, "c2f")
    for setting, fault in (
        ("s2e.hidden=3", 'the section s2e is for kind = "s2e"'),
        ("training.masked=0.1", 'not for kind = "c2f": training.masked'),
        ("c2f.hiden=3", "hiden"),
    ):
        with pytest.raises(IncorefError, match=fault):
            Configuration.load(tmp_path / "config.toml", [setting])


def test_a_folder_that_is_no_baseline_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"kind": "c3f", "settings": {}, "encoder": {}}')
    with pytest.raises(IncorefError, match="not the configuration of a baseline"):
        load_baseline(tmp_path)


@pytest.mark.parametrize("name", ["c2f", "icoref-inc"])
def test_it_reads_with_xlnet(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_baseline_run(tmp_path, name)
    write_xlnet(tmp_path / "xlnet")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(IncorefError, match=r"set encoder\.capitals = false"):
        trainer("out", "encoder.path=xlnet")
    run = trainer("out", "encoder.path=xlnet", "encoder.capitals=false", "training.epochs=1")
    before = {name: value.clone() for name, value in run.model.named_parameters()}
    run.run()
    learned = {name.split(".")[2] for name, value in run.model.named_parameters() if not value.equal(before[name])}
    assert {"word_embedding", "layer"} <= learned
    documents = list(corpora.read(Path("dev.conll")))
    loaded = load_baseline(Path("out/best"))
    found = [loaded.predict(document).clusters for document in documents]
    assert found == list(run.trainable.predict(documents, run.config.dev[0]))
    [window, *_] = loaded.pieces_of(documents[0]).windows
    assert isinstance(loaded.encoder, XLNetWindows)
    with torch.inference_mode():
        ours = encode(loaded.encoder, [window, window])[: len(window.ids)]
        theirs = loaded.encoder.model(torch.tensor([window.ids])).last_hidden_state[0]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)
