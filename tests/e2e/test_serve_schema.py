"""schemathesis makes requests of our own OpenAPI document, right and wrong ones: the server never fails on one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

from incoref.resolver import Resolver
from incoref.server.app import create_app
from incoref.server.limits import Limits
from incoref.server.memory_store import MemoryStore
from incoref.server.middleware import Middleware, MiddlewareOptions
from incoref.server.service import SessionService

if TYPE_CHECKING:
    from tiny_models import TinyModels

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = settings(
    max_examples=10, phases=[Phase.generate], suppress_health_check=list(HealthCheck), derandomize=True
)


@pytest.fixture(scope="module")
def application(tiny: TinyModels) -> Iterator[Middleware]:
    limits = Limits(sessions=100_000, client_sessions=100_000, text=2_000)
    service = SessionService(Resolver(tiny.model), MemoryStore(), limits, workers=2)
    yield create_app(service, MiddlewareOptions())
    service.stop()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_makes_the_server_fail(application: Middleware, mode: GenerationMode) -> None:
    tried, id, view = 0, "", ""

    def ask(case: schemathesis.Case) -> None:
        """Make a request one for a session that is there; random ids would all be unknown."""
        nonlocal tried, id, view
        tried += 1
        if not case.path.endswith("/events"):  # which would never end
            if "id" in case.path_parameters:
                case.path_parameters["id"] = id
            if "view" in case.path_parameters:
                case.path_parameters["view"] = view
        if len(str(case.path_parameters.get("entity", ""))) % 2:
            case.path_parameters["entity"] = "1"
        case.call_and_validate(checks=CHECKS)
        if case.method == "DELETE":
            id, view = _session(application)

    id, view = _session(application)

    for found in schemathesis.openapi.from_asgi("/openapi.json", application).get_all_operations():
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query):
            continue  # there is nothing that could be wrong
        EXAMPLES(given(operation.as_strategy(generation_mode=mode))(ask))()
    assert tried > 100


def _session(application: Middleware) -> tuple[str, str]:
    """A session that something was said to, and its view."""
    api = TestClient(application)
    id = api.post("/v1/sessions", json={"options": {"trace": True, "runners_up": 2}}).json()["id"]
    api.post(f"/v1/sessions/{id}/feed", json={"text": "Anna saw Carl . He left ."})
    return id, api.post(f"/v1/sessions/{id}/share").json()["view"]
