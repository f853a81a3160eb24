"""A self-contained HTML page that shows annotated and predicted entities side by side.

Matching entities have the same number and colour on both sides; ✗ marks missing mentions and + extra ones. Predicted
entities without a counterpart have a number with a letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice

from incoref.analysis.clusterings import annotated
from incoref.analysis.systems import Clusters
from incoref.outputs.page import ASSETS, policy, text_blocks
from incoref.outputs.pieces import one_line
from incoref.types import Document

_STYLE = """
header, main { max-width: 96rem; }
main { margin: 0 auto; padding: 0 1.25rem 4rem; }
details { border-top: 1px solid var(--line); padding: .75rem 0; }
summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }
summary span { color: var(--quiet); font-weight: 400; font-size: .9rem; margin-left: .6em; }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 2.5rem; margin-top: .75rem; }
.pair h3 { font-size: .9rem; color: var(--quiet); margin: 0 0 .25rem; }
.m { cursor: auto; }
.faults { font-size: .9rem; color: var(--quiet); margin: .75rem 0 0; }
.faults b { color: var(--ink); font-weight: 600; }
nav { font-size: .9rem; color: var(--quiet); }
@media (max-width: 56rem) { .pair { grid-template-columns: minmax(0, 1fr); gap: 1rem; } }
"""
_LISTED = 12


@dataclass(frozen=True, slots=True)
class Shown:
    """A document with its annotated and predicted entities."""

    document: Document
    gold: Clusters
    predicted: Clusters
    f1: float


def side_by_side(documents: Sequence[Shown], title: str) -> str:
    style = (ASSETS / "page.css").read_text(encoding="utf-8") + _STYLE
    name = escape(one_line(title))
    sections = "\n".join(_section(shown, number == 0) for number, shown in enumerate(documents))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy(style)}">
<title>{name}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{name}</h1><p class="counts">Worst first. An entity has one number and colour on both sides;
✗ marks a mention that the system missed, + one that is not annotated, and a number with a letter an entity that has
no counterpart.</p></header>
<main>
{sections}
</main>
</body>
</html>
"""


def _section(shown: Shown, is_open: bool) -> str:
    document = shown.document
    numbers = _aligned(shown.gold, shown.predicted)
    gold_names = [str(number + 1) for number in range(len(shown.gold))]
    alone = iter(range(1, len(shown.predicted) + 1))
    found_names = [
        gold_names[numbers[place]] if place in numbers else f"{next(alone)}a" for place in range(len(shown.predicted))
    ]
    looks = {name: number for number, name in enumerate(dict.fromkeys((*gold_names, *found_names)))}
    gold_spans = {span for cluster in shown.gold for span in cluster}
    found_spans = {span for cluster in shown.predicted for span in cluster}
    sides = []
    for heading, clusters, names, others, mark in (
        ("annotated", shown.gold, gold_names, found_spans, "✗"),
        ("found", shown.predicted, found_names, gold_spans, "+"),
    ):
        named: dict[str, list[tuple[int, int]]] = {}
        for name, cluster in zip(names, clusters, strict=True):
            for span in cluster:
                named.setdefault(name if span in others else name + mark, []).append(span)
        marked = {**looks, **{name + mark: number for name, number in looks.items()}}
        blocks = "".join(text_blocks(annotated(document, named), marked))
        sides.append(f"<div><h3>{heading}</h3>{blocks}</div>")
    facts = (
        f"CoNLL F1 {shown.f1:.1f} · {len(document.sentences)} sentences · {len(gold_spans - found_spans)} missing, "
        f"{len(found_spans - gold_spans)} extra mentions of {len(gold_spans)}"
    )
    return (
        f"<details{' open' if is_open else ''}><summary>{escape(one_line(document.id))}<span>{facts}</span></summary>"
        f'<div class="pair">{"".join(sides)}</div>{_faults(shown, gold_names, found_names)}</details>'
    )


def _aligned(gold: Clusters, predicted: Clusters) -> dict[int, int]:
    """Match predicted to annotated entities one-to-one, greedily by similarity."""
    gold_of = {span: number for number, cluster in enumerate(gold) for span in cluster}
    shared: dict[tuple[int, int], int] = {}
    for place, cluster in enumerate(predicted):
        for span in cluster:
            if span in gold_of:
                pair = place, gold_of[span]
                shared[pair] = shared.get(pair, 0) + 1
    ranked = sorted(shared, key=lambda pair: (-shared[pair] / (len(predicted[pair[0]]) + len(gold[pair[1]])), pair))
    aligned: dict[int, int] = {}
    taken: set[int] = set()
    for place, number in ranked:
        if place not in aligned and number not in taken:
            aligned[place] = number
            taken.add(number)
    return aligned


def _faults(shown: Shown, gold_names: Sequence[str], found_names: Sequence[str]) -> str:
    """List the divided and conflated entities as HTML."""
    said = []
    for what, clusters, names, others, other_names in (
        ("divided", shown.gold, gold_names, shown.predicted, found_names),
        ("conflated", shown.predicted, found_names, shown.gold, gold_names),
    ):
        other_of = {span: name for name, cluster in zip(other_names, others, strict=True) for span in cluster}
        listed = []
        for name, cluster in zip(names, clusters, strict=True):
            into = dict.fromkeys(other_of[span] for span in cluster if span in other_of)
            if len(into) > 1:
                first = min(cluster)
                tokens = shown.document.tokens[first[0] : first[1]]
                text = one_line(" ".join(token.text for token in tokens))
                listed.append(f"{escape(name)} <i>{escape(text[:40])}</i> ({', '.join(map(escape, into))})")
        if listed:
            more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
            said.append(f'<p class="faults"><b>{what}:</b> {"; ".join(islice(listed, _LISTED))}{more}</p>')
    return "".join(said)
