"""What the project says about itself is true: its modules, its public names, its version, its light import."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import pytest

import incoref

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "incoref"
HEAVY = set(
    "torch transformers spacy scipy pydantic onnxruntime matplotlib tokenizers fastapi uvicorn redis httpx "
    "prometheus_client".split()
)


def listed_modules(package: str = "") -> list[str]:
    """The modules and packages that ARCHITECTURE.md lists for a package, in order: each may import those above it."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    heading = f"### `{package}/`" if package else "## The modules of `src/incoref`, in order"
    listing = text.split(heading, 1)[1].split("```")[1]
    return [
        path.removesuffix(".py").strip("/") for path in re.findall(r"^([\w/]+(?:\.py|/))\s", listing, re.MULTILINE)
    ]


def modules_in_the_source(package: str = "") -> set[str]:
    folder = SOURCE / package
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "_version"}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


def imports_of(path: Path) -> Iterator[tuple[str, int]]:
    """Modules of incoref that a module imports, anywhere in its code, with the line: ``model/step`` and the like."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import; name the module in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("incoref."):
                yield "/".join(name.split(".")[1:]), node.lineno


def module_of(path: str, listed: list[str]) -> str | None:
    """The listed module or package that a path belongs to: the longest that matches."""
    fitting = [name for name in listed if path == name or path.startswith(name + "/")]
    return max(fitting, key=len, default=None)


@pytest.mark.parametrize("package", ["", "model", "session", "learning"])
def test_the_list_is_complete(package: str) -> None:
    listed = listed_modules(package)
    assert len(listed) == len(set(listed))
    assert {name for name in listed if "/" not in name} == modules_in_the_source(package), (
        f"ARCHITECTURE.md must list the modules of src/incoref/{package}, no more, no less"
    )


@pytest.mark.parametrize("package", ["", "model", "session", "learning"])
def test_modules_import_only_those_above_them(package: str) -> None:
    listed = listed_modules(package)
    prefix = f"{package}/" if package else ""
    order = {name: place for place, name in enumerate(listed)}
    wrong = []
    for path in sorted((SOURCE / package).rglob("*.py")):
        here = module_of(path.relative_to(SOURCE / package).with_suffix("").as_posix(), listed)
        for name, line in imports_of(path):
            there = module_of(name.removeprefix(prefix), listed) if name.startswith(prefix) else None
            if here is not None and there is not None and order[there] > order[here]:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {here} must not import {there}")
    assert not wrong, "\n".join(wrong)


def test_no_module_imports_itself_through_others() -> None:
    modules = {path.relative_to(SOURCE).with_suffix("").as_posix(): path for path in SOURCE.rglob("*.py")}
    modules = {name.removesuffix("/__init__"): path for name, path in modules.items()}
    graph = {name: {module_of(used, list(modules)) for used, _ in imports_of(path)} for name, path in modules.items()}
    TopologicalSorter({name: used - {name, None} for name, used in graph.items()}).prepare()


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


@pytest.mark.parametrize(
    "module", ["incoref", "incoref.cli", "incoref.corpora", "incoref.evaluation.metrics", "incoref.client"]
)
def test_import_loads_nothing_heavy(module: str) -> None:
    program = f"import {module}, json, sys; print(json.dumps(sorted(sys.modules)))"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    heavy = HEAVY | {"numpy"} if module == "incoref.client" else HEAVY
    assert not heavy & set(json.loads(printed))


IMPORT_ALL = """
import importlib, json, sys
from incoref.errors import MissingExtra

class NoLearning:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "transformers"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)  # other packages may do without

sys.meta_path.insert(0, NoLearning())
imported = []
for name in json.loads(sys.argv[1]):
    try:
        importlib.import_module(name)
        imported.append(name)
    except MissingExtra as error:
        missing = error.__cause__.name.split(".")[0]
        assert missing not in ("torch", "transformers", "incoref"), f"{name} imports {missing}"
    except ModuleNotFoundError as error:  # of another extra
        assert error.name.split(".")[0] not in ("torch", "transformers", "incoref"), f"{name} imports {error.name}"
print(json.dumps(imported))
"""


def test_no_run_time_module_imports_torch() -> None:
    """All modules but those of the learning side can be imported where it is not installed."""
    paths = [path.relative_to(SOURCE.parent).with_suffix("") for path in sorted(SOURCE.rglob("*.py"))]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths if path.name != "__main__"]
    run_time = [name for name in names if not name.startswith("incoref.learning")]
    assert len(run_time) < len(names)
    program = [sys.executable, "-c", IMPORT_ALL, json.dumps(run_time)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    imported = json.loads(done.stdout)
    assert {"incoref.resolver", "incoref.session.session", "incoref.cli.train", "incoref.analysis.training"} <= {
        *imported
    }


@pytest.mark.parametrize("script", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_what_benchmarks_import_is_there(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    modules = {node.module: [alias.name for alias in node.names] for node in imports}
    if any(name.startswith("incoref.learning") for name in modules):
        pytest.importorskip("torch", reason="needs PyTorch (extra 'train')")
    for name, wanted in modules.items():
        if name.split(".")[0] == "incoref":
            missing = [one for one in wanted if not hasattr(importlib.import_module(name), one)]
            assert not missing or all(find_spec(f"{name}.{one}") for one in missing)


def test_text_is_read_and_written_as_utf8() -> None:
    """Python's default encoding is the machine's; a file of ours is the same everywhere."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="read_text" | "write_text"), keywords=keywords):
                    named = any(keyword.arg == "encoding" for keyword in keywords)
                    assert named, f"{path.relative_to(ROOT)}:{node.lineno}: name the encoding"
