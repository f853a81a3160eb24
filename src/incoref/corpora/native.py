"""incoref's own JSON lines: one document per line, lossless.

The reader validates its input: the offsets of words and mentions must match the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any

from incoref.corpora.jsonlines import objects
from incoref.corpora.losses import Losses
from incoref.errors import FormatError
from incoref.types import Document, Token

_STRING_OR_NONE = frozenset({str, type(None)})
_NO_STRING = "a speaker, genre, type, name, entity id or attribute that isn't a string"


def read(text: str, path: Path | str) -> Iterator[Document]:
    """Yield the documents in ``text``; ``path`` is used in error messages."""
    for line, data in objects(text, path):
        try:
            fault = _fault_of_columns(data)
            if fault is None:
                document = Document.from_json(data)
                fault = _fault(document)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise FormatError(f"no document as incoref writes it: {error!r}", path=path, line=line) from error
        if fault:
            raise FormatError(fault, path=path, line=line)
        yield document


def write(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """Yield one line of JSON per document."""
    for document in documents:
        yield json.dumps(document.to_json(), ensure_ascii=False) + "\n"


def _fault(document: Document) -> str | None:
    """Return what is wrong with a document, or None."""
    text, tokens = document.text, document.tokens
    if not (isinstance(document.id, str) and isinstance(text, str)):
        return "'id' and 'text' must be strings"
    if not _are_sound(document):
        return _NO_STRING
    if tokens and (fault := _fault_of_words(tokens, text)):
        return fault
    mentions = list(document.mentions)
    names = (
        [mention.entity for mention in mentions],
        [mention.type for mention in mentions if mention.type is not None],
    )
    if not _are_strings((*names, *chain.from_iterable([mention.attributes for mention in mentions]))):
        return _NO_STRING
    for mention in mentions:
        first, end = mention.tokens
        if not 0 <= first < end <= len(tokens) or not 0 <= mention.sentence < len(document.sentences):
            return f"mention {mention.text!r} lies outside the document's {len(tokens)} words"
        if mention.start != tokens[first][1] or mention.end != tokens[end - 1][2]:
            return f"mention {mention.text!r} starts or ends inside a word"
        if mention.text != text[mention.start : mention.end]:
            return f"the text has {text[mention.start : mention.end]!r} where the mention is {mention.text!r}"
    return None


def _fault_of_columns(data: dict[str, Any]) -> str | None:
    """Return what is wrong with the token attributes; they are checked by column, which is faster than by word."""
    for sentence in data.get("sentences", ()):
        for name, values in sentence.get("token_attributes") or ():
            if not isinstance(name, str) or not _STRING_OR_NONE.issuperset(map(type, values)):
                wrong = next((place for place, value in enumerate(values) if type(value) not in _STRING_OR_NONE), 0)
                return f"the word {sentence['tokens'][wrong][0]!r} has an attribute that isn't a string"
    return None


def _fault_of_words(tokens: Sequence[Token], text: str) -> str | None:
    """Return what is wrong with the first invalid word; all words are checked at once first, as most are valid."""
    words, starts, ends, _ = zip(*tokens, strict=True)
    are_there = all(map(text.startswith, words, starts))
    if not are_there or min(starts) < 0 or list(map(add, starts, map(len, words))) != list(ends):
        word, start, end, _ = next(token for token in tokens if text[token[1] : token[2]] != token[0] or token[1] < 0)
        return f"the text has {text[start:end]!r} at {start}:{end}, not the word {word!r}"
    return None


def _are_sound(document: Document) -> bool:
    """Whether all strings in the document, its sentences and its entities really are strings."""
    names: list[object] = [document.genre]
    names += [sentence.speaker for sentence in document.sentences]
    for entity in document.entities:
        names += (entity.name, entity.type, entity.speaker)
    attributes = chain(document.attributes, *[sentence.attributes for sentence in document.sentences])
    ids = all(isinstance(entity.id, str) for entity in document.entities)
    return ids and _STRING_OR_NONE.issuperset(map(type, names)) and _are_strings(attributes)


def _are_strings(groups: Iterable[Iterable[str]]) -> bool:
    """Whether all values are strings; joining them is the fastest check."""
    try:
        "".join(chain.from_iterable(groups))
    except TypeError:
        return False
    return True
