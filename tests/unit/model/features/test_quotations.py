"""Which words stand in quotation marks, and which quotations are one speech."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.model.features import NO_QUOTATIONS, QuotationState, Quoted, quotations


def read(*sentences: str) -> tuple[list[list[tuple[str, int, bool, bool]]], QuotationState]:
    """Every word but marks with where it stands."""
    lines = [sentence.split() for sentence in sentences]
    found, state = quotations(((words, None) for words in lines), NO_QUOTATIONS, None)
    return [
        [(word, *place) for word, place in zip(words, places, strict=True) if word.isalnum()]
        for words, places in zip(lines, found, strict=True)
    ], state


def shown(*sentences: str) -> str:
    """The words, with the number of their speech where they are quoted, and an = before that of an answer."""
    return " | ".join(
        " ".join(f"{word}{'=' * answers}{number}" if inside else word for word, number, inside, answers in sentence)
        for sentence in read(*sentences)[0]
    )


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [
        (["He left ."], "He left"),
        (["“ Yes , ” said he ."], "Yes1 said he"),
        (['" Yes , " said he .'], "Yes1 said he"),
        (["`` Yes , '' said he ."], "Yes1 said he"),
        (["‘ Yes , ’ said he ."], "Yes1 said he"),
        (["' Yes , ' said he ."], "Yes1 said he"),
        # what goes on after "said he" is the same speech, in the same sentence alone
        (["“ Yes , ” said he , “ I do . ”"], "Yes1 said he I1 do1"),
        (["“ Yes , ” said he .", "“ I do . ”"], "Yes1 said he | I2 do2"),
        # without a word between, another answers
        (["“ Do you ? ”", "“ I do . ”"], "Do1 you1 | I=2 do=2"),
        (["“ Do you ? ” “ I do . ” “ No ! ”"], "Do1 you1 I=2 do=2 No=3"),
        # over several sentences, and a mark at the start of every paragraph
        (["“ I came .", "I saw .", "I won . ” He left ."], "I1 came1 | I1 saw1 | I1 won1 He left"),
        (["“ I came .", "“ I saw . ”", "He left ."], "I1 came1 | I1 saw1 | He left"),
        (['" I came .', '" I saw . "', "He left ."], "I1 came1 | I1 saw1 | He left"),
        # a straight mark at the end of a sentence ends a quotation, or nothing
        (['It is five inches "', "He left ."], "It is five inches | He left"),
        # apostrophes
        (["The boys ' dog , and the girls ' cat ."], "The boys dog and the girls cat"),
        (["‘ The boys ’ dog , ’ said he ."], "The1 boys1 dog1 said he"),
        # quotations within quotations belong to who speaks
        (["“ She said ‘ Go ! ’ to me , ” said he ."], "She1 said1 Go1 to1 me1 said he"),
        (["‘ She said “ Go ! ” to me , ’ said he ."], "She1 said1 Go1 to1 me1 said he"),
    ],
)
def test_what_is_quoted(sentences: list[str], expected: str) -> None:
    assert shown(*sentences) == expected


def test_a_quotation_without_an_end_is_over_some_time() -> None:
    words = read(*['He has a 12 " screen .'], *["It is nice ."] * 30)[0]
    inside = [any(quoted for _, _, quoted, _ in sentence) for sentence in words]
    assert inside[0]
    assert not any(inside[12:])


def test_a_quotation_ends_with_the_turn_of_who_quotes() -> None:
    lines = [(["He", "said", ":", "“", "Go"], "Anna"), (["I", "will"], "Anna"), (["Who", "?"], "Tom")]
    found, _ = quotations(lines, NO_QUOTATIONS, None)
    assert [[place.inside for place in sentence] for sentence in found] == [
        [False, False, False, True, True],
        [True, True],
        [False, False],
    ]


WORDS = st.lists(
    st.sampled_from(["I", "you", "said", ".", ",", "“", "”", '"', "'", "‘", "’", "``", "''"]), max_size=8
)


@given(st.lists(st.tuples(WORDS, st.sampled_from([None, "Anna", "Tom"])), max_size=12), st.integers(0, 12))
def test_read_at_once_or_in_parts(lines: list[tuple[list[str], str | None]], cut: int) -> None:
    whole, end = quotations(lines, NO_QUOTATIONS, None)
    first, state = quotations(lines[:cut], NO_QUOTATIONS, None)
    speaker = lines[:cut][-1][1] if lines[:cut] else None
    second, last = quotations(lines[cut:], state, speaker)
    assert (first + second, last) == (whole, end)
    places = [place for sentence in whole for place in sentence]
    assert all(len(places) == len(words) for places, (words, _) in zip(whole, lines, strict=True))
    for before, place in zip([Quoted(), *places], places, strict=False):
        assert place.number - before.number in (0, 1)
        assert place.number or not place.inside
