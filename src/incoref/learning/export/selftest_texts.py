"""The texts of ``golden.json``: a story, a news item and a dialogue, with the clusters that a new model finds."""

from __future__ import annotations

import json
from pathlib import Path

from incoref.model.folder import Model
from incoref.model.selftest import clusters_of, document_of
from incoref.types import Document

_TEXTS: tuple[tuple[tuple[str | None, str], ...], ...] = (
    (
        (None, "Anna called her brother Ben from the station ."),
        (None, "She had missed the last train , and she asked him to pick her up ."),
        (None, "Ben took his old car , but it broke down on the bridge ."),
        (None, "The two of them walked home together ."),
    ),
    (
        (None, "The city of Ravenna has closed its oldest library for repairs ."),
        (None, "Mayor Lucia Conti said the building was no longer safe ."),
        (None, "Its roof , which dates from 1710 , let in rain last winter ."),
        (None, "Conti hopes that the library will open again in May ."),
    ),
    (
        ("Marta", "I left my keys at your place , Tom ."),
        ("Tom", "I found them . Shall I bring them to you ?"),
        ("Marta", "No , my sister is coming over , so give them to her ."),
        ("Tom", "Is she the one who lives next to you ?"),
    ),
)


def golden_documents() -> list[Document]:
    """Return the texts as documents without entities."""
    return [document_of([line.split() for _, line in text], [speaker for speaker, _ in text]) for text in _TEXTS]


def write_golden(model: Model) -> Path:
    """Write the clusters that the model finds now to its folder, for later checks."""
    texts = []
    for text in _TEXTS:
        speakers = [speaker for speaker, _ in text]
        sentences = [line.split() for _, line in text]
        clusters = clusters_of(model, sentences, speakers)
        texts.append({"sentences": sentences, "speakers": speakers, "clusters": clusters})
    path = model.folder / "golden.json"
    path.write_text(json.dumps({"texts": texts}, indent=1) + "\n", encoding="utf-8")
    return path
