"""A document on a terminal: the text with mentions in brackets and entity numbers, and a table of entities.

Colours help, but nothing depends on them; a pipe gets the same text without colours.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import TYPE_CHECKING

from incoref.outputs.pieces import Open, by_sentence, cut, harmless, one_line
from incoref.types import Document, Entity

if TYPE_CHECKING:
    from rich.table import Table

# The Okabe-Ito palette, which is safe for colour-blind readers, without the colours that are too dark on black.
COLOURS = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#d55e00", "#cc79a7")

_BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SEPARATOR = " · "


def marked_text(document: Document) -> Iterator[tuple[str, str]]:
    """Yield pieces of the text with their styles; mentions are in brackets, turns begin with the speaker's name."""
    colours = _colours(document)
    place, speaker = 0, None
    for before, sentence, mentions in by_sentence(document):
        yield harmless(before), ""
        if sentence.speaker != speaker:
            speaker = sentence.speaker
            yield "\n" if place and not before.endswith("\n") else "", ""
            yield f"{one_line(speaker)}: " if speaker else "", "bold"
        opened: list[str] = []
        for piece in cut(document.text, sentence.start, sentence.end, mentions):
            if isinstance(piece, str):
                yield harmless(piece), f"{opened[-1]} underline" if opened else ""
                continue
            colour = colours[piece.mention.entity]
            if isinstance(piece, Open):
                opened.append(colour)
                yield "[" if piece.first else "", colour
            else:
                opened.pop()
                yield "]" + _label(piece.mention.entity) if piece.last else "", f"bold {colour}"
        place = sentence.end
    yield harmless(document.text[place:]).rstrip(), ""


def entity_table(document: Document) -> Table:
    """A table of the document's entities, one per row."""
    from rich.table import Table
    from rich.text import Text

    colours = _colours(document)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("name", overflow="fold")
    table.add_column("type", no_wrap=True)
    table.add_column("mentions", overflow="fold")
    for entity in document.entities:
        name = Text(_name(entity), f"bold {colours[entity.id]}")
        table.add_row(Text(one_line(entity.id)), name, one_line(entity.type or ""), Text(_mentions(entity)))
    return table


def plain_rows(document: Document) -> Iterator[str]:
    """The table for a pipe: one line per entity, tab-separated."""
    for entity in document.entities:
        yield "\t".join((one_line(entity.id), _name(entity), one_line(entity.type or ""), _mentions(entity)))


def _colours(document: Document) -> dict[str, str]:
    return {entity.id: colour for entity, colour in zip(document.entities, cycle(COLOURS), strict=False)}


def _label(entity: str) -> str:
    return entity.translate(_BELOW) if entity.isdecimal() else f"({one_line(entity)})"


def _name(entity: Entity) -> str:
    return one_line(entity.name or (entity.mentions[0].text if entity.mentions else ""))


def _mentions(entity: Entity) -> str:
    return _SEPARATOR.join(one_line(mention.text) for mention in entity.mentions)
