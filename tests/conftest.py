"""Shared fixtures, and selection of the tests that need PyTorch.

Test modules that import the learning side are marked ``learning`` automatically; single tests are marked by hand and
import it locally. Without PyTorch, as in ``make test-core``, these tests don't run. Those in ``e2e/`` are ``slow``.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from incoref.resolver import Resolver
    from tiny_models import TinyModels

# The time an example takes depends more on the machine than on the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

HAS_TORCH = find_spec("torch") is not None
_IMPORTS_LEARNING = re.compile(
    r"^(?:from|import) (?:torch|transformers|incoref\.learning|tiny_networks|tiny_training|paper_models)\b",
    re.MULTILINE,
)


def needs_torch(module: Path) -> bool:
    """Whether a test module imports the learning side at module level."""
    return module.suffix == ".py" and _IMPORTS_LEARNING.search(module.read_text(encoding="utf-8")) is not None


def pytest_report_header() -> str | None:
    return None if HAS_TORCH else "PyTorch is not installed: tests of the learning side are left out"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Skip modules that can't be imported without PyTorch."""
    return True if not HAS_TORCH and collection_path.is_file() and needs_torch(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    modules = {path: needs_torch(path) for path in {item.path for item in items}}
    for item in items:
        if modules[item.path]:
            item.add_marker("learning")
        if item.path.is_relative_to(Path(__file__).parent / "e2e"):
            item.add_marker("slow")
        if not HAS_TORCH and item.get_closest_marker("learning") is not None:
            item.add_marker(pytest.mark.skip(reason="needs PyTorch: pip install 'incoref[train]'"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder next to the checkout with corpora, encoders and reference outputs, not part of the project."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder 'shared' beside the checkout, which holds corpora and reference outputs")
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    """Small random models, as checkpoints and as fp32 and int8 folders."""
    from tiny_models import FOLDER_VARIABLE, TinyModels

    made = os.environ.get(FOLDER_VARIABLE)
    return TinyModels(tmp_path_factory.mktemp("tiny") if made is None else Path(made).resolve())


@pytest.fixture(scope="session")
def resolver(tiny: TinyModels) -> Resolver:
    """A resolver with the small random model in int8, like the shipped one; its decisions are meaningless."""
    from incoref.resolver import load

    return load(tiny.int8)


@pytest.fixture(scope="session")
def rule_resolver(tiny: TinyModels) -> Resolver:
    """A resolver with the rule-based model, so that tests can predict its output."""
    from incoref.resolver import Resolver
    from rule_model import RuleModel

    return Resolver(RuleModel.like(tiny.model))
