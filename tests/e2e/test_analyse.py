"""Every sub-command of ``incoref analyse``, and the report of them, on a tiny corpus with a tiny model."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from incoref.cli import app
from incoref.errors import IncorefError
from tiny_models import TinyModels
from tiny_training import write_corpus, write_paper_run, write_streaming_run

Run = Callable[[str], str]
PNG, SVG = b"\x89PNG", "<svg"

GAP = """ID	Text	Pronoun	Pronoun-offset	A	A-offset	A-coref	B	B-offset	B-coref	URL
development-1	Anna met Berta . she left .	she	17	Anna	0	TRUE	Berta	9	FALSE	http://example.org
development-2	Carl saw Anna . he left .	he	16	Carl	0	TRUE	Anna	9	FALSE	http://example.org
"""
WINOGENDER = """sentid	sentence
teacher.man.0.female.txt	The teacher met the man and she left .
teacher.man.0.male.txt	The teacher met the man and he left .
teacher.man.0.neutral.txt	The teacher met the man and they left .
teacher.man.1.male.txt	The teacher said the man left his house .
"""
OCCUPATIONS = "occupation\tbergsma_pct_female\tbls_pct_female\tbls_year\nteacher\t60.0\t70.5\t2015\n"
TEMPLATES = (
    "occupation(0)\tother-participant(1)\tanswer\tsentence\nteacher\tman\t0\tThe $OCCUPATION met the $PARTICIPANT\n"
)
WINOBIAS = """#begin document (nw/dev_type1/{side}//0); part 000
nw/dev_type1/{side}//0	0	0	The	-	-	-	-	-	Speaker#1	*	*	*	*	(1
nw/dev_type1/{side}//0	0	1	teacher	-	-	-	-	-	Speaker#1	*	*	*	*	1)
nw/dev_type1/{side}//0	0	2	saw	-	-	-	-	-	Speaker#1	*	*	*	*	-
nw/dev_type1/{side}//0	0	3	{pronoun}	-	-	-	-	-	Speaker#1	*	*	*	*	(1)

#end document
"""
RESOLVER = """
def whole(document):
    "Links each word to the one before it that is the same."
    clusters = {}
    for number, token in enumerate(document.tokens):
        clusters.setdefault(token.text, []).append((number, number + 1))
    return clusters.values()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_corpus(tmp_path / "dev.conll", 3, sentences=5)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def incoref(line: str) -> str:
    result = CliRunner().invoke(app, shlex.split(line))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def files(name: str, plot: bool = True) -> dict[str, Any]:
    """The JSON of an analysis, whose plots must be there too."""
    if plot:
        assert Path(f"analyses/{name}.png").read_bytes().startswith(PNG)
        assert SVG in Path(f"analyses/{name}.svg").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(Path(f"analyses/{name}.json").read_text(encoding="utf-8"))
    assert {"command", "made", "analysis", "title", "tables", "plots", "settings", "values"} <= found.keys()
    return found


def test_scores_and_compare(folder: Path, tiny: TinyModels) -> None:
    model = tiny.fp32
    printed = incoref(f"analyse scores dev.conll -s {model} -s {model}@k=4 -s dev.conll --paper")
    assert re.search(r"^dev\.conll +100\.0 .* 100\.0 +100\.0$", printed, re.MULTILINE)
    assert "paper: Sent-Inc" in printed
    quoted = [row["quoted"] for row in files("scores")["tables"][0]["rows"]]
    assert quoted == [True] * 11 + [False] * 3
    cached = Path("analyses/results.jsonl").read_text(encoding="utf-8")
    printed = incoref(f"analyse compare {model} {model}@k=4 dev.conll --samples 200")
    assert Path("analyses/results.jsonl").read_text(encoding="utf-8") == cached, (
        "cached results are not computed again"
    )
    assert "Paired bootstrap over 3 documents, 200 samples, seed 1." in printed
    assert incoref(f"analyse compare {model} {model}@k=4 dev.conll --samples 200") == printed
    assert set(files("compare")["values"]["differences"]) == {"conll", "muc", "b3", "ceafe", "lea", "mentions"}


