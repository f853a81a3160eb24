"""brat stand-off: ``name.txt`` with the text and ``name.ann`` with the mentions. Writing only.

A mention becomes a text-bound annotation of its type (``Mention`` if it has none), and an entity with several
mentions a ``Coref`` equivalence between them. A mention across line breaks is split into fragments, as brat requires.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from incoref.corpora._brackets import PARTS, parts_of
from incoref.corpora.losses import IDS, Keeps, Losses
from incoref.corpora.plain import SEGMENTATION
from incoref.types import Document, Mention

RELATION, DEFAULT_TYPE = "Coref", "Mention"
CONFIGURATION = "annotation.conf"
_KEEPS = Keeps(types=True, speakers=False, mention_attributes={PARTS})
_NOT_IN_TYPE = re.compile(r"[^\w-]", re.ASCII)
_LINES = re.compile(r"[^\n]+")


def write(document: Document, losses: Losses) -> str:
    """Return the ``.ann`` file of a document; its text goes unchanged into a separate file."""
    losses.count(document, _KEEPS)
    losses.add("genres", int(document.genre is not None))
    losses.add(SEGMENTATION, int(bool(document.sentences)))
    losses.add(IDS, sum(entity.id != str(number) for number, entity in enumerate(document.entities)))
    lines, equivalences = [], []
    number = 0
    for entity in document.entities:
        names = []
        for mention in entity.mentions:
            number += 1
            names.append(f"T{number}")
            lines.append(f"T{number}\t{_bound(mention, document, losses)}\n")
        if len(names) > 1:
            equivalences.append(f"*\t{RELATION} {' '.join(names)}\n")
    return "".join(lines + equivalences)


def _bound(mention: Mention, document: Document, losses: Losses) -> str:
    """Type, fragments and text of a mention."""
    spans = []
    for first, end in parts_of(mention):
        start, stop = document.tokens[first].start, document.tokens[end - 1].end
        spans += [match.span() for match in _LINES.finditer(document.text, start, stop)]
    type = type_of(mention)
    losses.add("mention types", int(mention.type is not None and type != mention.type))
    fragments = ";".join(f"{start} {end}" for start, end in spans)
    return f"{type} {fragments}\t{' '.join(document.text[start:end] for start, end in spans)}"


def type_of(mention: Mention) -> str:
    """The mention's type as a valid brat name."""
    return _NOT_IN_TYPE.sub("_", mention.type or "") or DEFAULT_TYPE


def configuration(types: Iterable[str]) -> str:
    """brat's ``annotation.conf``, which declares types and relations."""
    names = sorted({DEFAULT_TYPE, *types})
    sections = [
        *("[entities]", *names, ""),
        *("[relations]", f"{RELATION}\tArg1:<ENTITY>, Arg2:<ENTITY>, <REL-TYPE>:symmetric-transitive", ""),
        *("[events]", "", "[attributes]", ""),
    ]
    return "\n".join(sections)


def files(named: Iterable[tuple[str, Document]], losses: Losses) -> Iterator[tuple[str, str]]:
    """Yield the files of each named document, then one configuration file for all of them."""
    types: set[str] = set()
    for name, document in named:
        types.update(type_of(mention) for mention in document.mentions)
        yield f"{name}.ann", write(document, losses)
        yield f"{name}.txt", document.text
    yield CONFIGURATION, configuration(types)
