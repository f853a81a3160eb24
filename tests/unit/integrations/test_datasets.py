"""Rows of a dataset: as batches of columns, and with the real package where it is installed."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from incoref.errors import IncorefError
from incoref.integrations.datasets import CorefMap
from incoref.resolver import Resolver


@pytest.fixture
def by_rules(rule_resolver: Resolver) -> Any:
    def made(*arguments: Any, **options: Any) -> CorefMap:
        function = CorefMap(*arguments, **options)
        function._resolver = rule_resolver
        return function

    return made


def test_rows_of_a_document_go_on_from_batch_to_batch(by_rules: Any) -> None:
    function = by_rules(document_column="doc", into="alone")
    assert function({"text": ["Anna left.", "Carl came."], "doc": [1, 2]}) == {"alone": ["Anna left.", "Carl came."]}
    assert function({"text": ["He slept.", "She slept."], "doc": [2, 1]}) == {"alone": ["Carl slept.", "Anna slept."]}


def test_turns_have_speakers(by_rules: Any) -> None:
    function = by_rules("said", speaker_column="who", speakers=True)
    batch = {"said": ["I called Ben", "He was late"], "who": ["Anna", "Carl"]}
    assert function(batch) == {"said": ["Anna called Ben", "Ben was late"]}


def test_what_it_is_can_be_sent_to_another_process(by_rules: Any) -> None:
    function = by_rules(document_column="doc")
    before = pickle.dumps(function)
    function({"text": ["Anna left."], "doc": [1]})
    assert pickle.dumps(function) == before


def test_a_missing_column_is_named(by_rules: Any) -> None:
    with pytest.raises(IncorefError, match="no column 'body', only text"):
        by_rules("body")({"text": []})
    with pytest.raises(IncorefError, match="batched=True"):
        by_rules()({"text": "Anna left."})


def test_a_dataset_is_mapped() -> None:
    datasets = pytest.importorskip("datasets", reason="needs the package 'datasets' (extra 'datasets')")
    rows = {"text": ["Anna Kern founded Helio in Berlin in 2014.", "Her office is still there."], "doc": [1, 1]}
    dataset = datasets.Dataset.from_dict(rows)
    mapped = dataset.map(CorefMap(document_column="doc", into="alone"), batched=True, batch_size=1)
    assert mapped["alone"][1] == "Anna Kern's office is still there."
    assert mapped["text"][1] == "Her office is still there."
