"""Our implementation against the outputs of the authors' program, number by number."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from incoref.learning.check_reference import read_reference
from incoref.learning.paper.authors_names import authors_weights
from incoref.learning.paper.checkpoint import import_checkpoint, load_paper_model, save_paper_model
from incoref.learning.paper.chunks import plan
from incoref.learning.paper.document import with_gold
from incoref.learning.paper.reference import read_reference_documents, read_reference_model
from incoref.model.transitions import replay

FOLDERS = (
    "part-inc",
    "part-inc-segments",
    "sent-inc",
    "sent-inc-long",
    "sent-inc-no-speakers",
    "k3-sentence",
    "k5-sentence",
    "k20-sentence",
)


BASELINES = (
    "c2f",
    "c2f-attended",
    "icoref",
    "icoref-sentence",
    "icoref-mentions",
    "longdoc-unbounded",
    "longdoc-learned",
    "longdoc-lru",
    "longdoc-unbounded-litbank",
    "longdoc-unbounded-no-ignore",
    "s2e",
)
ALL = (*FOLDERS, *(f"baselines/{name}" for name in BASELINES))


@pytest.mark.parametrize("name", ALL)
def test_every_number_of_every_document_is_reproduced(name: str, shared: Path) -> None:
    rows = read_reference(shared / "reference-outputs" / name).check()
    assert [row for row in rows if not row.passed] == []


def wrong_copies(value: Any, quantity: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """For each quantity in some outputs, copies in which one number or decision of it is wrong."""
    if isinstance(value, dict):
        for name, inner in value.items():
            for wrong, copy in wrong_copies(inner, (*quantity, name)):
                yield wrong, {**value, name: copy}
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            seen = set()
            for wrong, copy in wrong_copies(inner, quantity):
                seen.add(wrong)
                yield wrong, [*value[:place], copy, *value[place + 1 :]]
            if seen:
                break  # the first element that holds something is enough
        yield quantity, [*value, value[-1]] if value else [0]
    elif isinstance(value, bool):
        yield quantity, not value
    elif isinstance(value, int):
        yield quantity, value + 1
    elif isinstance(value, float):
        yield quantity, value + 1e-5 * max(1.0, abs(value))
    elif value is None:
        yield quantity, 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ("sent-inc", *(f"baselines/{name}" for name in BASELINES)))
def test_nonsense_in_any_quantity_is_found(name: str, shared: Path) -> None:
    reference = read_reference(shared / "reference-outputs" / name)
    found = reference.double(0)
    tried = set()
    for quantity, wrong in wrong_copies(reference.expected[0]):
        if quantity in tried:
            continue
        tried.add(quantity)
        checked = replace(reference, expected=[wrong], double=lambda _: found, single=lambda _: found, own=list)
        rows = checked.check()
        assert sum(not row.passed for row in rows) == 1, quantity
    right = replace(
        reference, expected=reference.expected[:1], double=lambda _: found, single=lambda _: found, own=list
    )
    assert all(row.passed for row in right.check())


def beginning(document: dict[str, Any], count: int) -> dict[str, Any]:
    """The first pieces of a document as any of the folders describes it, without gold clusters."""
    cut = {name: document[name][:count] for name in ("sentence_map", "subtoken_map") if name in document}
    if "token_clusters" in document:  # s2e: one row
        return {**document, "input_ids": document["input_ids"][:count], "token_clusters": []}
    more = 2 if "used_to" in document else 0  # longdoc: symbols are no pieces
    cut |= {"input_ids": [document["input_ids"][0][: count + more]], "segment_lengths": [count]}
    cut |= {"speaker_ids": document.get("speaker_ids", [])[:1], "used_from": [0], "used_to": [count]}
    gold = ("gold_starts", "gold_ends", "gold_cluster_ids", "subtoken_clusters")
    return {**document, **cut, **{name: [] for name in gold}}


@pytest.mark.parametrize("name", BASELINES)
def test_the_shortest_documents_can_be_checked(name: str, shared: Path, tmp_path: Path) -> None:
    folder = tmp_path / name
    shutil.copytree(shared / "reference-outputs" / "baselines" / name, folder, copy_function=shutil.copyfile)
    [document, *_] = json.loads((folder / "documents.json").read_text())
    [outputs, *_] = json.loads((folder / "expected.json").read_text())
    ratio = json.loads((folder / "config.json").read_text()).get("top_span_ratio", 0)
    outputs.pop("truncated_from_segment_1", None)
    for count in (1, 2, 3, 9):
        (folder / "documents.json").write_text(json.dumps([beginning(document, count)]))
        if "longdoc" in name:  # no span is learned from
            outputs["training"]["sampled_invalid"]["random_numbers"] = [0.9] * int(ratio * count)
        (folder / "expected.json").write_text(json.dumps([outputs]))
        reference = read_reference(folder)
        found = json.loads(json.dumps(reference.double(0)))
        same = replace(reference, expected=[found], single=lambda _, found=found: found, own=list)
        assert all(row.passed for row in same.check())
        first, wrong = next((quantity, copy) for quantity, copy in wrong_copies(found) if len(quantity) == 1)
        rows = replace(same, expected=[wrong]).check()
        assert [row.quantity for row in rows if not row.passed] == [first[0].replace("_", " ")]


@pytest.mark.parametrize("name", FOLDERS)
def test_our_oracle_gives_the_authors_gold_actions(name: str, shared: Path) -> None:
    folder = shared / "reference-outputs" / name
    config = read_reference_model(folder).config
    for document in read_reference_documents(folder, config):
        assert plan(document.lengths, config)
        spans = replay(document.actions, sum(document.buffer_lengths))
        again, dropped = with_gold(document, dict(zip(spans, document.entity_of, strict=True)), config)
        assert not dropped
        assert again.actions == document.actions
        assert again.entity_of == document.entity_of


@pytest.mark.parametrize("name", ("sent-inc", "sent-inc-no-speakers"))
def test_the_weights_make_the_round_trip_through_a_checkpoint(name: str, shared: Path, tmp_path: Path) -> None:
    folder = shared / "reference-outputs" / name
    weights = load_file(folder / "model.safetensors")
    torch.save(weights, tmp_path / "model_best.bin")
    wanted = read_reference_model(folder)
    cache = wanted.config.cache
    imported = import_checkpoint(tmp_path / "model_best.bin", setting=wanted.config.setting, cache=cache)
    save_paper_model(tmp_path / "model", imported)
    loaded = authors_weights(load_paper_model(tmp_path / "model"))
    assert loaded.keys() == weights.keys()
    for weight, value in weights.items():
        assert torch.equal(loaded[weight], value), weight
