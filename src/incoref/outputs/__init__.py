"""Output for people and programs: documents and updates as JSON, as an HTML page, and in the formats of ``resolve``.

Submodules are imported lazily, so that the command-line tool starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incoref.outputs.formats import OutputFormat
    from incoref.outputs.jsonable import document_json, json_line, update_json
    from incoref.outputs.page import html_page
    from incoref.outputs.rendering import rendered
    from incoref.outputs.schemas import schema

__all__ = ["OutputFormat", "document_json", "html_page", "json_line", "rendered", "schema", "update_json"]

_HOMES = {
    "OutputFormat": "formats",
    "document_json": "jsonable",
    "html_page": "page",
    "json_line": "jsonable",
    "rendered": "rendering",
    "schema": "schemas",
    "update_json": "jsonable",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'incoref.outputs' has no attribute '{name}'")
    value = getattr(import_module(f"incoref.outputs.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
