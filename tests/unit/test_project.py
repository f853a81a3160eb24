"""What the project says of itself is true: its map, its public names, its version, its light import."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import incoref

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "incoref"
HEAVY = set(
    "torch transformers spacy scipy pydantic onnxruntime matplotlib tokenizers fastapi uvicorn redis httpx".split()
)


def rooms_on_the_map() -> list[str]:
    """The rooms that ARCHITECTURE.md lists, in its order: a room may know those before it."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = text.split("## The rooms of `src/incoref`, in order", 1)[1]
    listing = section.split("```")[1]
    return re.findall(r"^(\w+)(?:\.py|/)\s", listing, flags=re.MULTILINE)


def rooms_in_the_source() -> set[str]:
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "_version"}
    return modules | {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def rooms_known_to(path: Path) -> Iterator[tuple[str, int]]:
    """Rooms that a module imports, anywhere in its code, with the line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import; name the module in full"
            names = [node.module or ""]
            if node.module == "incoref":
                names = [f"incoref.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("incoref."):
                yield name.split(".")[1], node.lineno


def test_the_map_lists_every_room() -> None:
    listed = rooms_on_the_map()
    assert len(listed) == len(set(listed))
    assert set(listed) == rooms_in_the_source(), (
        "ARCHITECTURE.md must list the rooms of src/incoref, no more, no less"
    )


def test_rooms_know_only_those_before_them() -> None:
    order = {room: place for place, room in enumerate(rooms_on_the_map())}
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        here = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for room, line in rooms_known_to(path):
            if here in order and room in order and order[room] > order[here]:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {here} must not know {room}")
    assert not wrong, "\n".join(wrong)


def test_public_names_are_the_documented_ones() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    section = text.split("\n## `incoref`\n", 1)[1].split("\n## ", 1)[0]
    documented = re.findall(r"^\| `(\w+)", section, flags=re.MULTILINE)
    assert sorted(documented) == sorted(incoref.__all__)


def test_every_public_name_is_there() -> None:
    for name in incoref.__all__:
        assert getattr(incoref, name) is not None


def test_the_changelog_knows_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, flags=re.MULTILINE)
    assert newest is not None
    assert newest[1] == incoref.__version__


def test_the_citation_knows_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {incoref.__version__}\n" in citation


def test_readme_begins_with_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line.split("#")[0].strip() for line in readme.split("```sh\n", 1)[1].split("```", 1)[0].splitlines()]
    assert commands[:2] == ["make demo", "make test"]


@pytest.mark.parametrize("module", ["incoref", "incoref.cli", "incoref.corpora", "incoref.evaluation.metrics"])
def test_import_loads_nothing_heavy(module: str) -> None:
    program = f"import {module}, json, sys; print(json.dumps(sorted(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert not HEAVY & set(json.loads(printed))


def test_text_is_read_and_written_as_utf8() -> None:
    """Python's default encoding is the machine's; a file of ours is the same everywhere."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="read_text" | "write_text"), keywords=keywords):
                    named = any(keyword.arg == "encoding" for keyword in keywords)
                    assert named, f"{path.relative_to(ROOT)}:{node.lineno}: name the encoding"
