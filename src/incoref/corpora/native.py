"""JSON lines of our own values: a document a line, nothing lost.

What is read is checked: words and mentions must be where their offsets say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from incoref.corpora.jsonlines import objects
from incoref.corpora.losses import Losses
from incoref.errors import FormatError
from incoref.types import Document, Entity, Sentence, Token

_Value = Document | Sentence | Entity
_NO_STRING = "a speaker, genre, type, name, entity id or attribute that is no string"


def read(text: str, path: Path | str) -> Iterator[Document]:
    """The documents of a file's text; ``path`` is for error messages."""
    for line, data in objects(text, path):
        try:
            document = Document.from_json(data)
            fault = _fault(document)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise FormatError(f"no document as incoref writes it: {error!r}", path=path, line=line) from error
        if fault:
            raise FormatError(fault, path=path, line=line)
        yield document


def write(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """The documents as text, a line each."""
    for document in documents:
        yield json.dumps(document.to_json(), ensure_ascii=False) + "\n"


def _fault(document: Document) -> str | None:
    """What is wrong with the values, if anything is."""
    text, tokens = document.text, document.tokens
    if not (isinstance(document.id, str) and isinstance(text, str)):
        return "'id' and 'text' must be strings"
    values: list[_Value] = [document, *document.sentences, *document.entities]
    if not all(map(_is_sound, values)):
        return _NO_STRING
    if tokens and (fault := _fault_of_words(tokens, text)):
        return fault
    for mention in document.mentions:
        if not (isinstance(mention.entity, str) and _is_name(mention.type) and _are_strings(mention.attributes)):
            return _NO_STRING
        first, end = mention.tokens
        if not 0 <= first < end <= len(tokens) or not 0 <= mention.sentence < len(document.sentences):
            return f"mention {mention.text!r} lies outside the document's {len(tokens)} words"
        if mention.start != tokens[first].start or mention.end != tokens[end - 1].end:
            return f"mention {mention.text!r} starts or ends inside a word"
        if mention.text != text[mention.start : mention.end]:
            return f"the text has {text[mention.start : mention.end]!r} where the mention is {mention.text!r}"
    return None


def _fault_of_words(tokens: Sequence[Token], text: str) -> str | None:
    """What is wrong with the first word that is wrong; all at once first, as a rule nothing is."""
    words, starts, ends, attributes = zip(*tokens, strict=True)
    found = tuple(map(text.__getitem__, map(slice, starts, ends)))
    if found != words or min(starts) < 0:
        word, start, end, _ = next(token for token in tokens if text[token[1] : token[2]] != token[0] or token[1] < 0)
        return f"the text has {text[start:end]!r} at {start}:{end}, not the word {word!r}"
    if not _are_strings(chain.from_iterable(attributes)):
        wrong = next(token.text for token in tokens if not _are_strings(token.attributes))
        return f"the word {wrong!r} has an attribute that is no string"
    return None


def _is_sound(value: _Value) -> bool:
    """Whether what should be a string is one."""
    match value:
        case Document():
            return _is_name(value.genre) and _are_strings(value.attributes)
        case Sentence():
            return _is_name(value.speaker) and _are_strings(value.attributes)
        case Entity():
            return isinstance(value.id, str) and all(map(_is_name, (value.name, value.type, value.speaker)))


def _is_name(value: object) -> bool:
    return value is None or isinstance(value, str)


def _are_strings(attributes: Iterable[tuple[str, str]]) -> bool:
    """By joining them: that is the quickest check."""
    try:
        "".join(chain.from_iterable(attributes))
    except TypeError:
        return False
    return True