def test_errors(folder: Path, tiny: TinyModels) -> None:
    printed = incoref(f"analyse errors dev.conll -s {tiny.fp32} --worst 2")
    assert re.search(r"^pronoun +\d+ +\d+ +\d+\.\d", printed, re.MULTILINE)
    assert re.search(r"^its own +\d+\.\d +\d+\.\d\nthe annotated ones +\d+\.\d +\d+\.\d$", printed, re.MULTILINE)
    files("errors")
    page = Path("analyses/errors-worst.html").read_text(encoding="utf-8")
    assert page.count("<details") == 2
    assert page.count("<h3>annotated</h3>") == page.count("<h3>found</h3>") == 2
    perfect = incoref("analyse errors dev.conll -s dev.conll --name perfect")
    assert re.search(r"^divided +0 +0\.0\n(.*\n)conflated +0 +0\.0$", perfect, re.MULTILINE)


def test_partition_and_over_time(folder: Path, tiny: TinyModels) -> None:
    incoref(f"analyse partition dev.conll -s {tiny.fp32}@k=2 -s dev.conll -p 1 -p 2 -p 4 --paper")
    tables = files("partition")["tables"]
    by_name = {row["cells"][0]: row["cells"][1:] for row in tables[0]["rows"]}
    assert by_name["dev.conll"] == [100.0, 100.0, 100.0]
    assert by_name["paper, k=4"] == [86.92, 85.21, 83.3]
    printed = incoref(f"analyse over-time dev.conll -s {tiny.fp32} -s {tiny.fp32}@k=4 -s dev.conll")
    found = files("over-time")["values"]
    assert all(f1 in (0, pytest.approx(100)) for f1, _ in found["by_sentence"]["dev.conll"])
    assert {count for _, count in found["by_sentence"]["dev.conll"]} == {3}
    assert set(found["lookahead"]) == {"1", "2", "4"}
    assert "What lookahead would change" in printed


def test_bias(folder: Path, tiny: TinyModels) -> None:
    (folder / "gap.tsv").write_text(GAP, encoding="utf-8")
    for name in ("winobias", "winogender"):
        (folder / name).mkdir()
    for side, pronoun in (("pro", "her"), ("anti", "him")):
        text = WINOBIAS.format(side=side, pronoun=pronoun)
        (folder / "winobias" / f"dev_type1_{side}_stereotype.v4_auto_conll").write_text(text, encoding="utf-8")
    (folder / "winogender" / "all_sentences.tsv").write_text(WINOGENDER, encoding="utf-8")
    (folder / "winogender" / "occupations-stats.tsv").write_text(OCCUPATIONS, encoding="utf-8")
    (folder / "card.md").write_text("# Card\n\n## Bias\n\nold\n\n## Licence\n\nfree\n", encoding="utf-8")
    data = "--gap gap.tsv --winobias winobias --winogender winogender"
    printed = incoref(f"analyse bias {data} -s {tiny.fp32} --card card.md")
    values = files("bias")["values"]
    assert values["gap"]["all"]["questions"] == 4
    assert set(values["winobias"]) == {"type 1 pro", "type 1 anti"}
    assert values["winogender"]["masculine gotcha"]["sentences"] == 1
    assert re.search(r"^type 1 pro − anti ", printed, re.MULTILINE)
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert "### WinoBias" in card and "old" not in card and card.endswith("\n## Licence\n\nfree\n")


def test_speed(folder: Path, tiny: TinyModels) -> None:
    printed = incoref(f"analyse speed dev.conll -s {tiny.fp32} --stream 150")
    found = files("speed")
    assert "comparisons made" in printed and "tokens a second" in printed
    assert [point[0] for point in found["values"]["memory"]["all kept"]][-1] >= 135
    assert incoref(f"analyse speed dev.conll -s {tiny.fp32} --stream 150") == printed, "what was measured is kept"


