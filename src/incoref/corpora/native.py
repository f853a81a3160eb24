"""JSON lines of our own values: a document a line, nothing lost.

What is read is checked: words and mentions must be where their offsets say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from incoref.corpora._losses import Losses
from incoref.corpora.jsonlines import objects
from incoref.errors import FormatError
from incoref.types import Document


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
    """What is wrong with the offsets, if anything is."""
    text, tokens = document.text, document.tokens
    for word, start, end, _ in tokens:
        if text[start:end] != word or start < 0:
            return f"the text has {text[start:end]!r} at {start}:{end}, not the word {word!r}"
    for mention in document.mentions:
        first, end = mention.tokens
        if not 0 <= first < end <= len(tokens):
            return f"mention {mention.text!r} lies outside the document's {len(tokens)} words"
        if (mention.start, mention.end) != (tokens[first].start, tokens[end - 1].end):
            return f"mention {mention.text!r} starts or ends inside a word"
        if mention.text != text[mention.start : mention.end]:
            return f"the text has {text[mention.start : mention.end]!r} where the mention is {mention.text!r}"
    return None
