"""Text is cut at mentions into nested pieces, whatever crosses, and nothing of it is lost."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from incoref.outputs.pieces import Close, Open, by_sentence, cut, harmless, one_line
from incoref.types import Document, Mention
from strategies import documents


@given(documents(free_spacing=True))
def test_pieces_nest_and_make_up_the_text(document: Document) -> None:
    text = ""
    started, ended = Counter[tuple[int, int, str]](), Counter[tuple[int, int, str]]()
    for before, sentence, mentions in by_sentence(document):
        text += before
        opened: list[Mention] = []
        for piece in cut(document.text, sentence.start, sentence.end, mentions):
            if isinstance(piece, Open):
                opened.append(piece.mention)
                if piece.first:
                    assert piece.mention.start == len(text)
                    started[key(piece.mention)] += 1
            elif isinstance(piece, Close):
                assert opened.pop() is piece.mention
                if piece.last:
                    assert piece.mention.end == len(text)
                    ended[key(piece.mention)] += 1
            else:
                assert all(m.start <= len(text) and len(text) + len(piece) <= m.end for m in opened)
                text += piece
        assert not opened
    assert text == document.text[: document.sentences[-1].end]
    assert started == ended == Counter(map(key, document.mentions))


def key(mention: Mention) -> tuple[int, int, str]:
    return mention.start, mention.end, mention.entity


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_acts_on_a_terminal_or_a_page(text: str) -> None:
    shown = harmless(text)
    assert len(shown) == len(text)
    assert all(c in "\n\t" or c >= " " for c in shown)
    assert not any("\x7f" <= c < "\xa0" or "\ud800" <= c < "\ue000" or "\u202a" <= c <= "\u202e" for c in shown)
    shown.encode()
    assert "\n" not in one_line(text)


def test_signs_stand_for_what_acts() -> None:
    assert harmless("a\x1b[2Jb\r\nc\rd\x00") == "a␛[2Jb \nc␍d␀"
