"""What people read on a terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from incoref.outputs.terminal import entity_table, marked_text, plain_rows
from incoref.types import Document, Entity, Mention, Sentence, Token


def document() -> Document:
    text = "Anna\x1b[31m met her\nold dog.\nIt barked."
    places = {"Anna": (0, 4), "her": (14, 17), "her\nold dog": (14, 25), "It": (27, 29)}
    mentions = {name: Mention(*place, name, (0, 1), int(place[0] > 26), "") for name, place in places.items()}

    def entity(id: str, name: str, *said: str) -> Entity:
        of_it = (mentions[words] for words in said)
        return Entity(
            id, tuple(Mention(m.start, m.end, m.text, (0, 1), m.sentence, id) for m in of_it), name, "thing"
        )

    sentences = (Sentence(0, 26, (Token("x", 0, 1),), "Ines"), Sentence(27, 37, (Token("x", 0, 1),), "Omar"))
    entities = (entity("1", "Anna", "Anna", "her"), entity("12", "her\nold dog", "her\nold dog", "It"))
    return Document("d", text, sentences, entities)


def test_mentions_have_brackets_and_numbers() -> None:
    shown = "".join(text for text, _ in marked_text(document()))
    assert shown == "Ines: [Anna]₁␛[31m met [[her]₁\nold dog]₁₂.\nOmar: [It]₁₂ barked."


def test_mentions_of_an_entity_have_one_colour() -> None:
    colours = {text: style.split()[0] for text, style in marked_text(document()) if style and text.strip("[]₁₂")}
    assert colours["Anna"] == colours["her"] != colours["It"] == colours["\nold dog"]


def test_the_table() -> None:
    console = Console(width=70, record=True, file=StringIO())
    console.print(entity_table(document()))
    lines = [line.split() for line in console.export_text().splitlines()]
    assert lines == [
        ["name", "type", "mentions"],
        ["1", "Anna", "thing", "Anna", "·", "her"],
        ["12", "her", "old", "dog", "thing", "her", "old", "dog", "·", "It"],
    ]
    assert list(plain_rows(document())) == ["1\tAnna\tthing\tAnna · her", "12\ther old dog\tthing\ther old dog · It"]
