"""The HTTP application: routes to the session service, and problem details for refused requests.

The surrounding middleware checks tokens, origins and request sizes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from incoref._version import __version__
from incoref.errors import IncorefError
from incoref.server import routes_sessions, routes_shared, routes_status, routes_text, schemas, websocket
from incoref.server.middleware import Middleware, MiddlewareOptions
from incoref.server.problems import BAD_REQUEST, INVALID, METHOD, NOT_FOUND, Refused, refusal
from incoref.server.routing import problem_response
from incoref.server.service import SessionService

PAGE = Path(__file__).parent / "page"
"""The live page: static files served at ``/`` under the middleware's content security policy."""

_DESCRIPTION = """Coreference resolution for text that is still arriving. A session is an unfinished text: send text
as it comes, and after every sentence you get the mentions in it and the entities they refer to. Offsets count code
points; ends are exclusive. Errors are problem details (RFC 9457)."""


def create_app(service: SessionService, options: MiddlewareOptions | None = None) -> Middleware:
    """Create the application, wrapped in its middleware."""
    options = options or MiddlewareOptions(body=service.limits.body)
    app = FastAPI(
        title="incoref",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        swagger_ui_oauth2_redirect_url=None,
    )
    app.state.service = service
    for module in (routes_text, routes_sessions, routes_shared, websocket, routes_status):
        app.include_router(module.router)
    if PAGE.is_dir():
        app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    for kind in (IncorefError, Exception):
        app.add_exception_handler(kind, _refused)
    _describe_more(app, guarded=options.token is not None)
    outer: Any = app
    if options.origins:
        outer = CORSMiddleware(
            app,
            allow_origins=sorted(options.origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=["authorization", "content-type", "last-event-id"],
            expose_headers=["retry-after"],
        )
    return Middleware(outer, options, service.metrics)


async def _refused(_: Request, error: Exception) -> Response:
    return problem_response(refusal(error))


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = [
        {"place": "/".join(str(part) for part in fault["loc"]), "fault": fault["msg"]} for fault in error.errors()
    ]
    detail = "; ".join(f"{fault['place']}: {fault['fault']}" for fault in faults[:3])
    return problem_response(Refused(INVALID, detail, errors=faults[:20]))


async def _http_error(_: Request, error: Exception) -> Response:
    """Convert errors of the framework itself, such as 404, to problem details."""
    assert isinstance(error, HTTPException)
    kind = {404: NOT_FOUND, 405: METHOD}.get(error.status_code, BAD_REQUEST)
    response = problem_response(Refused(kind, str(error.detail)))
    response.headers.update(error.headers or {})
    return response


def _describe_more(app: FastAPI, *, guarded: bool) -> None:
    """Add problem details and the token to the OpenAPI document."""
    made = app.openapi

    def described() -> dict[str, Any]:
        document = made()
        document["components"]["schemas"]["Problem"] = schemas.Problem.model_json_schema()
        if guarded:
            schemes = document["components"].setdefault("securitySchemes", {})
            schemes["token"] = {"type": "http", "scheme": "bearer"}
            for path, methods in document["paths"].items():
                for method in methods.values():
                    if path == "/metrics" or (path.startswith("/v1/") and "/shared/" not in path):
                        method["security"] = [{"token": []}]
        return document

    app.openapi = described  # type: ignore[method-assign]
