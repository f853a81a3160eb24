"""CoNLL-2012 and LitBank's variant."""

from __future__ import annotations

import pytest

from incoref.corpora import guess, litbank
from incoref.corpora.conll2012 import read, write
from incoref.corpora.losses import Losses
from incoref.errors import FormatError
from incoref.types import Document


def document_of(rows: str, header: str = "#begin document (doc); part 000") -> Document:
    (document,) = read(f"{header}\n{rows}\n#end document\n", "file.conll")
    return document


def rows(*cells: str, between: str = "") -> str:
    """Rows whose words are a, b, c …, with these coreference cells."""
    return "\n".join(f"doc\t0\t{i}\t{chr(97 + i)}{between}\t{cell}" for i, cell in enumerate(cells))


def spans(document: Document) -> dict[str, list[tuple[int, int]]]:
    return {entity.id: [mention.tokens for mention in entity.mentions] for entity in document.entities}


def test_words_brackets_and_offsets() -> None:
    document = document_of(rows("(1|(2)", "-", "1)") + "\n\n" + rows("(1)"))
    assert document.text == "a b c\na"
    assert spans(document) == {"1": [(0, 3), (3, 4)], "2": [(0, 1)]}
    mention = document.entities[0].mentions[1]
    assert (mention.start, mention.end, mention.text, mention.sentence) == (6, 7, "a", 1)


@pytest.mark.parametrize("cell", ["(1(2", "(1|(2"])
def test_brackets_with_and_without_a_bar(cell: str) -> None:
    assert spans(document_of(rows(cell, "2)1)"))) == {"1": [(0, 2)], "2": [(0, 2)]}


def test_crossing_repeated_and_cross_sentence_mentions_are_kept() -> None:
    document = document_of(rows("(1", "(2", "1)", "2)|(3|(3") + "\n\n" + rows("3)|3)"))
    assert spans(document) == {"1": [(0, 3)], "2": [(1, 4)], "3": [(3, 5), (3, 5)]}


def test_mentions_of_one_entity_that_share_a_token() -> None:
    document = document_of(rows("(1", "1)|(1", "1)"))
    assert spans(document) == {"1": [(0, 2), (1, 3)]}
    losses = Losses()
    (back,) = read("".join(write([document], losses)), "file")
    assert spans(back) == spans(document)
    assert not losses.report()


def test_mentions_of_one_entity_that_cross_are_reported() -> None:
    one, two = document_of(rows("(1", "-", "1)", "-")), document_of(rows("-", "(1", "-", "1)"))
    mentions = (*one.entities[0].mentions, *two.entities[0].mentions)
    crossing = Document("doc", one.text, one.sentences, (type(one.entities[0])("1", mentions),))
    losses = Losses()
    list(write([crossing], losses))
    assert [(loss.count, "cross" in loss.what) for loss in losses.report()] == [(1, True)]


def test_speakers_and_other_columns() -> None:
    row = "nw/x/1 0 0 Hi UH (TOP* hi - 1 Ann_B * (V*) (7)\nnw/x/1 0 1 . . *) - - - Ann_B * * -"
    document = document_of(row, "#begin document (nw/x/1); part 003")
    assert document.id == "nw/x/1_3"
    assert document.genre == "nw"
    assert document.sentences[0].speaker == "Ann_B"
    assert dict(document.tokens[0].attributes) == {
        "xpos": "UH",
        "parse": "(TOP*",
        "lemma": "hi",
        "sense": "1",
        "arguments": "(V*)",
    }
    losses = Losses()
    text = "".join(write([document], losses))
    assert text.startswith(
        "#begin document (nw/x/1); part 003\nnw/x/1\t3\t0\tHi\tUH\t(TOP*\thi\t-\t1\tAnn_B\t*\t(V*)\t(7)\n"
    )
    assert list(read(text, "file")) == [document]
    assert not losses.report()


def test_speaker_that_changes_within_a_sentence() -> None:
    between = "\t-\t*\t-\t-\t-\t{}\t*"
    text = "doc\t0\t0\ta" + between.format("Ann") + "\t-\ndoc\t0\t1\tb" + between.format("Bob") + "\t-"
    document = document_of(text)
    assert document.sentences[0].speaker == "Ann"
    assert document.tokens[1].attributes == (("speaker", "Bob"),)
    assert list(read("".join(write([document], Losses())), "file")) == [document]


def test_files_of_two_columns_have_no_words() -> None:
    document = document_of("name (1\nname -\nname 1)")
    assert document.text == "_ _ _"
    assert spans(document) == {"1": [(0, 3)]}


def test_ids_that_are_no_numbers_are_replaced_and_reported() -> None:
    losses = Losses()
    text = "".join(write([document_of(rows("(e7)", "(e5)"))], losses))
    assert [str(loss) for loss in losses.report()] == ["2 × entity ids (renumbered)"]
    assert spans(next(read(text, "file"))) == {"0": [(0, 1)], "1": [(1, 2)]}


