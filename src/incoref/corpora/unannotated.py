"""Strips documents of gold annotation to get a system's input: text, words and speakers stay.

Entities are removed, and so are anaphora annotations that formats keep as attributes: non-referring markables,
bridging, discourse deixis and split antecedents. Otherwise they would end up in the system's output as if predicted.
"""

from __future__ import annotations

from dataclasses import replace

from incoref.corpora.conllua import COLUMNS, NON_REFERRING
from incoref.types import Attributes, Document, Sentence

_OF_TOKENS = frozenset({*COLUMNS[11:], "Bridge", "SplitAnte"})
_OF_DOCUMENTS = frozenset({NON_REFERRING})


def without_annotation(document: Document) -> Document:
    """Return the document without entities and other gold annotation of anaphora."""
    attributes = _without(document.attributes, _OF_DOCUMENTS)
    sentences = tuple(map(_plain_sentence, document.sentences))
    return replace(document, sentences=sentences, entities=(), attributes=attributes)


def _plain_sentence(sentence: Sentence) -> Sentence:
    if not any(name in _OF_TOKENS for token in sentence.tokens for name, _ in token.attributes):
        return sentence
    tokens = (token._replace(attributes=_without(token.attributes, _OF_TOKENS)) for token in sentence.tokens)
    return replace(sentence, tokens=tuple(tokens))


def _without(attributes: Attributes, names: frozenset[str]) -> Attributes:
    return tuple(pair for pair in attributes if pair[0] not in names)
