"""Cuts text where mentions start and end, so that it can be marked up: crossing mentions are split to nest properly.

Predicted mentions nest, but annotated ones may cross, and if several sentences are read at once, a mention may end in
a later sentence. Independent of the kind of mark-up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from incoref.types import Document, Mention, Sentence

_SHOWN_BREAKS = "\n\t"
_VISIBLE = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in _SHOWN_BREAKS},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000)), 0xFFFD),
    **dict.fromkeys((0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF), 0xFFFD),
}


@dataclass(frozen=True, slots=True)
class Open:
    """A piece of a mention begins."""

    mention: Mention
    first: bool
    """Whether the mention starts here."""


@dataclass(frozen=True, slots=True)
class Close:
    """The most recently opened piece ends."""

    mention: Mention
    last: bool
    """Whether the mention ends here."""


def harmless(text: str) -> str:
    """Replace characters that could affect a terminal or page by visible symbols; the length stays the same."""
    return text.translate(_VISIBLE).replace("\u240d\n", " \n")


def one_line(text: str) -> str:
    """The text on a single line, with harmless characters only."""
    return harmless(" ".join(text.split()))


def cut(text: str, start: int, end: int, mentions: Iterable[Mention]) -> Iterator[Open | Close | str]:
    """Yield the text from ``start`` to ``end``, with each piece of a mention between an ``Open`` and a ``Close``."""
    inside = [mention for mention in mentions if mention.start < end and mention.end > start < end]
    inside = [mention for mention in inside if mention.start < mention.end]
    inside.sort(key=lambda mention: (mention.start, -mention.end))
    places = sorted({start, end, *(p for m in inside for p in (m.start, m.end) if start < p < end)})
    opened: list[Mention] = []
    following = 0
    for place, until in zip(places, [*places[1:], end], strict=True):
        done = {id(mention) for mention in opened if min(mention.end, end) == place}
        reopened: list[Mention] = []
        while done:
            mention = opened.pop()
            ends = id(mention) in done
            yield Close(mention, ends and mention.end == place)
            if ends:
                done.remove(id(mention))
            else:
                reopened.append(mention)
        for mention in reversed(reopened):
            yield Open(mention, False)
            opened.append(mention)
        while following < len(inside) and max(inside[following].start, start) == place and place < end:
            mention = inside[following]
            yield Open(mention, mention.start == place)
            opened.append(mention)
            following += 1
        if place < until:
            yield text[place:until]


def by_sentence(document: Document) -> Iterator[tuple[str, Sentence, list[Mention]]]:
    """Yield each sentence with the text before it and the mentions that overlap it."""
    starting: dict[int, list[Mention]] = defaultdict(list)
    for mention in document.mentions:
        starting[mention.sentence].append(mention)
    place, open_mentions = 0, list[Mention]()
    for number, sentence in enumerate(document.sentences):
        open_mentions = [mention for mention in open_mentions if mention.end > sentence.start]
        open_mentions += starting[number]
        yield document.text[place : sentence.start], sentence, open_mentions
        place = sentence.end
