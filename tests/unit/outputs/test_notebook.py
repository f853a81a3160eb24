"""What notebooks show: complete, confined, harmless, and short enough."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from incoref.outputs.notebook import SHOWN_SENTENCES
from incoref.resolver import Resolver
from incoref.session.advance import HARDLY_ENGLISH
from incoref.types import Document, Entity, Mention, Sentence

TEXT = "Anna met Carl. She saw the dog.\n\nThe dog saw Anna & Carl."


class Reader(HTMLParser):
    """The text outside the style; complains of tags that don't match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self._open = "", list[str]()
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += "" if "style" in self._open else data


def test_a_document_in_a_notebook(rule_resolver: Resolver) -> None:
    html = rule_resolver.resolve(TEXT, id="<d1>")._repr_html_()
    text = Reader(html).text
    assert "<d1> · 3 entities · 7 mentions · 3 sentences · 16 words" in text
    assert "The dog saw Anna & Carl." in text
    assert "<script" not in html and "\nbody" not in html and ":root" not in html and " id=" not in html
    assert re.findall(r'class="name">([^<]*)', html) == ["Anna", "Carl", "the dog"]


def test_a_session_and_its_updates_in_a_notebook(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session()
    (first,) = chat.say("Anna met Carl.", "Ben")
    (second,) = chat.say("Это большая собака, и Anna.", "Ben")
    assert "Anna met Carl." in Reader(first._repr_html_()).text
    shown = Reader(second._repr_html_()).text
    assert "sentence 1" in shown and HARDLY_ENGLISH in shown and "Ben:" in shown
    assert "Anna met Carl." in Reader(chat._repr_html_()).text
    assert Reader(rule_resolver.session()._repr_html_()).text.startswith("session · 0 entities")


def test_long_texts_are_shown_in_part(rule_resolver: Resolver) -> None:
    text = "".join(f"Anna saw number{place}. " for place in range(SHOWN_SENTENCES + 5))
    shown = Reader(rule_resolver.resolve(text)._repr_html_()).text
    assert f"number{SHOWN_SENTENCES - 1}." in shown and f"number{SHOWN_SENTENCES}." not in shown
    assert "5 more sentences are not shown" in shown
    chat = rule_resolver.session()
    chat.say(text)
    shown = Reader(chat._repr_html_()).text
    assert "number4." not in shown and "number5." in shown and f"number{SHOWN_SENTENCES + 4}." in shown


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\x1b[31m & \u202e"])
def test_any_text_is_shown_as_text(text: str) -> None:
    mention = Mention(0, len(text), text, (0, 1), 0, text)
    document = Document(text, text, (Sentence(0, len(text), ()),), (Entity(text, (mention,), name=text),))
    html = document._repr_html_()
    assert "<script" not in html and "\x1b" not in html and "\u202e" not in html
    Reader(html)
