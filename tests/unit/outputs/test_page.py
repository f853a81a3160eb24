"""The page shows any document as it is, runs nothing but its own program, and can be told apart without colours."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import incoref.outputs
from incoref.outputs.page import html_page
from incoref.outputs.pieces import harmless, one_line
from incoref.types import Document, Entity, Mention, Sentence, Token
from strategies import documents

STYLE = (Path(incoref.outputs.__file__).parent / "assets" / "page.css").read_text(encoding="utf-8")
VOID = {"meta", "input"}
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><style>*{display:none}</style>",
    "<img src=x onerror=alert(1)>",
    "\"' onmouseover='alert(1)' x=\"",
    "&lt;b&gt; &amp; &#0;",
    "<!-- --><![CDATA[ ]]>",
    "javascript:alert(1)",
    "\x00\x1b\ud800\u202e\ufffe",
    "</main></body>",
)


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.count: dict[str, int] = {}
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.shown = ""
        self.mentions: list[tuple[dict[str, str | None], list[str]]] = []
        self._open_mentions: list[int | None] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.attributes |= {name for name, _ in attrs}
        if tag in VOID:
            return
        self.opened.append(tag)
        named = dict(attrs)
        is_mention = tag == "span" and (named.get("class") or "").startswith("m ")
        self._open_mentions.append(len(self.mentions) if is_mention else None)
        if is_mention:
            self.mentions.append((named, []))

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag
        self._open_mentions.pop()

    def handle_data(self, data: str) -> None:
        if "main" in self.opened:
            self.shown += data
        for number in self._open_mentions:
            if number is not None:
                self.mentions[number][1].append(data)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def document_of(text: str, mentions: list[tuple[int, int]] = [], name: str | None = None) -> Document:  # noqa: B006
    found = tuple(Mention(start, end, text[start:end], (0, 1), 0, "1") for start, end in mentions)
    entities = (Entity("1", found, name, name, name),) if found else ()
    return Document(name or "d", text, (Sentence(0, len(text), (Token(text, 0, len(text)),), name),), entities)


@given(documents(free_spacing=True))
def test_any_document_is_shown_with_all_its_mentions(document: Document) -> None:
    page = Page(html_page(replace(document, sentences=tuple(replace(s, speaker=None) for s in document.sentences))))
    assert not page.opened
    assert squeezed(page.shown) == squeezed(harmless(document.text))
    starts = [facts for facts, _ in page.mentions if "data-more" not in facts]
    assert len(starts) == len(list(document.mentions))
    assert sum("data-n" in facts for facts, _ in page.mentions) == len(starts)


@given(st.lists(st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=()), max_size=9), min_size=1))
def test_text_is_never_mark_up(pieces: list[str]) -> None:
    text = "".join(pieces) or "x"
    plain, page = (Page(html_page(document_of(t, [(0, len(t))], t), t)) for t in ("x", text))
    assert not page.opened
    assert page.count == plain.count
    assert page.attributes == plain.attributes
    assert squeezed(page.shown) == squeezed(f"{one_line(text)}:" + harmless(text))
    html_page(document_of(text)).encode()


def test_the_page_reaches_for_nothing() -> None:
    page = html_page(document_of("Anna left. https://example.org", [(0, 4)]))
    assert not {"src", "href", "srcset", "action", "style", "onclick"} & Page(page).attributes
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_nested_mentions_have_lines_below_one_another() -> None:
    text = "Hong Kong's film history"
    nested = Page(html_page(document_of(text, [(0, 24), (0, 11), (0, 9)])))
    assert [(facts["class"], "".join(words)) for facts, words in nested.mentions] == [
        ("m h2 c0 s0", text),
        ("m h1 c0 s0", "Hong Kong's"),
        ("m h0 c0 s0", "Hong Kong"),
    ]


def test_speakers_begin_their_turns() -> None:
    sentences = (
        Sentence(0, 3, (Token("Hi.", 0, 3),), "Ann <3"),
        Sentence(4, 8, (Token("Yes?", 4, 8),), "Bob"),
        Sentence(9, 12, (Token("So.", 9, 12),), "Bob"),
    )
    page = html_page(Document("d", "Hi.\nYes? So.", sentences))
    assert page.count('class="speaker"') == 2
    assert squeezed(Page(page).shown) == "Ann<3:Hi.Bob:Yes?So."


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_page_of_nothing(text: str) -> None:
    assert "0 entities · 0 mentions · 0 sentences · 0 words" in html_page(Document("d", text, ()))


def test_no_two_entities_near_each_other_look_alike() -> None:
    text = "a " * 30
    entities = tuple(Entity(str(n), (Mention(2 * n, 2 * n + 1, "a", (n, n + 1), 0, str(n)),), "a") for n in range(24))
    tokens = tuple(Token("a", 2 * n, 2 * n + 1) for n in range(30))
    page = Page(html_page(Document("d", text, (Sentence(0, 59, tokens),), entities)))
    assert len({facts["class"] for facts, _ in page.mentions}) == 24
    assert [facts["data-n"] for facts, _ in page.mentions] == [str(n) for n in range(24)]


# How people without one kind of cone see (Machado, Oliveira and Fernandes 2009, severity 1.0), on linear RGB.
EYES = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def palettes() -> list[dict[str, str]]:
    """The colours by name, in the light and in the dark."""
    return [dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in STYLE.split("@media (prefers-color", 1)]


def linear(colour: str) -> np.ndarray:
    value = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB, in which a distance of 2 or 3 can just be seen."""
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.clip(np.array(to_xyz) @ rgb / [0.95047, 1, 1.08883], 0, None)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(one: str, other: str) -> float:
    light, dark = sorted((float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark"])
@pytest.mark.parametrize("eyes", EYES)
def test_colour_blind_people_can_tell_the_colours_apart(palette: dict[str, str], eyes: str) -> None:
    seen = [lab(np.clip(np.array(EYES[eyes]) @ linear(palette[f"c{n}"]), 0, 1)) for n in range(6)]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 20


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark"])
def test_lines_and_letters_stand_out(palette: dict[str, str]) -> None:
    assert contrast(palette["ink"], palette["paper"]) > 7
    assert contrast(palette["quiet"], palette["paper"]) > 4.5
    assert min(contrast(palette[f"c{n}"], palette["paper"]) for n in range(6)) > 3
