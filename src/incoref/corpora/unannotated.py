"""Documents without their gold annotation, as a system gets them: text, words and speakers stay.

Entities go, and so does what a format keeps of anaphora in attributes: markables that don't refer, bridging,
discourse deixis, split antecedents. Copied into a system's answer, they would pass for its own.
"""

from __future__ import annotations

from dataclasses import replace

from incoref.corpora.conllua import COLUMNS, NON_REFERRING
from incoref.types import Attributes, Document, Sentence

_OF_TOKENS = frozenset({*COLUMNS[11:], "Bridge", "SplitAnte"})
_OF_DOCUMENTS = frozenset({NON_REFERRING})


def without_annotation(document: Document) -> Document:
    """The document without entities and other gold annotation of anaphora."""
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