@pytest.mark.parametrize(
    ("body", "line", "fault"),
    [
        (rows("(1", "-"), 2, "never ends"),
        (rows("-", "1)"), 3, "none is open"),
        (rows("-", "(1", "2)"), 4, "none is open"),
        (rows("<1>"), 2, "unknown bracket '<1>'"),
        (rows("(1)|"), 2, "unknown bracket '|'"),
        (rows("()"), 2, "unknown bracket '()'"),
        (rows("*"), 2, "unknown bracket '*'"),
        ("doc\t0\t0\ta", 2, "no column holds coreference"),
        ("doc", 2, "too few columns"),
        (rows("-") + "\ndoc\t0\t1\tb\tNN\t-", 3, "6 columns where the sentence has 5"),
    ],
)
def test_errors_say_where(body: str, line: int, fault: str) -> None:
    with pytest.raises(FormatError) as caught:
        document_of(body)
    assert caught.value.line == line
    assert fault in caught.value.fault
    assert str(caught.value).startswith(f"file.conll:{line}: ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("#begin document (a); part 000\n" + rows("-"), 1),
        ("#begin document (a); part 000\n#begin document (b); part 000\n", 2),
        ("#end document\n", 1),
        (rows("-") + "\n#begin document (a); part 000\n#end document\n", 1),
        ("#begin document a\n#end document\n", 1),
    ],
)
def test_documents_begin_and_end(text: str, line: int) -> None:
    with pytest.raises(FormatError) as caught:
        list(read(text, "file"))
    assert caught.value.line == line


@pytest.mark.parametrize(
    "table",
    [
        "Anna (1)\nmet -\nher (2|(1)\nbrother 2)\n",
        "0 Anna (1)\n1 met -\n2 her (2|(1)\n3 brother 2)\n",
        "Anna\tNNP\t(1)\nmet\tVBD\t_\nher\tPRP$\t(2(1)\nbrother\tNN\t2)\n",
        "doc 0 Anna (1)\ndoc 1 met -\ndoc 2 her (2|(1)\ndoc 3 brother 2)\n",
        "doc 1 Anna NNP (PERSON) (1)\ndoc 1 met VBD * -\ndoc 1 her PRP$ * (2|(1)\ndoc 1 brother NN * 2)\n",
        "doc 0 0 Anna (1) x\ndoc 0 1 met - x\ndoc 0 2 her (2|(1) x\ndoc 0 3 brother 2) x\n",
        "Anna (1) B-PER\nmet * O\nher (2|(1) O\nbrother 2) O\n",
    ],
)
@pytest.mark.parametrize("with_header", [True, False])
def test_word_and_coreference_are_found_by_content(table: str, with_header: bool) -> None:
    text = f"#begin document (doc); part 000\n{table}#end document\n" if with_header else table
    assert guess(text, "doc.conll").name == "conll-2012"
    (document,) = read(text, "doc.conll")
    assert document.id == "doc"
    assert document.text == "Anna met her brother"
    assert spans(document) == {"1": [(0, 1), (2, 3)], "2": [(2, 4)]}


def test_words_that_look_like_brackets_are_words() -> None:
    text = "#begin document (doc); part 000\ndoc\t0\t0\t(1)\t-\t-\n\n#end document\n"
    [document] = read(text, "x")
    assert [token.text for token in document.tokens] == ["(1)"]
    assert not document.entities


def test_a_table_without_header_is_recognised() -> None:
    for table in ("Anna (1)\nslept -\n\nShe (1)\nwoke -\n", "1\tAnna\t(1)\n2\tslept\t_\n\n1\tShe\t(1)\n"):
        assert guess(table, "x").name == "conll-2012"
    for text in ("Anna left (1)\nand slept\n", "(10:15 AM) Ann: Hello.\n(10:16 AM) Ben: Hi!\n"):
        assert guess(text, "x").name != "conll-2012"


def test_one_span_in_two_entities() -> None:
    document = document_of(rows("(1|(2", "2)|1)", "(1)|(2)"))
    assert spans(document) == {"1": [(0, 2), (2, 3)], "2": [(0, 2), (2, 3)]}
    losses = Losses()
    (back,) = read("".join(write([document], losses)), "file")
    assert spans(back) == spans(document)
    assert not losses.report()


def test_litbank_has_no_mark_where_nothing_refers() -> None:
    text = "#begin document (novel); part 0\n" + rows("(1", "", "1)", between="\t_" * 8) + "\n\n#end document\n"
    (document,) = litbank.read(text, "file")
    assert spans(document) == {"1": [(0, 3)]}
    assert "".join(litbank.write([document], Losses())).replace("doc\t", "novel\t") == text.replace(
        "doc\t", "novel\t"
    )
    stripped = "\n".join(line.rstrip() for line in text.split("\n"))
    assert list(litbank.read(stripped, "file")) == [document]
