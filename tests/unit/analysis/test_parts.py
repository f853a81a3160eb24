"""What the analyses are made of: cuts of clusters, kinds of errors, protocols, questions about pronouns."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoref.analysis.bias import is_gotcha
from incoref.analysis.bias_data import WinogenderExample, read_winobias, read_winogender
from incoref.analysis.clusterings import annotated, before, sentence_of_token, within_segments, without_singletons
from incoref.analysis.errors import distance_name, errors_of, kind_of
from incoref.analysis.findings import Findings, Plot, Table, row, series
from incoref.analysis.incrementalise import as_first_said, command_resolver, growing, prefix, python_resolver
from incoref.analysis.over_time import answered_until, lookahead_changes
from incoref.analysis.partition import bump
from incoref.analysis.side_by_side import Shown, side_by_side
from incoref.analysis.speed import exponent, stream_of
from incoref.analysis.system_names import system_named, systems_named
from incoref.analysis.systems import ModelSystem, Options
from incoref.corpora.gap import FEMININE, MASCULINE, NEUTRAL, read_gap
from incoref.errors import FormatError, IncorefError
from incoref.evaluation.metrics import token_clusters
from incoref.model.subwords import Utterance
from tiny_models import TinyModels, document, random_document

TEXT = document(
    [Utterance(tuple(words.split())) for words in ("Anna saw the dog .", "She left it .", "The dog ran .")]
)
ANNA, THE_DOG, SHE, IT, DOG_AGAIN = (0, 1), (2, 4), (5, 6), (7, 8), (9, 11)
GOLD = [[ANNA, SHE], [THE_DOG, IT, DOG_AGAIN]]


def test_links_between_segments_are_cut() -> None:
    sentences = sentence_of_token(TEXT)
    assert within_segments(GOLD, sentences, 1) == []
    assert within_segments(GOLD, sentences, 2) == [[ANNA, SHE], [THE_DOG, IT]]
    assert within_segments(GOLD, sentences, 3) == GOLD


@pytest.mark.parametrize("seed", range(5))
def test_segments_as_long_as_the_document_cut_nothing(seed: int) -> None:
    text = random_document(7, seed)
    clusters, sentences = token_clusters(text), sentence_of_token(text)
    assert within_segments(clusters, sentences, 7) == without_singletons(clusters)
    for cluster in within_segments(clusters, sentences, 2):
        assert len({sentences[first] // 2 for first, _ in cluster}) == 1


def test_before_and_annotated() -> None:
    assert before(GOLD, 5) == [[ANNA], [THE_DOG]]
    made = annotated(TEXT, {"a": GOLD[0], "b": GOLD[1]})
    assert token_clusters(made) == GOLD
    assert [mention.text for mention in made.entities[1].mentions] == ["the dog", "it", "The dog"]


def test_kinds_of_mentions_and_distances() -> None:
    assert [kind_of(TEXT, span) for span in (ANNA, THE_DOG, SHE)] == ["name", "nominal", "pronoun"]
    assert [distance_name(n) for n in (0, 1, 2, 4, 9, 20, 21)] == [
        *("same sentence", "1 sentence", "2", "3–5", "6–10", "11–20", "more than 20")
    ]


def test_errors_are_told_apart() -> None:
    found = [[ANNA, IT], [THE_DOG, DOG_AGAIN], [(1, 2), SHE]]
    errors = errors_of(TEXT, GOLD, found)
    assert (errors.missing.total(), errors.extra.total()) == (0, 1)
    assert (errors.divided, errors.conflated) == (2, 1)
    assert errors.repeated == {
        ("pronoun", "1 sentence", "wrong"): 2,
        ("nominal", "1 sentence", "right"): 1,
    }
    errors = errors_of(TEXT, GOLD, [[ANNA], [SHE]])
    assert (errors.missing.total(), errors.divided, errors.conflated) == (3, 1, 0)
    assert errors.repeated["pronoun", "1 sentence", "taken for new"] == 1
    assert errors.repeated["nominal", "1 sentence", "missing"] == 1


def test_side_by_side_shows_text_as_text() -> None:
    text = document([Utterance(("<b>", "&", "dog"))], [[(0, 0), (2, 2)]], id="<script>")
    page = side_by_side([Shown(text, [[(0, 1), (2, 3)]], [[(2, 3), (1, 2)]], 50.0)], "a <title>")
    assert "<script" not in page and "&lt;b&gt;" in page
    assert 'data-n="1✗"' in page and 'data-n="1+"' in page and 'data-n="1"' in page


def test_what_was_first_said_stays() -> None:
    """The resolver changes its mind about SHE and finds THE_DOG only later: neither counts."""
    said = [[[ANNA]], [[ANNA, SHE], [IT]], [[ANNA], [SHE, IT, DOG_AGAIN], [THE_DOG]]]
    assert as_first_said(said, [5, 9, 13]) == [[ANNA, SHE], [IT, DOG_AGAIN]]


def test_prefixes_grow() -> None:
    seen = []

    def resolver(text: object) -> list[list[tuple[int, int]]]:
        seen.append(text)
        return []

    found = growing(resolver, TEXT)
    assert [len(text.tokens) for text in seen] == [5, 9, 13]  # type: ignore[attr-defined]
    assert len(found["seconds"]) == 3
    assert prefix(TEXT, 2).text == TEXT.text[: TEXT.sentences[1].end]


def test_resolvers_that_are_not_there() -> None:
    for name in ("nothing", "no_such_module:function", "json:no_such_function"):
        with pytest.raises(IncorefError, match=name):
            python_resolver(name)
    with pytest.raises(IncorefError, match="can't be run"):
        command_resolver("no-such-program-anywhere")(TEXT)
    with pytest.raises(IncorefError, match="ended with 3"):
        command_resolver("sh -c 'exit 3'")(TEXT)


def test_a_bump_is_what_lies_above_the_line() -> None:
    assert bump((1, 2, 4, 8), (90, 80, 82, 70), 4) == pytest.approx(82 - (80 - 10 / 3))
    assert bump((1, 2, 3), (90, 80, 70), 2) == pytest.approx(0)
    assert bump((1, 2, 3), (90, 80, 70), 1) is None
    assert bump((1, 2, 3), (90, 80, 70), 5) is None


def test_lookahead_without_anything_ahead_changes_nothing(tiny: TinyModels) -> None:
    system = ModelSystem(tiny.model)
    text = random_document(1, 4)
    found = lookahead_changes(system, 2, text)
    assert found["same"] > 0
    assert found["different"] == found["only_with"] == found["only_without"] == 0
    longer = random_document(6, 4)
    counts = lookahead_changes(system, 1, longer)
    alone = sum(map(len, system.clusters(longer)))
    assert counts["same"] + counts["different"] + counts["only_without"] == alone


def test_blocks_are_answered_when_they_are_complete(tiny: TinyModels) -> None:
    assert answered_until(ModelSystem(tiny.model), TEXT) == [5, 9, 13]
    assert answered_until(ModelSystem(tiny.model, "k=2"), TEXT) == [0, 9, 13]


def test_names_of_systems(tiny: TinyModels, tmp_path: Path) -> None:
    folder = str(tiny.fp32)
    one, other = systems_named([folder, f"{folder}@k=3"], Options())
    assert systems_named([f"my own: it: {folder}@k=3"], Options())[0].name == "my own: it"
    assert isinstance(one, ModelSystem) and isinstance(other, ModelSystem)
    assert one.model is other.model and one.digest != other.digest
    for name, message in (
        (f"{folder}@k=x", "no setting 'k=x'"),
        (f"{tmp_path}@k=3", "takes no setting"),
        (str(tmp_path / "none"), "no such model folder"),
    ):
        with pytest.raises(IncorefError, match=message):
            system_named(name, Options(), {})
    with pytest.raises(IncorefError, match="is used twice"):
        systems_named([folder, folder], Options())


def test_powers_are_fitted() -> None:
    tokens = [100, 200, 400, 800]
    fit = exponent(tokens, [3 * n**1.5 for n in tokens])
    assert fit == (pytest.approx(1.5), pytest.approx(3))
    assert exponent([100, 100], [1, 2]) is None
    assert sum(len(utterance.words) for utterance in stream_of([TEXT], 30)) in range(30, 36)


def test_findings_go_through_json() -> None:
    table = Table("t", ("a", "b"), (row("x", 1.25, quoted=True), row("y", None)), "note", 2)
    plot = Plot("p", "x", "y", (series("s", [1, 2], [3.0, 4.0], low=(1.0, 2.0), high=(5.0, 6.0)),), log=True)
    findings = Findings("f", "title", (table,), (plot,), {"seed": 1}, {"v": [1]})
    assert Findings.from_json(findings.to_json()) == findings
    assert table.texts() == [["a", "b"], ["x", "1.25"], ["y", "–"]]


@pytest.mark.parametrize(
    ("gender", "women", "about_occupation", "gotcha"),
    [
        (FEMININE, 90, True, False),
        (FEMININE, 90, False, True),
        (MASCULINE, 90, True, True),
        (MASCULINE, 10, False, True),
    ],
)
def test_gotchas(gender: str, women: float, about_occupation: bool, gotcha: bool) -> None:
    example = WinogenderExample("", "", (0, 1), (0, 1), (0, 1), about_occupation, gender, women, "job")
    assert is_gotcha(example) == gotcha


def test_the_data_sets_are_read_whole(shared: Path) -> None:
    corpora = shared / "corpora"
    examples = read_gap(corpora / "gap" / "gap-development.tsv")
    assert len(examples) == 2000
    assert sum(example.gender == FEMININE for example in examples) == 1000
    assert {key: len(of) for key, of in read_winobias(corpora / "winobias").items()} == {
        (kind, side): 396 for kind in "12" for side in ("pro", "anti")
    }
    sentences = read_winogender(corpora / "winogender")
    assert len(sentences) == 720
    assert {gender: sum(s.gender == gender for s in sentences) for gender in (MASCULINE, FEMININE, NEUTRAL)} == {
        MASCULINE: 240,
        FEMININE: 240,
        NEUTRAL: 240,
    }


def test_a_place_that_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gap.tsv"
    heading = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    path.write_text(heading + "x\tAnna met her .\ther\t3\tAnna\t0\tTRUE\tmet\t5\tFALSE\tu\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"gap\.tsv:2: 'her' is not at character 3"):
        read_gap(path)
