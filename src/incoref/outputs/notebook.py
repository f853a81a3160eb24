"""Documents, sessions and updates in notebooks: styled like the page, without its script.

A notebook embeds the output in its own HTML, so the page's style is scoped to it. Long texts are truncated.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from html import escape
from itertools import islice

from incoref.outputs.page import ASSETS, counts, entity_fields, look, text_blocks
from incoref.outputs.pieces import one_line
from incoref.session.session import Session
from incoref.session.updates import Update
from incoref.types import Document, Entity, Mention, Sentence

SHOWN_SENTENCES = 60
SHOWN_ENTITIES = 40
_ASIDE = "aside { position: static; max-height: 30rem; }"


def html_of(value: Document | Session | Update) -> str:
    """Return the HTML representation of a value for notebooks."""
    if isinstance(value, Update):
        return _piece(_document_of(value), escape(one_line(f"sentence {value.sentence}")), value.warnings)
    if isinstance(value, Session):
        since = max(0, value.sentences - SHOWN_SENTENCES)
        place = f", from sentence {since}" if since else ""
        document = value.document(singletons=True, since=since)
        return _piece(document, f"session{place} · {counts(document)}")
    more = len(value.sentences) - SHOWN_SENTENCES
    rest = f" · {more:,} more sentences are not shown" if more > 0 else ""
    return _piece(_beginning(value), f"{escape(one_line(value.id))} · {counts(value)}{rest}")


def _piece(document: Document, title: str, warnings: tuple[str, ...] = ()) -> str:
    looks = {entity.id: number for number, entity in enumerate(document.entities)}
    entities = "".join(map(_entity, islice(document.entities, SHOWN_ENTITIES), range(SHOWN_ENTITIES)))
    more = len(document.entities) - SHOWN_ENTITIES
    rest = f'<li class="counts">and {more:,} more</li>' if more > 0 else ""
    told = "".join(f'<p class="counts">⚠ {escape(one_line(warning))}</p>' for warning in warnings)
    return (
        f'<div class="incoref"><style>{_style()}</style><p class="counts">{title}</p>{told}'
        f'<div class="columns"><div>{"".join(text_blocks(document, looks))}</div>'
        f'<aside><ul class="entities" aria-label="Entities">{entities}{rest}</ul></aside></div></div>'
    )


@lru_cache(maxsize=1)
def _style() -> str:
    """The page's style, scoped to the notebook output."""
    style = (ASSETS / "page.css").read_text(encoding="utf-8")
    for of_page, of_piece in ((":root", "&"), ("\nbody {", "\n& {"), ("#entities", ".entities")):
        style = style.replace(of_page, of_piece)
    return f".incoref {{ {style} & {{ padding: .75rem; }} .columns {{ padding: 0; }} {_ASIDE} }}"


def _entity(entity: Entity, number: int) -> str:
    return f'<li><span class="e {look(number)}">{entity_fields(entity)}</span></li>'


def _beginning(document: Document) -> Document:
    """The first sentences of a document and the mentions in them."""
    if len(document.sentences) <= SHOWN_SENTENCES:
        return document
    sentences = document.sentences[:SHOWN_SENTENCES]
    entities = (
        replace(entity, mentions=tuple(each for each in entity.mentions if each.sentence < SHOWN_SENTENCES))
        for entity in document.entities
    )
    shown = tuple(entity for entity in entities if entity.mentions)
    return replace(document, text=document.text[: sentences[-1].end], sentences=sentences, entities=shown)


def _document_of(update: Update) -> Document:
    """An update's sentence as a separate document."""
    chains: dict[str, list[Mention]] = defaultdict(list)
    for each in update.mentions:
        placed = replace(each, start=each.start - update.start, end=each.end - update.start, sentence=0)
        chains[each.entity].append(placed)
    entities = (Entity(id, tuple(mentions)) for id, mentions in chains.items())
    sentence = Sentence(0, len(update.text), (), update.speaker)
    return Document("update", update.text, (sentence,), tuple(entities))
