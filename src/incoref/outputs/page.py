"""A document as a self-contained HTML page: no network, no other files.

Every mention has a colour, a line style and the number of its entity, so nothing depends on colour alone. The script
in ``assets`` highlights chains and replays the document; without it, the page is still complete. All text is escaped,
and the page's content security policy only allows its own script, by hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from itertools import islice
from pathlib import Path

from incoref.outputs.pieces import Open, by_sentence, cut, harmless, one_line
from incoref.types import Document, Entity, Mention, Sentence

ASSETS = Path(__file__).parent / "assets"
_COLOURS, _LINES = 6, 4
_HIGHEST = 3
"""Maximum height of a mention's underline, in lines of nested mentions above it; deeper nesting looks the same."""
_HINT = "Point at a mention to see its chain."


def html_page(document: Document, title: str | None = None) -> str:
    """Return the page of a document; the default title is the document's id."""
    style, script = ((ASSETS / f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    name = escape(one_line(document.id if title is None else title))
    looks = {entity.id: number for number, entity in enumerate(document.entities)}
    sentences = max(1, len(document.sentences))
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script)}">',
        f"<title>{name}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        f'<header><h1>{name}</h1><p class="counts">{counts(document)}</p></header>',
        '<section class="top" aria-label="Replay"><div class="bar">',
        '<div class="replay" hidden>',
        '<button id="play" type="button" aria-label="Replay">▶</button>',
        '<button id="back" type="button" aria-label="One sentence back">‹</button>',
        f'<input id="slider" type="range" min="1" max="{sentences}" value="{sentences}" '
        'aria-label="Sentences shown">',
        '<button id="on" type="button" aria-label="One sentence on">›</button>',
        f'<output id="place">{sentences} / {sentences}</output>',
        "</div>",
        f'<p id="about" data-hint="{_HINT}" aria-live="polite" hidden></p>',
        "</div></section>",
        '<div class="columns">',
        f'<main id="text">{"".join(text_blocks(document, looks))}</main>',
        '<aside><h2>Entities</h2><input id="find" type="search" placeholder="Find an entity" '
        'aria-label="Find an entity" hidden>',
        f'<ul id="entities">{"".join(map(_entity, document.entities, range(len(document.entities))))}</ul>',
        '<p class="help" hidden><kbd>Tab</kbd> into the text, then <kbd>←</kbd> <kbd>→</kbd> to the next mention, '
        "<kbd>↑</kbd> <kbd>↓</kbd> along a chain, <kbd>Enter</kbd> to hold it, <kbd>Esc</kbd> to let go.</p>",
        "</aside>",
        "</div>",
        f"<script>{script}</script>",
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(parts)


def policy(style: str, script: str = "") -> str:
    """The page's content security policy: only this script and this style are allowed."""

    def digest(content: str) -> str:
        return base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()

    return (
        f"default-src 'none'; style-src 'sha256-{digest(style)}'; script-src 'sha256-{digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def counts(document: Document) -> str:
    numbers = {
        ("entity", "entities"): len(document.entities),
        ("mention", "mentions"): sum(map(len, document.entities)),
        ("sentence", "sentences"): len(document.sentences),
        ("word", "words"): len(document.tokens),
    }
    return " · ".join(f"{count:,} {names[count != 1]}" for names, count in numbers.items())


def text_blocks(document: Document, looks: dict[str, int]) -> Iterator[str]:
    """Yield lines and turns with marked mentions; ``looks`` maps entity ids to the numbers of their styles.

    The browser skips blocks that are off-screen, which keeps long documents fast.
    """
    block: list[str] = []
    speaker: str | None = None
    place, gap = 0, False
    for number, (before, sentence, mentions) in enumerate(by_sentence(document)):
        turn = sentence.speaker != speaker
        if number and (turn or "\n" in before):
            yield _block(block, gap)
            block, gap = [], turn or before.count("\n") > 1
            before = before if before.strip() else before.rpartition("\n")[2]
        if turn:
            speaker = sentence.speaker
            block.append(_speaker(speaker) if speaker else "")
        block += [_text(before), _sentence(document, number, sentence, mentions, looks)]
        place = sentence.end
    yield _block([*block, _text(document.text[place:].rstrip())], gap)


def _block(parts: list[str], gap: bool) -> str:
    return f'<p class="block{" gap" if gap else ""}">{"".join(parts)}</p>\n'


def _speaker(name: str) -> str:
    return f'<span class="speaker">{escape(one_line(name))}:</span>'


def _text(text: str) -> str:
    return escape(harmless(text))


def _sentence(
    document: Document, number: int, sentence: Sentence, mentions: list[Mention], looks: dict[str, int]
) -> str:
    parts = [f'<span class="s" data-i="{number}">']
    opened: list[tuple[int, int]] = []  # index in parts of each open mention, and number of lines above its own
    for piece in cut(document.text, sentence.start, sentence.end, mentions):
        if isinstance(piece, str):
            parts.append(_text(piece))
        elif isinstance(piece, Open):
            opened.append((len(parts), 0))
            parts.append(_facts(piece, looks[piece.mention.entity]))
        else:
            place, height = opened.pop()
            if opened:
                around, known = opened[-1]
                opened[-1] = around, max(known, height + 1)
            label = f' data-n="{escape(one_line(piece.mention.entity))}"' if piece.last else ""
            parts[place] = f'<span class="m h{min(height, _HIGHEST)} {parts[place]}{label}>'
            parts.append("</span>")
    parts.append("</span>")
    return "".join(parts)


def _facts(opened: Open, number: int) -> str:
    """The rest of a mention's classes, and data attributes for the page's script."""
    mention = opened.mention
    known = [f'{look(number)}" tabindex="-1" data-e="{number}"']
    if not opened.first:
        known.append("data-more")
    if mention.new:
        known.append('data-new="1"')
    for name, value in (("c", mention.confidence), ("mc", mention.mention_confidence)):
        if value is not None:
            known.append(f'data-{name}="{value * 100:.0f}"')
    return " ".join(known)


def look(number: int) -> str:
    return f"c{number % _COLOURS} s{number // _COLOURS % _LINES}"


def _entity(entity: Entity, number: int) -> str:
    return (
        f'<li><button type="button" class="e {look(number)}" data-e="{number}" aria-pressed="false" '
        f'title="{_name(entity)}">{entity_fields(entity)}</button></li>'
    )


def entity_fields(entity: Entity) -> str:
    """An entity's fields in the list of entities."""
    return (
        f'<span class="n">{escape(one_line(entity.id))}</span>'
        f'<span class="name">{_name(entity)}</span><span class="type">{escape(one_line(entity.type or ""))}</span>'
        f'<span class="count">{len(entity)}</span>'
    )


def _name(entity: Entity) -> str:
    first = next((mention.text for mention in islice(entity.mentions, 1)), "")
    return escape(one_line(entity.name or first))
