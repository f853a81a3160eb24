"""``incoref check-reference`` and ``incoref import-checkpoint`` on folders made by our own definition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from incoref.cli import app
from incoref.errors import FormatError, IncorefError
from incoref.learning.paper.checkpoint import load_paper_model
from incoref.learning.paper.config import Mode, PaperConfig, Setting
from incoref.learning.paper.reference import read_reference
from incoref.learning.reference_outputs import Difference, tensor_difference
from paper_models import random_document, tiny_config, write_reference_folder

CONFIGS = {
    "sent-inc": tiny_config(Mode.REFERENCE, Setting.SENT_INC, cache=10),
    "no-speakers": tiny_config(Mode.REFERENCE, Setting.SENT_INC, cache=10, use_speakers=False),
    "k-sentence": tiny_config(Mode.REFERENCE, Setting.K_SENTENCE, k=3, window=30),
    "part-inc": tiny_config(Mode.REFERENCE, Setting.PART_INC),
    "threshold": tiny_config(Mode.REFERENCE, Setting.SENT_INC, cache=10, new_score=0.5),
}


def write(folder: Path, config: PaperConfig) -> Path:
    write_reference_folder(folder, config, [random_document(seed, config, 3) for seed in (1, 2)])
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "outputs", CONFIGS["sent-inc"])


def check_reference(folder: Path) -> list[Difference]:
    return read_reference(folder).check()


def change(path: Path, *keys: Any, value: Any) -> None:
    whole = json.loads(path.read_text())
    place = whole
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value(place[keys[-1]]) if callable(value) else value
    path.write_text(json.dumps(whole))


@pytest.mark.parametrize("name", CONFIGS)
def test_a_folder_made_by_the_definition_passes(name: str, tmp_path: Path) -> None:
    rows = check_reference(write(tmp_path / name, CONFIGS[name]))
    assert len(rows) == 13
    assert all(row.passed for row in rows), rows


SLIPS = {
    "free running: action logits": ("free_running", "action_logits", 3, 0, lambda v: (v or 0) + 3e-6),
    "free running: actions": ("free_running", "actions", 0, lambda v: 1 - v),
    "free running: coref scores": ("free_running", "coref_scores", 2, -1, 3e-6),
    "free running: coref actions": ("free_running", "coref_actions", 1, 99),
    "free running: clusters": ("free_running", "clusters", []),
    "free running: all clusters": ("free_running", "all_clusters", 0, 0, [0, 99]),
    "teacher forced: action logits": ("teacher_forced", "action_logits", 0, [None] * 4),
    "teacher forced: coref scores": ("teacher_forced", "coref_scores", 1, lambda v: v[:-1]),
    "teacher forced: loss": ("teacher_forced", "loss", lambda v: v * 1.00001),
    "teacher forced: grad norms": ("teacher_forced", "grad_norms", "mention_attn.weight", lambda v: v + 2e-5),
}


def test_each_number_that_is_off_is_found_and_no_other(folder: Path) -> None:
    slips = list(SLIPS.items())
    for some in (slips[::2], slips[1::2]):
        expected = (folder / "expected.json").read_text()
        for _, (*keys, value) in some:
            change(folder / "expected.json", 1, *keys, value=value)
        wrong = [row for row in check_reference(folder) if not row.passed]
        assert [(row.quantity, row.document) for row in wrong] == [(quantity, 1) for quantity, _ in some]
        (folder / "expected.json").write_text(expected)


def test_single_precision_is_reported_but_does_not_decide(folder: Path) -> None:
    rows = {row.quantity: row for row in check_reference(folder)}
    logits = rows["free running: action logits"]
    assert logits.single is not None
    assert logits.largest < 1e-12 < logits.single
    assert not Difference("logits", largest=2e-6, single=2e-6).passed
    assert Difference("logits", largest=9e-7, single=0.5).passed


def test_other_weights_are_found(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["parse_action_ffnn.3.bias"][2] += 0.01
    save_file(weights, folder / "model.safetensors")
    assert not all(row.passed for row in check_reference(folder))


def test_weights_that_give_no_numbers_are_found(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["parse_action_ffnn.3.bias"][2] = float("nan")
    save_file(weights, folder / "model.safetensors")
    wrong = {row.quantity for row in check_reference(folder) if not row.passed}
    assert {"teacher forced: action logits", "teacher forced: loss", "teacher forced: grad norms"} <= wrong


def test_the_command_prints_every_quantity_and_fails_above_the_tolerance(folder: Path) -> None:
    good = CliRunner().invoke(app, ["check-reference", str(folder)])
    assert good.exit_code == 0, good.output
    assert "teacher forced: grad norms" in good.output
    assert "DIFFERENT" not in good.output
    change(folder / "expected.json", 0, "teacher_forced", "loss", value=5.0)
    bad = CliRunner().invoke(app, ["check-reference", str(folder.parent)])
    assert bad.exit_code != 0
    assert isinstance(bad.exception, IncorefError)
    assert bad.output.count("DIFFERENT") == 1


def test_a_folder_without_outputs_is_an_error(tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["check-reference", str(tmp_path)])
    assert isinstance(found.exception, IncorefError)
    assert "config.json" in str(found.exception)


def test_faults_in_a_folder_are_named(folder: Path) -> None:
    for actions in ([2, 0], [0, 0], [1, 1]):
        change(folder / "documents.json", 1, "gold_actions", value=actions)
        with pytest.raises(FormatError, match=r"documents\.json: document 1 is not complete or not derivable"):
            check_reference(folder)
    (folder / "documents.json").write_text("[")
    with pytest.raises(FormatError, match=r"documents\.json.*not JSON"):
        check_reference(folder)
    change(folder / "config.json", "ffnn_depth", value=2)
    with pytest.raises(FormatError, match="one hidden layer"):
        check_reference(folder)
    (folder / "config.json").write_text("{}")
    with pytest.raises(FormatError, match="missing"):
        check_reference(folder)


@pytest.mark.parametrize(
    ("file", "keys", "value", "fault"),
    [
        ("documents.json", (0, "genre"), 99, "genre 99"),
        ("documents.json", (0, "genre"), "x", "document 0"),
        ("documents.json", (0, "sentences", 0, 0), 10**6, "sub-word"),
        ("documents.json", (0, "speakers", 0), [], "speakers"),
        ("documents.json", (0,), None, "document 0"),
        ("config.json", ("xlnet",), None, "xlnet"),
        ("config.json", ("genres",), None, "NoneType"),
        ("expected.json", (1,), [], "document 1: expected an object, not a list"),
        (
            "expected.json",
            (0, "teacher_forced"),
            {"loss": 1.0},
            "document 0, teacher_forced: the outputs lack action_logits",
        ),
        ("expected.json", (0, "teacher_forced", "loss"), "x", "loss: expected a number, not text"),
        ("expected.json", (0, "free_running", "coref_scores", 0), "x", "coref_scores 0: expected a list, not text"),
        ("expected.json", (0, "free_running", "more"), [1], "nothing of ours to compare with more"),
    ],
)
def test_values_that_can_not_be_are_named(
    folder: Path, file: str, keys: tuple[Any, ...], value: Any, fault: str
) -> None:
    change(folder / file, *keys, value=value)
    with pytest.raises(FormatError, match=fault) as error:
        check_reference(folder)
    assert error.value.path == str(folder / file)


def test_what_is_no_number_differs() -> None:
    nan = {"a": torch.tensor([float("nan"), 0.0])}
    assert tensor_difference(nan, {"a": torch.zeros(2)}) == float("inf")
    assert tensor_difference({"a": torch.zeros(2)}, {}) == 0


def test_outputs_for_another_number_of_documents_are_an_error(folder: Path) -> None:
    (folder / "expected.json").write_text("[]")
    with pytest.raises(FormatError, match="0 outputs for 2 documents"):
        check_reference(folder)


def test_the_import_command_writes_a_model_folder(folder: Path, tmp_path: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), tmp_path / "model_1.bin")
    arguments = ["import-checkpoint", str(tmp_path / "model_1.bin"), str(tmp_path / "model"), "--cache", "10"]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.output
    assert load_paper_model(tmp_path / "model").config.cache == 10
    again = CliRunner().invoke(app, arguments)
    assert "not empty" in str(again.exception)
