"""The commands that run a model: evaluate, predict, selftest, export."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from incoref import corpora
from incoref.cli import app
from incoref.errors import IncorefError
from tiny_models import TinyModels, random_document

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def fault(*arguments: str | Path) -> str:
    """The message of the error that a command ends with."""
    result = run(*arguments)
    assert result.exit_code == 1
    assert isinstance(result.exception, IncorefError), result.exception
    return str(result.exception)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "gold.conllu"
    corpora.write([random_document(12, seed, id=f"text{seed}") for seed in range(3)], path)
    return path


def test_evaluate_in_json_is_what_score_says_and_more(tiny: TinyModels, corpus: Path, tmp_path: Path) -> None:
    result = run("evaluate", corpus, "--model", tiny.int8, "--drop-singletons", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found.pop("scheme") == "ontonotes"
    assert found.pop("setting") == "sent-inc"
    assert found.pop("model") == "tiny"
    assert found.pop("tokens_per_second") > 0
    predicted = tmp_path / "predicted.jsonl"
    assert run("predict", corpus, "-o", predicted, "--to", "incoref", "--model", tiny.int8).exit_code == 0
    scored = run("score", corpus, predicted, "--drop-singletons", "--json")
    assert json.loads(scored.stdout) == found
    assert found["documents"] == 3


def test_evaluate_prints_a_table(tiny: TinyModels, corpus: Path) -> None:
    shown = run(
        "evaluate", corpus, "--model", tiny.int8, "--scheme", "all", "--genre", "news", "--setting", "k=4"
    ).stdout
    for part in ("MUC", "CoNLL", "scheme: all", "setting: k=4", "model: tiny", "tokens per second"):
        assert part in shown


def test_settings_schemes_and_genres_change_what_is_found(tiny: TinyModels, corpus: Path) -> None:
    def mentions(*options: str) -> float:
        shown = run("evaluate", corpus, "--model", tiny.fp32, "--json", *options).stdout
        found: float = json.loads(shown)["conll_f1"]
        return found

    plain = mentions()
    assert mentions("--setting", "k=1") == plain
    assert (
        len({plain, mentions("--setting", "part-inc"), mentions("--scheme", "all"), mentions("--genre", "talk")}) > 2
    )


def test_only_listed_documents_are_taken(tiny: TinyModels, corpus: Path, tmp_path: Path) -> None:
    listing = tmp_path / "list.txt"
    listing.write_text("text2\ntext0\n", encoding="utf-8")
    shown = run("evaluate", corpus, "--model", tiny.int8, "--documents", listing, "--json").stdout
    assert json.loads(shown)["documents"] == 2
    listing.write_text("text9", encoding="utf-8")
    assert "lists 'text9', which none of the files contains" in fault(
        "evaluate", corpus, "--model", tiny.int8, "--documents", listing
    )
    assert "can't be read" in fault("evaluate", corpus, "--model", tiny.int8, "--documents", tmp_path / "none")


@pytest.mark.parametrize("name", ["out.conll", "out.conllu", "out.conllua", "out.jsonlines"])
def test_predict_keeps_words_sentences_and_speakers(
    tiny: TinyModels, corpus: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / name
    assert run("predict", corpus, "-o", out, "--model", tiny.int8).exit_code == 0
    for before, after in zip(corpora.read(corpus), corpora.read(out), strict=True):
        assert [t.text for t in after.tokens] == [t.text for t in before.tokens]
        assert [len(s) for s in after.sentences] == [len(s) for s in before.sentences]
        assert [s.speaker for s in after.sentences] == [s.speaker for s in before.sentences]
        assert after.entities


def test_predict_with_and_without_singletons(tiny: TinyModels, corpus: Path, tmp_path: Path) -> None:
    sizes = {}
    for option in ("--singletons", "--no-singletons"):
        out = tmp_path / f"{option}.jsonl"
        run("predict", corpus, "-o", out, "--to", "incoref", "--model", tiny.int8, option)
        sizes[option] = [len(entity) for document in corpora.read(out) for entity in document.entities]
    assert min(sizes["--singletons"]) == 1
    assert sizes["--no-singletons"] == [size for size in sizes["--singletons"] if size > 1]


def test_predict_writes_a_directory(tiny: TinyModels, corpus: Path, tmp_path: Path) -> None:
    assert run("predict", corpus, "-o", f"{tmp_path}/new/", "--to", "conllu", "--model", tiny.int8).exit_code == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "text0.conllu",
        "text1.conllu",
        "text2.conllu",
    ]


def test_predict_reads_formats_of_every_kind(tiny: TinyModels, tmp_path: Path) -> None:
    for path in sorted((ROOT / "examples" / "formats").iterdir()):
        result = run("predict", path, "-o", tmp_path / "out.conllu", "--model", tiny.int8)
        assert result.exit_code == 0, (path, result.output, result.exception)


def test_a_model_passes_its_own_test(tiny: TinyModels) -> None:
    result = run("selftest", "--model", tiny.int8)
    assert result.exit_code == 0
    assert "tiny: 3 texts as expected" in result.stdout


def test_a_changed_model_fails_its_test(tiny: TinyModels, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny.int8, tmp_path / "model"))
    golden = json.loads((folder / "golden.json").read_text(encoding="utf-8"))
    golden["texts"][1]["clusters"] = []
    (folder / "golden.json").write_text(json.dumps(golden), encoding="utf-8")
    assert "text 2 gave the clusters" in fault("selftest", "--model", folder)
    (folder / "golden.json").write_text("{}", encoding="utf-8")
    assert "not a golden file" in fault("selftest", "--model", folder)
    (folder / "golden.json").unlink()
    assert "missing, so the model can't be checked" in fault("selftest", "--model", folder)


def test_export_of_a_run_with_calibration(tiny: TinyModels, corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny.checkpoint, tmp_path / "run" / "best")
    config = tmp_path / "config.toml"
    config.write_text(
        f"""
        encoder.path = "{tmp_path}"
        [[train]]
        path = "{corpus}"
        [[dev]]
        path = "{corpus}"
        scheme = "all"
        """,
        encoding="utf-8",
    )
    out = tmp_path / "exported"
    result = run("export", tmp_path / "run", out, "--name", "mine", "--calibrate", config)
    assert result.exit_code == 0, (result.output, result.exception)
    assert "links: temperature" in result.stdout
    assert "MB" in result.stdout
    stored = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert stored["name"] == "mine"
    assert stored["temperatures"]["link"] != 1
    assert run("selftest", "--model", out).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "CORPUS", "--setting", "k=0"], "no setting 'k=0'; choose sent-inc, k=N or part-inc"),
        (["evaluate", "CORPUS", "--scheme", "craft"], "the model knows no scheme 'craft'"),
        (["evaluate", "CORPUS", "--genre", "poetry"], "the model knows no genre 'poetry'"),
        (["evaluate", "nowhere.conll"], "nowhere.conll"),
        (["predict", "CORPUS", "-o", "out.strange"], "out.strange: name the format to write"),
        (["export", "nowhere", "out"], "no trained model there"),
    ],
)
def test_faults_are_named(tiny: TinyModels, corpus: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    given = [str(corpus) if argument == "CORPUS" else argument for argument in arguments]
    if given[0] != "export":
        given += ["--model", str(tiny.int8)]
    assert message in fault(*given)
