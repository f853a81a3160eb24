"""Ray's ``map_batches``, without a cluster; tests/e2e/test_engines.py runs it on one."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from incoref.errors import IncorefError
from incoref.integrations.ray import Resolve
from tiny_models import TinyModels


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))


def test_arrays_and_tables_are_answered_alike(tiny: TinyModels) -> None:
    resolve = Resolve(model=str(tiny.int8), singletons=True)
    columns = {"id": [1, 2], "text": ["Anna met Carl. She left.", ""], "lang": ["en", "de"]}
    found = resolve(pa.table(columns))
    assert found.column_names == ["id", "lang", "entities", "error"]
    assert resolve({name: np.array(values) for name, values in columns.items()}).equals(found)
    assert found.to_pylist()[0]["entities"]


def test_another_kind_of_batch_is_refused(tiny: TinyModels) -> None:
    with pytest.raises(IncorefError, match="not list"):
        Resolve(model=str(tiny.int8))([1])


def test_without_ray_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(IncorefError, match=r"pip install 'incoref\[ray\]'"):
        Resolve()
