"""Raw text to sentences and words: what the rules are meant to do, case by case."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import incoref
from incoref.text import FORCED, Pending, RuleSplitter, split


def words(text: str) -> list[str]:
    return [token.text for sentence in split(text) for token in sentence.tokens]


def sentences(text: str) -> list[str]:
    return [text[sentence.start : sentence.end] for sentence in split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna's notes, they're Ben's.", "Anna 's notes , they 're Ben 's ."),
        ("I don’t, can't and won't; she'd've", "I do n’t , ca n't and wo n't ; she'd 've"),
        ("We cannot. Gonna go?", "We can not . Gon na go ?"),
        ("the students' books", "the students ' books"),
        ("O'Connor at five o'clock", "O'Connor at five o'clock"),
        ("back in the '90s and 1980s", "back in the '90s and 1980s"),
        ('He said: "Yes (really)!"', 'He said : " Yes ( really ) ! "'),
        ("“Well…” she said... twice", "“ Well … ” she said ... twice"),
        ("well-known eye-tracking of a 50-year-old", "well - known eye - tracking of a 50 - year - old"),
        ("non-profit co-founder and pre-season e-mail", "non-profit co-founder and pre-season e-mail"),
        ("wait — or--maybe – not", "wait — or -- maybe – not"),
        ("3.14 and 1,000,000.50 at 12:30 on 1/2", "3.14 and 1,000,000.50 at 12:30 on 1/2"),
        ("[13,14] 5% of $20.5", "[ 13 , 14 ] 5 % of $ 20.5"),
        ("a 10km run at 5pm in 2nd gear", "a 10 km run at 5 pm in 2nd gear"),
        ("see https://example.org/a_b?c=d.", "see https://example.org/a_b?c=d ."),
        ("(www.example.com/x)", "( www.example.com/x )"),
        ("mail first.last+tag@mail.example.co.uk, now", "mail first.last+tag@mail.example.co.uk , now"),
        ("read example.com/page and file.txt", "read example.com/page and file.txt"),
        ("#hashtag and @user_1", "#hashtag and @user_1"),
        ("and/or s/he", "and / or s/he"),
        ("AT&T and R&D", "AT&T and R&D"),
        ("friend(s) of mine", "friend(s) of mine"),
        ("Mr. and Mrs. Smith, Ph.D., of Acme Inc.", "Mr. and Mrs. Smith , Ph.D. , of Acme Inc."),
        ("the U.S. Army at 5 p.m. sharp", "the U.S. Army at 5 p.m. sharp"),
        ("e.g. cats, i.e. felines, etc.", "e.g. cats , i.e. felines , etc."),
        ("J. K. Rowling", "J. K. Rowling"),
        ("No. 5 is alive", "No. 5 is alive"),
        ("Oh no. She left", "Oh no . She left"),
        ("s- some fra-, uh", "s- some fra- , uh"),
        ("snake_case", "snake_case"),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@pytest.mark.parametrize(
    "word",
    [
        "👩‍👩‍👧‍👦",  # joined by zero-width joiners
        "👍🏽",  # with a skin tone
        "🇩🇪",  # a flag of two letters
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",  # a flag of tags
        "1️⃣",  # a key
        "❤️",  # with a variation selector
        "cafe\u0301",  # decomposed
        "हिन्दी",  # vowel signs and a virama
        "می‌خواهم",  # with a zero-width non-joiner
        "שָׁלוֹם",
        "co\u00adoperate",  # with a soft hyphen
    ],
)
def test_what_belongs_together_is_one_word(word: str) -> None:
    assert words(f"so {word} goes") == ["so", word, "goes"]
    assert words(word) == [word]


def test_emoji_in_a_row_are_words_of_their_own() -> None:
    assert words("😀😀🇩🇪🇫🇷") == ["😀", "😀", "🇩🇪", "🇫🇷"]


@pytest.mark.parametrize("blank", ["\u200b", "\ufeff", "\u200f", "\x00", "\x07", "\u00a0", "\u3000", "\x7f"])
def test_blanks_of_any_kind_separate_words_and_are_none(blank: str) -> None:
    assert words(f"{blank}one{blank}two{blank}") == ["one", "two"]


@pytest.mark.parametrize("text", ["", " ", "\n\n\r\n", "\u200b\ufeff", "\u00ad", "\u200d \u2060", "\x00\x01"])
def test_nothing_visible_gives_nothing(text: str) -> None:
    assert split(text) == []


@pytest.mark.parametrize(
    "expected",
    [
        ["Anna called Ben.", "She asked him."],
        ["Dr. Smith met Mr. J. R. Brown.", "They talked."],
        ["He moved to the U.S. in May.", "She stayed."],
        ["She lives in the U.S.", "He does not."],
        ["He works for Acme Inc. in Ohio.", "She left at 5 p.m.", "They met."],
        ["We need pens, paper, etc.", "Bring them."],
        ["Some animals, e.g. cats, sleep.", "Others, i.e. Dogs, do not."],
        ["Smith et al. 2009 says so.", "See Fig. 3 and p. 7."],
        ["It cost 3.50 dollars.", "Then 4."],
        ["Go to http://example.com/a.b.", "Then to www.example.org.", "Done."],
        ["Write to a@example.com.", "She reads it."],
        ['"Go!" he said.', '"No."', "She left."],
        ["“Are you there?” I asked.", "Nobody answered."],
        ["“Are you there?” Betty asked.", "“Are you there?” Mr. Brown asked."],
        ["(He left.)", "[She stayed.]", "They met."],
        ["He wondered… and stopped.", "Well...", "So be it."],
        ["He came in 1969.[1]", "He left in 1970. [2]", "He died."],
        ["What?!", "No!!!", "Really?"],
        ["I love it! 😀", "See you."],
        ["He has an iPhone.", "iPhones are dear."],
        ["so i went home.", "then i slept.", "ok?", "fine."],
        ["He is — well.", "It was a friend of mine – Bill – who came."],
        ["That's what the —", "The reason is simple."],
        ["你好。", "我很好！", "「是吗？」", "是。"],
        ["كيف حالك؟", "أنا بخير."],
        ["यह एक वाक्य है।", "यह दूसरा है।"],
    ],
)
def test_sentences_on_one_line(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


def test_full_width_stops_need_no_space() -> None:
    assert sentences("你好。我很好！「是吗？」是") == ["你好。", "我很好！", "「是吗？」", "是"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_blank_line_ends_a_sentence(line_end: str) -> None:
    assert sentences(f"no stop here{line_end}{line_end}and on{line_end} \t{line_end}it goes") == [
        "no stop here",
        "and on",
        "it goes",
    ]


def test_paragraph_separator_and_very_long_gaps_end_a_sentence() -> None:
    assert sentences("one\u2029two" + " " * 2000 + "three") == ["one", "two", "three"]


WRAPPED = """\
It was on a dreary night of November that I beheld the accomplishment of
my toils. With an anxiety that almost amounted to agony, I saw Dr.
Frankenstein collect the instruments of life around me, and Elizabeth
Lavenza said nothing."""


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\n    "])
def test_wrapped_lines_go_on(line_end: str) -> None:
    text = WRAPPED.replace("\n", line_end)
    assert len(sentences(text)) == 2


@pytest.mark.parametrize(
    "expected",
    [
        ["A Short Title", "The first sentence of the text."],
        ["Getting in", "By plane", "By train"],
        ["Buy:", "- milk and eggs", "- bread", "* butter"],
        ["To do", "1. Buy milk", "2. Feed the cat", "10) Sleep"],
        ["Hey there", "What's up", "Not much"],
        ["Shall I compare thee to a summer's day?", "Thou art more lovely and more temperate:"],
        ["The curfew tolls the knell of parting day,\nThe lowing herd wind slowly o'er the lea,\nAnd leaves."],
        ["a line that ends in small\nletters and goes on"],
        ["we were on the way to the city of\nRome when it rained"],
    ],
)
def test_short_lines(expected: list[str]) -> None:
    assert sentences("\n".join(expected)) == expected


def test_numbers_of_items_belong_to_them() -> None:
    assert words("1. Buy milk\n2.1. Feed the cat") == ["1.", "Buy", "milk", "2.1.", "Feed", "the", "cat"]
    assert sentences("1. Buy milk.\n2. Feed it.") == ["1. Buy milk.", "2. Feed it."]


def test_offsets_count_code_points_from_the_given_start() -> None:
    text = "👍🏽 Anna\r\n\r\nהיא כאן."
    for offset in (0, 1000):
        for sentence in split(text, offset):
            assert text[sentence.start - offset : sentence.end - offset].startswith(sentence.tokens[0].text)
            for token in sentence.tokens:
                assert text[token.start - offset : token.end - offset] == token.text
    assert split(text, 7)[0].start == 7


def releases(pieces: Iterable[str]) -> list[list[str]]:
    """What comes out after each piece, and last what flushing gives."""
    splitter, pending, released = RuleSplitter(), Pending(), []
    for piece in pieces:
        found, pending = splitter.feed(pending, piece)
        released.append([" ".join(token.text for token in sentence.tokens) for sentence in found])
    found, _ = splitter.flush(pending)
    released.append([" ".join(token.text for token in sentence.tokens) for sentence in found])
    return released


def test_a_sentence_comes_out_with_the_first_character_that_proves_its_end() -> None:
    assert releases(["He left", ".", " ", "S", "he stayed."]) == [[], [], [], ["He left ."], [], ["She stayed ."]]


def test_a_blank_line_is_proof_by_itself() -> None:
    assert releases(["A title\n", "\n", "Text"]) == [[], ["A title"], [], ["Text"]]


def test_what_could_be_an_abbreviation_waits_for_the_next_word() -> None:
    assert releases(["in the U.S. ", "Th", "e", " end"]) == [[], [], [], ["in the U.S."], ["The end"]]
    assert releases(["Dr. ", "Who", " came"])[-1] == ["Dr. Who came"]


def test_nothing_comes_out_before_its_end_is_proven() -> None:
    assert releases(["He paid 3", ".", "50 and left"])[-1] == ["He paid 3.50 and left"]
    assert releases(["Wait", ".", ".", ". what"])[-1] == ["Wait ... what"]
    assert releases(["“Why?", "” ", "I", " ask", "ed."])[-1] == ["“ Why ? ” I asked ."]


def test_pending_is_text_and_place() -> None:
    _, pending = RuleSplitter().feed(Pending(offset=5), "Done. And the re")
    assert pending == Pending("And the re", 11, 6)
    assert pending.to_json() == {"text": "And the re", "offset": 11, "column": 6}
    assert Pending.from_json(pending.to_json()) == pending


def test_flushing_twice_gives_nothing_new() -> None:
    splitter = RuleSplitter()
    _, pending = splitter.feed(Pending(), "the end")
    first, pending = splitter.flush(pending)
    assert len(first) == 1
    assert splitter.flush(pending) == ([], Pending(offset=7))


def test_a_sentence_that_is_too_long_is_ended_and_marked() -> None:
    found = split("word " * 20_000)
    assert all(len(sentence) <= 200 for sentence in found)
    assert sum(len(sentence) for sentence in found) == 20_000
    assert all(sentence.attributes == FORCED for sentence in found[:-1])
    assert found[-1].attributes == ()


def test_a_forced_end_prefers_the_end_of_a_clause() -> None:
    found = split("a b c, d e f g", splitter=RuleSplitter(max_tokens=6))
    assert [[token.text for token in sentence.tokens] for sentence in found] == [["a", "b", "c", ","], list("defg")]


def test_text_without_any_blank_comes_in_parts() -> None:
    found = split("x" * 1_000_000)
    assert "".join(token.text for sentence in found for token in sentence.tokens) == "x" * 1_000_000
    assert all(sentence.end - sentence.start <= RuleSplitter().max_characters for sentence in found)


@pytest.mark.parametrize(
    "start", ["He said. (", "He said. [a", "“Why?” A", "U.S. T", "Done. — ", "a\n1", "a. 😀", "a "]
)
@pytest.mark.parametrize("more", ["(", "a", " ", "😀", ".", "\u00ad ", "]", "1"])
def test_what_is_pending_stays_small_whatever_comes(start: str, more: str) -> None:
    splitter, pending = RuleSplitter(), Pending()
    _, pending = splitter.feed(pending, start)
    for _ in range(30):
        _, pending = splitter.feed(pending, more * 1000)
        assert len(pending.text) < 7000


def test_importing_the_splitter_loads_no_other_package() -> None:
    heavy = "numpy torch transformers spacy scipy regex tokenizers onnxruntime pydantic".split()
    code = f"import sys, incoref.text; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python 3.11.2 gets this wrong: an emoji was an empty word and itself, and a sentence never ended."""
    source = Path(incoref.__file__).parent
    repeated = re.compile(r"\)(?:[*+?]|\{+\d*,?\d*\}+)\+")
    found = [
        f"{path.name}: {line.strip()}"
        for path in source.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if repeated.search(line)
    ]
    assert not found
