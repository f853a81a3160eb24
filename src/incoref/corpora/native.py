"""JSON lines of our own values: a document a line, nothing lost.

What is read is checked: words and mentions must be where their offsets say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path

from incoref.corpora._losses import Losses
from incoref.corpora.jsonlines import objects
from incoref.errors import FormatError
from incoref.types import Attributes, Document, Entity, Mention, Sentence

_value = itemgetter(1)
_STRINGS = {str}
_Value = Document | Sentence | Mention | Entity


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
    values: list[_Value] = [document, *document.sentences, *document.mentions, *document.entities]
    if not all(map(_is_sound, values)):
        return "a speaker, genre, type, name, entity id or attribute that is no string"
    for word, start, end, attributes in tokens:
        if text[start:end] != word or start < 0:
            return f"the text has {text[start:end]!r} at {start}:{end}, not the word {word!r}"
        if attributes and set(map(type, map(_value, attributes))) != _STRINGS:
            return f"the word {word!r} has an attribute that is no string"
    for mention in document.mentions:
        first, end = mention.tokens
        if not 0 <= first < end <= len(tokens) or not 0 <= mention.sentence < len(document.sentences):
            return f"mention {mention.text!r} lies outside the document's {len(tokens)} words"
        if (mention.start, mention.end) != (tokens[first].start, tokens[end - 1].end):
            return f"mention {mention.text!r} starts or ends inside a word"
        if mention.text != text[mention.start : mention.end]:
            return f"the text has {text[mention.start : mention.end]!r} where the mention is {mention.text!r}"
    return None


def _is_sound(value: _Value) -> bool:
    """Whether what should be a string is one."""
    match value:
        case Document():
            return _is_name(value.genre) and _are_strings(value.attributes)
        case Sentence():
            return _is_name(value.speaker) and _are_strings(value.attributes)
        case Mention():
            return isinstance(value.entity, str) and _is_name(value.type) and _are_strings(value.attributes)
        case Entity():
            return isinstance(value.id, str) and all(map(_is_name, (value.name, value.type, value.speaker)))


def _is_name(value: object) -> bool:
    return value is None or isinstance(value, str)


def _are_strings(attributes: Attributes) -> bool:
    return all(isinstance(value, str) for _, value in attributes)
