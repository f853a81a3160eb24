"""Mentions as brackets on tokens, for the CoNLL-style writers.

Decides which brackets go on which token, in which order, and which mentions brackets can't represent unambiguously;
the formats decide how brackets are spelled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from incoref.corpora._assemble import Span
from incoref.types import Entity, Mention

PARTS = "parts"
"""Attribute of a discontinuous mention: its token ranges, as ``3:5,8:9``."""

TANGLED = "mentions that cross another of their entity, whose ends are exchanged"


_ENCODED = re.compile(r"%(?=[0-9A-Fa-f]{2})")
_PARTS = re.compile(r"\d{1,9}:\d{1,9}(?:,\d{1,9}:\d{1,9})+")


class Bracket(NamedTuple):
    """A mention to be written; one of a single token is written as its opening and ``)``."""

    first: int
    end: int
    opening: str
    closing: str


make_bracket: Callable[[tuple[int, int, str, str]], Bracket] = partial(tuple.__new__, Bracket)
"""``Bracket(…)`` from one tuple, three times as fast."""


def joined(parts: Sequence[Span]) -> Span:
    """Merge the parts of a mention into one span from first to last, with the parts as an attribute."""
    first = parts[0]
    stretches = ",".join(f"{part.first}:{part.end}" for part in parts)
    return Span(first.first, parts[-1].end, first.entity, first.type, (*first.attributes, (PARTS, stretches)))


def parts_of(mention: Mention) -> Sequence[tuple[int, int]]:
    """The mention's token ranges: one, unless a ``parts`` attribute consistent with its span lists several."""
    first, end = mention.tokens
    for name, value in mention.attributes:
        if name == PARTS and _PARTS.fullmatch(value):
            numbers = [int(number) for number in re.split("[:,]", value)]
            if numbers[0] == first and numbers[-1] == end and all(a < b for a, b in pairwise(numbers)):
                return list(zip(numbers[::2], numbers[1::2], strict=True))
    return ((first, end),)


def cells(brackets: Iterable[Bracket], separator: str, *, closing_first: bool = False) -> dict[int, str]:
    """The brackets of each token that has any.

    Longer mentions open first and close last. Where one mention closes and another opens on the same token (they
    cross), the closing bracket comes first, so that a reader that pairs brackets by entity gets both right. With
    ``closing_first``, it also precedes single-token mentions.
    """
    opens: dict[int, list[str]] = {}
    singles: dict[int, list[str]] = {}
    closes: dict[int, list[str]] = {}
    ordered = sorted(sorted(brackets, key=itemgetter(1), reverse=True), key=itemgetter(0))
    for first, end, opening, _ in ordered:
        if end - first == 1:
            singles.setdefault(first, []).append(opening + ")")
        else:
            opens.setdefault(first, []).append(opening)
    for first, end, _, closing in reversed(ordered):
        if end - first != 1:
            closes.setdefault(end - 1, []).append(closing)
    joined = {}
    for token in opens.keys() | singles.keys() | closes.keys():
        opened, single, closed = opens.get(token, []), singles.get(token, []), closes.get(token, [])
        if closed and not closing_first:
            joined[token] = separator.join(single + closed + opened)
        else:
            joined[token] = separator.join(closed + opened + single)
    return joined


def without_crossing(brackets: Iterable[Bracket]) -> list[Bracket]:
    """Drop brackets that don't nest: of two that cross, the one that starts later.

    Two mentions that overlap in only one token, where one ends and the other starts, are kept: the end comes first.
    """
    kept: list[Bracket] = []
    ends: list[int] = []
    for bracket in sorted(brackets, key=lambda bracket: (bracket.first, -bracket.end)):
        first, end = bracket[:2]
        while ends and (ends[-1] <= first or (ends[-1] == first + 1 and end > first + 1)):
            ends.pop()
        if ends and end > ends[-1]:
            continue
        kept.append(bracket)
        ends.append(end)
    return kept


def tangled(brackets: Iterable[Bracket]) -> int:
    """Count mentions that cross an earlier one with the same closing bracket, so that both would be misread.

    Two that overlap in only one token don't count: the order of the brackets there disambiguates them.
    """
    by_closing: dict[str, list[tuple[int, int]]] = {}
    for first, end, _, closing in brackets:
        by_closing.setdefault(closing, []).append((first, end))
    return sum(_tangled(sorted(spans, key=lambda span: (span[0], -span[1]))) for spans in by_closing.values())


def _tangled(spans: list[tuple[int, int]]) -> int:
    if all(before[1] <= after[0] for before, after in pairwise(spans)):
        return 0
    count = 0
    ends: list[int] = []
    for first, end in spans:
        while ends and (ends[-1] <= first or (ends[-1] == first + 1 and end > first + 1)):
            ends.pop()
        if ends and end > ends[-1]:
            count += 1
        ends.append(end)
    return count


def whole_numbers(entities: Iterable[Entity]) -> dict[str, str]:
    """Integer ids for formats that require them: the entities' own if all are integers, otherwise their indices."""
    ids = [entity.id for entity in entities]
    if all(id.isascii() and id.isdecimal() and (id == "0" or id[0] != "0") for id in ids):
        return {id: id for id in ids}
    return {id: str(number) for number, id in enumerate(ids)}


def percent_encoded(text: str, breaking: re.Pattern[str]) -> str:
    """Percent-encode what ``breaking`` matches, and any ``%`` that would be read as an escape."""
    text = _ENCODED.sub("%25", text)
    return breaking.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)
