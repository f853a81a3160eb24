"""Names of people give way to others', everywhere alike; nothing else changes."""

from __future__ import annotations

import numpy as np

from incoref.learning.data.renaming import Names, names_of
from incoref.model.subwords import Utterance
from incoref.text.english import FEMALE, MALE
from incoref.types import Document
from tiny_models import document


def text(written: str, *clusters: list[tuple[int, int]]) -> Document:
    """A line a sentence; clusters are spans, both ends included."""
    return document([Utterance(tuple(line.split())) for line in written.splitlines()], clusters)


EMMA = text(
    "EMMA WOODHOUSE was rich .\nMr. Woodhouse loved Emma and her cook , the American .\nShe lived in Highbury .",
    [(0, 1), (8, 8), (10, 10), (16, 16)],
    [(5, 6)],
    [(10, 11), (13, 14)],
    [(19, 19)],
)
OTHERS = text(
    "Anna saw Boris .\nShe and Boris met Clara , who said she knew him .",
    [(0, 0), (4, 4)],
    [(2, 2), (6, 6), (14, 14)],
    [(8, 8), (12, 12)],
)


def words(document: Document) -> list[str]:
    return [token.text for token in document.tokens]


def test_names_of_men_and_women_are_told_by_pronouns_and_titles() -> None:
    assert names_of(OTHERS) == {"anna": FEMALE, "boris": MALE, "clara": FEMALE}


def test_the_name_of_a_family_and_what_is_no_name_alone_are_left_out() -> None:
    assert names_of(EMMA) == {"emma": FEMALE}


def test_a_person_has_one_other_name_in_the_whole_text() -> None:
    (renamed,) = Names([EMMA, OTHERS]).renamed([EMMA], np.random.default_rng(1))
    changed = {(a, b) for a, b in zip(words(EMMA), words(renamed), strict=True) if a != b}
    assert changed in ({("EMMA", name.upper()), ("Emma", name)} for name in ("Anna", "Clara"))
    assert renamed.entities == EMMA.entities
    assert [len(s) for s in renamed.sentences] == [len(s) for s in EMMA.sentences]


def test_two_persons_stay_two_and_annotations_of_one_text_agree() -> None:
    many = text("Dora hit Eva .\nShe cried and she left .", [(0, 0), (4, 4)], [(2, 2), (7, 7)])
    names = Names([OTHERS, many])
    for seed in range(20):
        one, other = names.renamed([OTHERS, OTHERS], np.random.default_rng(seed))
        assert words(one) == words(other)
        assert {words(one)[0], words(one)[8]} == {"Dora", "Eva"}
        assert words(one)[2] == "Boris"  # no other man is known


def test_words_that_some_text_writes_small_are_nobodys_other_name() -> None:
    plain = text("The clara is a plum .")
    for seed in range(20):
        (renamed,) = Names([EMMA, OTHERS, plain]).renamed([EMMA], np.random.default_rng(seed))
        assert "Clara" not in words(renamed)


def test_a_text_without_people_stays_as_it_is() -> None:
    plain = text("It rained .", [(0, 0)])
    assert Names([OTHERS]).renamed([plain], np.random.default_rng(1)) == [plain]


def test_men_and_women_change_places() -> None:
    told = text(
        "Mr. Reed saw her house , and Anna thanked him .\nHis sister is a doctor ; the choice was hers .",
        [(0, 1), (9, 9), (11, 11)],
        [(3, 3), (7, 7)],
        [(3, 4)],
        [(11, 12), (19, 19)],
    )
    (swapped,) = Names([told, OTHERS]).renamed([told], np.random.default_rng(3), swap=True)
    found = " ".join(words(swapped))
    name = words(swapped)[7]
    assert name == "Boris"  # a man's name for a woman's
    reed = words(swapped)[1]
    assert found == (
        f"Mrs. {reed} saw his house , and Boris thanked her . Her brother is a doctor ; the choice was his ."
    )
    assert swapped.entities == told.entities


def test_changing_places_twice_gives_the_words_again() -> None:
    plain = text("He gave his book to her .\nHer mother thanked him , the king .", [(0, 0)], [(2, 3)], [(7, 8)])
    nobody = Names([])
    (once,) = nobody.renamed([plain], np.random.default_rng(1), swap=True)
    assert " ".join(words(once)) == "She gave her book to him . His father thanked her , the queen ."
    (twice,) = nobody.renamed([once], np.random.default_rng(1), swap=True)
    assert words(twice) == words(plain)
