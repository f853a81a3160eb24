"""Fixtures for all tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tiny_models import TinyModels

# How long an example takes says more of the machine than of the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Corpora, encoders and reference outputs, which are not part of the project: a folder beside the checkout."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder 'shared' beside the checkout, which holds corpora and reference outputs")
    return folder


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    """A small random model, as checkpoint, fp32 and int8 folder."""
    from tiny_models import TinyModels

    return TinyModels(tmp_path_factory.mktemp("tiny"))
