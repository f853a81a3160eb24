"""GAP's TSV: one pronoun and two names in each text."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoref import corpora
from incoref.errors import FormatError

HEADING = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
TEXT = "Anna Kern met Berta Lund. She laughed."


def gap_row(a: str, b: str, pronoun: str = "She", offset: int = 26) -> str:
    return f"test-1\t{TEXT}\t{pronoun}\t{offset}\tAnna Kern\t0\t{a}\tBerta Lund\t14\t{b}\thttp://example.org\n"


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("TRUE", "FALSE", [["Anna Kern", "She"], ["Berta Lund"]]),
        ("FALSE", "TRUE", [["Berta Lund", "She"], ["Anna Kern"]]),
        ("FALSE", "FALSE", [["She"], ["Anna Kern"], ["Berta Lund"]]),
    ],
)
def test_the_pronoun_and_two_names(tmp_path: Path, a: str, b: str, expected: list[list[str]]) -> None:
    file = tmp_path / "gap.tsv"
    file.write_text(HEADING + gap_row(a, b))
    [document] = corpora.read(file)
    assert document.id == "test-1" and document.text == TEXT
    assert [[mention.text for mention in entity.mentions] for entity in document.entities] == expected
    assert [mention.sentence for mention in document.entities[0].mentions][-1] == 1


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (gap_row("TRUE", "FALSE", offset=25), "'She' is not at character 25"),
        (gap_row("TRUE", "FALSE", "Anna", 0), "'Anna' is none of he"),
        (gap_row("TRUE", "FALSE").replace("\t26\t", "\tx\t"), "'x' is not a whole number"),
        ("test-1\tonly\n", "too few columns"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, row: str, fault: str) -> None:
    file = tmp_path / "gap.tsv"
    file.write_text(HEADING + row)
    with pytest.raises(FormatError, match=fault) as caught:
        list(corpora.read(file))
    assert "line 2" in str(caught.value) or ":2" in str(caught.value)


def test_a_heading_alone_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "gap.tsv"
    file.write_text(HEADING)
    with pytest.raises(FormatError, match="nothing follows the heading"):
        list(corpora.read(file))