def test_incrementalise(folder: Path, tiny: TinyModels) -> None:
    (folder / "their_resolver.py").write_text(RESOLVER, encoding="utf-8")
    printed = incoref(f"analyse incrementalise dev.conll --function their_resolver:whole --beside {tiny.fp32}")
    scored = {row["cells"][0]: row["cells"][1:] for row in files("incrementalise")["tables"][0]["rows"]}
    name = "their_resolver:whole"
    assert scored[f"{name}, whole documents"] == scored[f"{name}, as first said"], "it never revises anything"
    assert "growing prefixes" in printed
    echo = f"{sys.executable} -c 'import sys; sys.stdout.write(sys.stdin.read())'"
    printed = incoref(f'analyse incrementalise dev.conll --limit 1 --command "{echo}"')
    assert ", as first said " in printed
    with pytest.raises(IncorefError, match="name one resolver"):
        incoref("analyse incrementalise dev.conll")


def test_k_curve_and_ablate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: TinyModels) -> None:
    write_streaming_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    line = f"analyse k-curve dev.conll -s {tiny.fp32} --train config.toml --set training.epochs=1 --k 1 --k 2 --paper"
    printed = incoref(line)
    assert re.search(r"^trained for k, k=2 ", printed, re.MULTILINE) and "paper, k=24" in printed
    assert len(files("k-curve")["tables"][0]["rows"]) == 4 + 7
    models = {place: place.stat().st_mtime_ns for place in Path("analyses/models").glob("*/best/model.safetensors")}
    assert len(models) == 2
    again = incoref(line)
    tables = printed[printed.index("By k") : printed.index("incoref: ")]
    assert tables in again and "warning" not in again, "nothing is trained twice"
    assert {place: place.stat().st_mtime_ns for place in models} == models
    printed = incoref(
        "analyse ablate config.toml dev.conll --variant 'no genre: training.genre_dropout=1.0' --seed 1 --seed 2 "
        "--set training.epochs=1 --samples 200"
    )
    assert re.search(r"^as configured +\d+\.\d\d +\d+\.\d\d", printed, re.MULTILINE)
    assert files("ablate")["settings"]["seeds"] == [1, 2]


REPORT = """
title = "A trial & more"
text = "What this is."

[[analysis]]
name = "main"
title = "Scores"
text = "Of two settings."
command = "incoref analyse scores dev.conll -s {model} -s {model}@k=2 --paper"

[[analysis]]
name = "pair"
command = "analyse compare {model} {model}@k=2 dev.conll --samples 200 --seed 5"
"""


def test_report(folder: Path, tiny: TinyModels) -> None:
    (folder / "report.toml").write_text(REPORT.format(model=tiny.fp32), encoding="utf-8")
    incoref("report report.toml --out made --markdown docs/results.md")
    page = Path("made/report.html").read_text(encoding="utf-8")
    assert "<h1>A trial &amp; more</h1>" in page
    assert page.count("data:image/svg+xml;base64,") == 2
    assert not re.search(r'(?:src|href)="(?!data:|#)', page), "the page needs nothing else"
    assert '<tr class="quoted"><td>paper: Sent-Inc †</td>' in page
    text = Path("docs/results.md").read_text(encoding="utf-8")
    assert "![F1 by metric](results/main.png)" in text
    assert Path("docs/results/main.png").read_bytes() == Path("made/main.png").read_bytes()
    assert f"```sh\nincoref analyse compare {tiny.fp32} {tiny.fp32}@k=2 dev.conll --samples 200 --seed 5\n```" in text
    assert "Seeds: 5." in text and "| paper: Sent-Inc † |" in text
    with pytest.raises(IncorefError, match="without --out and --name"):
        (folder / "wrong.toml").write_text('[[analysis]]\nname = "a"\ncommand = "analyse speed x -o y"\n', "utf-8")
        incoref("report wrong.toml")


def test_models_of_the_papers_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_paper_run(tmp_path)
    monkeypatch.chdir(tmp_path)
    printed = incoref("analyse k-curve dev.conll --train config.toml --set training.epochs=1 --k 2")
    assert re.search(r"^trained for k, k=2 ", printed, re.MULTILINE)
    [best] = Path("analyses/models").glob("k-2-*/best")
    scored = incoref(f"analyse scores dev.conll -s {best}")
    f1 = [files(name)["tables"][0]["rows"][0]["cells"][place] for name, place in (("k-curve", 3), ("scores", 10))]
    assert f1[0] == f1[1]
    assert str(best) in scored
