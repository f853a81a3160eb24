"""CONLL-UA as CODI-CRAC uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoref import corpora
from incoref.corpora import conllu
from incoref.corpora.conllua import read, write
from incoref.corpora.losses import Losses
from incoref.errors import FormatError
from incoref.types import Document

COLUMNS = (
    "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC IDENTITY BRIDGING DISCOURSE_DEIXIS\n"
)


def row(number: int, word: str, identity: str = "_", bridging: str = "_") -> str:
    return f"{number}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\t{identity}\t{bridging}\t_\n"


def opened(entity: str, markable: int, more: str = "") -> str:
    return f"(EntityID={entity}|MarkableID=markable_{markable}{more}"


def dialogue() -> str:
    return (
        COLUMNS
        + "# newdoc id = Trains_91/dia5-2\n# sent_id = dia5-2-1\n# speaker = M\n# text = a suit of armor\n"
        + row(1, "a", opened("1", 1, "|Min=2|SemType=dn"))
        + row(2, "suit")
        + row(3, "of")
        + row(4, "armor", ")" + opened("2", 2, "|Min=4|SemType=dn") + ")", "(MarkableID=markable_2|Rel=poss)")
        + "\n# sent_id = dia5-2-2\n# speaker = S\n# text = it is my old friend\n"
        + row(5, "it", opened("1", 3, "|ElementOf=9") + ")")
        + row(6, "is")
        + row(7, "my", opened("4-Pseudo", 4, "|SemType=predicate") + opened("3", 5) + ")")
        + row(8, "old")
        + row(9, "friend", ")")
        + "\n"
    )


def aligned(text: str) -> str:
    """The file with the columns of each sentence aligned by spaces, as CODI-CRAC is distributed."""
    blocks = []
    for block in text.split("\n\n"):
        lines = block.split("\n")
        rows = [line.split("\t") for line in lines if "\t" in line]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        blocks.append(
            "\n".join(
                "  ".join(cell.ljust(width) for cell, width in zip(line.split("\t"), widths, strict=True))
                if "\t" in line
                else line
                for line in lines
            )
        )
    return "\n\n".join(blocks)


def spans(document: Document) -> dict[str, list[tuple[int, int]]]:
    return {entity.id: [mention.tokens for mention in entity.mentions] for entity in document.entities}


def test_a_dialogue() -> None:
    (document,) = read(dialogue(), "file")
    assert document.id == "Trains_91/dia5-2"
    assert [sentence.speaker for sentence in document.sentences] == ["M", "S"]
    assert spans(document) == {"1": [(0, 4), (4, 5)], "2": [(3, 4)], "3": [(6, 7)]}
    first = document.entities[0].mentions[0]
    assert dict(first.attributes) == {"MarkableID": "markable_1", "Min": "2", "SemType": "dn"}
    assert dict(document.entities[0].mentions[1].attributes)["ElementOf"] == "9"
    assert dict(document.tokens[3].attributes)["BRIDGING"] == "(MarkableID=markable_2|Rel=poss)"


def test_what_does_not_refer_is_no_mention_and_is_written_back() -> None:
    (document,) = read(dialogue(), "file")
    assert dict(document.attributes)["non-referring"].startswith("6:9:EntityID=4-Pseudo|")
    losses = Losses()
    text = "".join(write([document], losses))
    assert not losses.report()
    assert row(7, "my", opened("4-Pseudo", 4, "|SemType=predicate") + opened("3", 5) + ")").rstrip() in text
    assert list(read(text, "file")) == [document]


def test_the_end_comes_before_or_after_a_mention_of_one_word() -> None:
    for last in (")" + opened("2", 2) + ")", opened("2", 2) + "))"):
        (document,) = read(COLUMNS + row(1, "a", opened("1", 1)) + row(2, "b", last), "file")
        assert spans(document) == {"1": [(0, 2)], "2": [(1, 2)]}


def test_an_at_sign_between_two_openings() -> None:
    mark = opened("1", 1) + "@" + opened("2", 2)
    (document,) = read(COLUMNS + row(1, "a", mark) + row(2, "b", ")") + row(3, "c", ")"), "file")
    assert spans(document) == {"1": [(0, 3)], "2": [(0, 2)]}


def test_words_may_be_numbered_by_sentence() -> None:
    by_sentence = dialogue()
    for number in range(5, 10):
        by_sentence = by_sentence.replace(f"\n{number}\t", f"\n{number - 4}\t")
    assert list(read(by_sentence, "file")) == list(read(dialogue(), "file"))


def test_columns_aligned_by_spaces() -> None:
    text = aligned(dialogue())
    assert "\t" not in text
    assert list(read(text, "file")) == list(read(dialogue(), "file"))
    assert corpora.guess(text, "file.txt").name == "conllua"
    without_columns = text.split("\n", 1)[1]
    assert corpora.guess(without_columns, "file.txt").name == "conllua"


def test_a_speaker_holds_until_the_next_one() -> None:
    words = [row(number, "word") for number in (1, 2, 3, 4, 5, 1)]
    turns = ["", "# speaker = M\n", "", "# speaker = S\n", "# speaker\n", "# newdoc id = second\n"]
    documents = list(read(COLUMNS + "\n".join(turn + word for turn, word in zip(turns, words, strict=True)), "file"))
    speakers = [[sentence.speaker for sentence in document.sentences] for document in documents]
    assert speakers == [[None, "M", "M", "S", None], [None]]
    assert list(read("".join(write(documents, Losses())), "file")) == documents


def test_ends_come_first_and_have_no_name() -> None:
    (document,) = read(dialogue(), "file")
    text = "".join(write([document], Losses()))
    assert "\t)" + opened("2", 2, "|Min=4|SemType=dn") + ")\t" in text


def test_no_cell_contains_white_space() -> None:
    """Programs that read CONLL-UA split rows at any white space."""
    lines = "1\t1 000\tone thousand\tNUM\t_\t_\t_\t_\t_\tNote=two words\n"
    losses = Losses()
    text = "".join(write(conllu.read(lines, "file"), losses))
    rows = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert [line.split() for line in rows] == [line.split("\t") for line in rows]
    assert [loss.count for loss in losses.report()] == [2, 1]


def test_crossing_mentions_are_left_out_and_reported() -> None:
    text = COLUMNS + row(1, "a", opened("1", 1)) + row(2, "b", opened("2", 2)) + row(3, "c", "markable_1)")
    (document,) = read(text + row(4, "d", "markable_2)"), "file")
    assert spans(document) == {"1": [(0, 3)], "2": [(1, 4)]}
    losses = Losses()
    (again,) = read("".join(write([document], losses)), "file")
    assert spans(again) == {"1": [(0, 3)]}
    assert [(loss.count, "cross" in loss.what) for loss in losses.report()] == [(1, True)]


def test_a_markable_in_two_places_is_one_mention() -> None:
    text = COLUMNS + row(1, "a", opened("1", 1) + ")") + row(2, "b") + row(3, "c", opened("1", 1) + ")")
    (document,) = read(text, "file")
    assert spans(document) == {"1": [(0, 3)]}
    assert ("parts", "0:1,2:3") in document.entities[0].mentions[0].attributes
    assert list(read("".join(write([document], Losses())), "file")) == [document]


def test_ids_that_the_writer_makes_up_are_not_kept() -> None:
    (document,) = conllu.read("1\ta\t_\t_\t_\t_\t_\t_\t_\tEntity=(e1-person)(e2)\n", "file")
    losses = Losses()
    text = "".join(write([document], losses))
    (back,) = read(text, "file")
    assert not losses.report()
    assert [mention.attributes for mention in back.mentions] == [(), ()]
    assert text.count("|MarkableID=markable_new_") == 2


def test_a_given_id_that_looks_made_up_is_kept() -> None:
    (document,) = read(COLUMNS + row(1, "a", "(EntityID=1|MarkableID=%6Darkable_new_1)(EntityID=2)"), "file")
    kept = [(("MarkableID", "markable_new_1"),), ()]
    assert [mention.attributes for mention in document.mentions] == kept
    losses = Losses()
    text = "".join(write([document], losses))
    (back,) = read(text, "file")
    assert not losses.report()
    assert [mention.attributes for mention in back.mentions] == kept


def test_from_another_format_and_back(tmp_path: Path) -> None:
    source = Path(__file__).resolve().parents[3] / "examples" / "formats" / "ferry.conllu"
    assert corpora.write(corpora.read(source), tmp_path / "ferry.conllua") == []
    assert corpora.write(corpora.read(tmp_path / "ferry.conllua"), tmp_path / "ferry.conllu") == []
    assert (tmp_path / "ferry.conllu").read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    ("body", "line", "fault"),
    [
        (COLUMNS + row(1, "a", opened("1", 1)), 2, "never ends"),
        (COLUMNS + row(1, "a", ")"), 2, "none is open"),
        (COLUMNS + row(1, "a", "markable_7)"), 2, "markable_7 ends here"),
        (COLUMNS + row(1, "a", "(MarkableID=markable_1)"), 2, "without EntityID"),
        (COLUMNS + row(1, "a", "EntityID=1"), 2, "unknown bracket"),
        (COLUMNS + "1\ta\t_\t_\n", 2, "4 columns"),
        ("# global.columns = ID FORM\n" + row(1, "a"), 1, "no column LEMMA"),
    ],
)
def test_errors_say_where(body: str, line: int, fault: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(read(body, "file"))
    assert caught.value.line == line
    assert fault in caught.value.fault
