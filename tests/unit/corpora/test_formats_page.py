"""docs/formats.md lists the formats as they are, and its commands print what it says they print."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from incoref.cli import app
from incoref.corpora import FORMATS, Format
from incoref.errors import IncorefError

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
BROKEN = "#begin document (broken); part 000\nbroken\t0\t0\tAnna\t(1\n#end document\n"


def row_of(format: Format) -> str:
    read = "✓" if format.read else ""
    written = "✓" if format.write or format.write_files else ""
    suffixes = ", ".join(f"`{suffix}`" for suffix in format.suffixes)
    return f"| `{format.name}` | {read} | {written} | {suffixes} | {format.about} |"


def test_all_formats_are_listed() -> None:
    table = "\n".join(map(row_of, FORMATS.values()))
    assert table in PAGE, f"docs/formats.md must contain:\n\n{table}"


def test_commands_print_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "formats", tmp_path, dirs_exist_ok=True)
    (tmp_path / "broken.conll").write_text(BROKEN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        for command in re.split(r"^\$ incoref ", block, flags=re.MULTILINE)[1:]:
            line, _, said = command.partition("\n")
            assert printed_by(line) == said, line


def printed_by(command: str) -> str:
    """What the tool prints on both channels, its one-line errors included."""
    result = CliRunner().invoke(app, shlex.split(command))
    if isinstance(result.exception, IncorefError):
        return f"{result.output}incoref: {result.exception}\n"
    assert result.exit_code == 0, result.output
    return result.output
