"""CoNLL-U with Entity in MISC."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from incoref.corpora.conllu import read, write
from incoref.corpora.losses import Losses
from incoref.errors import FormatError
from incoref.types import Document

FERRY = Path(__file__).resolve().parents[3] / "examples" / "formats" / "ferry.conllu"


def row(number: int | str, word: str, misc: str = "_") -> str:
    return f"{number}\t{word}\t_\t_\t_\t_\t_\t_\t_\t{misc}\n"


def document_of(*rows: str, header: str = "") -> Document:
    (document,) = read(header + "".join(rows) + "\n", "file.conllu")
    return document


def written(document: Document) -> str:
    losses = Losses()
    text = "".join(write([document], losses))
    assert not losses.report()
    return text


def test_example() -> None:
    text = FERRY.read_text(encoding="utf-8")
    (document,) = read(text, FERRY)
    first = "The captain's daughter sold me these tickets."
    assert document.text == first + "\n\nShe told you they're valid today? Then ask her father again."
    assert (document.id, document.genre) == ("ferry", "conversation")
    assert [sentence.speaker for sentence in document.sentences] == ["Ines", "Omar", "Omar"]
    daughter = document.entities[0]
    assert [(m.text, m.type, m.attributes) for m in daughter.mentions] == [
        ("The captain's daughter", "person", (("infstat", "new"),)),
        ("She", "person", (("infstat", "giv"),)),
        ("her", "person", (("infstat", "giv"),)),
    ]
    assert dict(document.tokens[0].attributes)["lemma"] == "the"
    assert dict(document.attributes)["title"] == "At the ferry"
    assert written(document) == text


def test_parts_of_a_mention() -> None:
    document = document_of(
        row(1, "Ann", "Entity=(e1)(e5[1/2]-person"),
        row(2, "and", "Entity=e5[1/2])"),
        row(3, "then"),
        row(4, "Bob", "Entity=(e5[2/2]-person)"),
        header="# newdoc id = d\n# global.Entity = eid-etype\n",
    )
    mention = next(mention for mention in document.mentions if mention.entity == "e5")
    assert mention.text == "Ann and then Bob"
    assert mention.attributes == (("parts", "0:2,3:4"),)
    assert list(read(written(document), "file")) == [document]


@pytest.mark.parametrize("misc", ["Entity=(e5[1/2])", "Entity=(e5[2/2])"])
def test_missing_parts(misc: str) -> None:
    with pytest.raises(FormatError, match="part"):
        document_of(row(1, "a", misc))


def test_empty_nodes_stay_and_their_mentions_are_no_words() -> None:
    rows = [
        row("0.1", "who", "Entity=(e1-person)"),
        row(1, "Come"),
        row("1.1", "here", "Entity=(e2-place"),
        row("1.2", "there", "_"),
        row(2, "home", "Entity=e2)"),
    ]
    document = document_of(*rows)
    assert document.text == "Come home"
    assert [(mention.entity, mention.text, mention.type) for mention in document.mentions] == [
        ("e2", "home", "place")
    ]
    text = written(document)
    assert row("0.1", "who", "Entity=(e1-person)") in text
    assert row("1.1", "here") + row("1.2", "there") + row(2, "home", "Entity=(e2-place)") in text
    assert next(read(text, "file")).entities == document.entities


def test_multi_word_tokens_are_spelt_without_spaces() -> None:
    document = document_of(
        row("1-2", "don't", "SpaceAfter=No"),
        row(1, "do"),
        row(2, "n't"),
        row("3-4", "du"),
        row(3, "de"),
        row(4, "le"),
    )
    assert document.text == "don'tde le"
    assert "1-2\tdon't" in written(document)


def test_several_documents_in_a_file() -> None:
    text = (
        "# global.Entity = eid-etype\n# newdoc id = a\n# sent_id = 1\n" + row(1, "x", "Entity=(e1-person)") + "\n"
        "# newdoc id = b\n# sent_id = 2\n" + row(1, "y", "Entity=(e1-place)") + "\n"
    )
    first, second = read(text, "file")
    assert (first.id, second.id) == ("a", "b")
    assert (first.entities[0].type, second.entities[0].type) == ("person", "place")


def test_a_file_without_names_is_one_document_named_after_it() -> None:
    document = document_of(row(1, "x"), "\n", row(1, "y"))
    assert document.id == "file"
    assert len(document.sentences) == 2


def test_mentions_with_more_than_the_header_names_get_a_longer_header() -> None:
    document = document_of(row(1, "x", "Entity=(1)"), header="# global.Entity = GRP\n")
    mention = replace(document.entities[0].mentions[0], type="person", attributes=(("head", "1"),))
    changed = replace(document, entities=(replace(document.entities[0], mentions=(mention,), type="person"),))
    text = written(changed)
    assert "# global.Entity = GRP-etype-head\n" in text
    assert "Entity=(1-person-1)" in text


def test_a_blank_line_in_the_text_is_a_new_paragraph() -> None:
    document = document_of(row(1, "x"), "\n# newpar\n", row(1, "y"))
    assert document.text == "x\n\ny"
    bare = replace(document, sentences=tuple(replace(s, attributes=()) for s in document.sentences))
    assert written(bare) == written(document)


@pytest.mark.parametrize(
    ("body", "line", "fault"),
    [
        (row(1, "a", "Entity=(1"), 1, "never ends"),
        (row(1, "a", "Entity=1)"), 1, "none is open"),
        (row(1, "a", "Entity=1"), 1, "unknown bracket"),
        (row(1, "a", "Entity=(1))("), 1, "unknown bracket"),
        ("1\ta\tb\n", 1, "3 columns"),
        (row(1, "a") + row(3, "b"), 2, "'3' where 2"),
        (row("x", "a"), 1, "'x' where 1"),
        (row("1-2", "ab") + row(1, "a"), 2, "ends before"),
        ("# text = a\n\n", None, "contains no words"),
    ],
)
def test_errors_say_where(body: str, line: int | None, fault: str) -> None:
    with pytest.raises(FormatError) as caught:
        document_of(body)
    assert caught.value.line == line
    assert fault in caught.value.fault
