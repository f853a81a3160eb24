"""Every Python block of the documentation runs, page by page from top to bottom, and prints what it says it prints.

Lines that start with ``# `` are what a block prints, all of it if it has any. Blocks of other libraries are marked
``python theirs`` and not run.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from incoref import corpora
from incoref.cli.info import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```python(?: title=\S+)?\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
SAID = re.compile(r"^# (.*)", flags=re.MULTILINE)
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if BLOCK.search(page.read_text("utf-8"))
]


@pytest.fixture
def corpus_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The files and names that the pages about corpora speak of."""
    folder = ROOT / "examples" / "scoring"
    for name in ("key", "response"):
        shutil.copy(folder / f"{name}.conll", tmp_path)
    corpora.write(corpora.read(folder / "key.conll"), tmp_path / "dev.conllu")
    monkeypatch.chdir(tmp_path)
    return {
        f"{name}_document": document
        for name in ("key", "response")
        for document in corpora.read(tmp_path / f"{name}.conll")
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run_and_print_what_they_say(
    page: Path, corpus_files: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    names = {**corpus_files, "__name__": "example"}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if "spacy" in block:
            pytest.importorskip("spacy", reason="needs the package 'spacy' (extra 'spacy')")
        exec(compile(block, page.name, "exec", dont_inherit=True), names)
        printed = capsys.readouterr().out
        if said := SAID.findall(block):
            assert printed.splitlines() == said, f"{page.name}:\n{block}"


@pytest.mark.parametrize("notebook", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda path: path.name)
def test_notebooks_run_and_show_something(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Cell by cell, as a notebook does: what the last line of a cell is worth is shown."""
    told = json.loads(notebook.read_text(encoding="utf-8"))
    assert (told["nbformat"], len({cell["id"] for cell in told["cells"]})) == (4, len(told["cells"]))
    names: dict[str, Any] = {"__name__": "__main__"}
    pages = 0
    for cell in told["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], f"{notebook.name}: clear its outputs; they age"
        *lines, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(lines, []), notebook.name, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), notebook.name, "eval"), names)
            pages += hasattr(value, "_repr_html_") and 'class="incoref"' in value._repr_html_()
            assert value is not None or capsys.readouterr().out
        else:
            exec(compile(ast.Module([last], []), notebook.name, "exec"), names)
    assert pages > 2


def test_links_lead_somewhere() -> None:
    """Files beside a page, and headings in them."""
    wrong = []
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")):
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if re.match(r"\w+:", target):
                continue
            file, _, heading = target.partition("#")
            place = (page.parent / file) if file else page
            if not place.exists():
                wrong.append(f"{page.name}: {target}")
            elif heading and heading not in _headings(place):
                wrong.append(f"{page.name}: {target} (no such heading)")
    assert not wrong, "\n".join(wrong)


def test_extras_that_are_named_exist() -> None:
    """On pages ("the extra `zstd`", ``incoref[spacy]``), in errors about missing packages, in ``incoref info``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    named = {extra for extra in PACKAGES.values() if extra}
    for page in pages:
        text = page.read_text(encoding="utf-8")
        named |= set(re.findall(r"extra[ \n]`([\w-]+)`", text))
        named |= set(re.findall(r'MissingExtra\("[\w-]+", "([\w-]+)"', text))
        for extras in re.findall(r"(?:incoref|'\.)\[([a-z][\w,-]*)\]", text):
            named |= set(extras.split(","))
    assert len(named) > 10
    assert named <= set(project["optional-dependencies"])


def _headings(page: Path) -> set[str]:
    """As GitHub makes anchors of them."""
    titles = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
