"""JSON lines of span-ranking systems: ``doc_key``, ``sentences``, ``speakers``, ``clusters`` with inclusive ends.

MuDoCo has the same layout. Unknown keys are kept as document attributes and written back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from incoref.corpora._assemble import Span, assemble, space_joined
from incoref.corpora.conll2012 import SPEAKER, genre_of
from incoref.corpora.losses import DOCUMENT_ATTRIBUTES, IDS, SPACING, SPEAKERS, Keeps, Losses, is_space_joined
from incoref.errors import FormatError
from incoref.types import Document, Sentence

NO_SPEAKER = "-"
_KEYS = frozenset({"doc_key", "sentences", "speakers", "clusters", "genre"})


def read(text: str, path: Path | str) -> Iterator[Document]:
    """Yield the documents in ``text``; ``path`` is used in error messages."""
    for line, data in objects(text, path):
        try:
            yield _document(data)
        except ValueError as error:
            raise FormatError(str(error), path=path, line=line) from error


def objects(text: str, path: Path | str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a file, one per line, with their line numbers."""
    for line, row in enumerate(text.split("\n"), 1):
        if not row or row.isspace():
            continue
        try:
            data = json.loads(row)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"not JSON: {error}", path=path, line=line) from error
        if not isinstance(data, dict):
            raise FormatError("expected a JSON object on each line", path=path, line=line)
        yield line, data


def _document(data: dict[str, Any]) -> Document:
    rows: Any = data.get("sentences")
    speakers: Any = data.get("speakers")
    name = data.get("doc_key")
    if not isinstance(name, str):
        raise ValueError("'doc_key' is missing or no string")
    if not _is_table(rows):
        raise ValueError("'sentences' must be a list of lists of words")
    if speakers is not None and (
        not _is_table(speakers) or [len(s) for s in speakers] != [len(words) for words in rows]
    ):
        raise ValueError("'speakers' must name a speaker for each word of 'sentences'")
    sentences: list[Sentence] = []
    at = 0
    for number, words in enumerate(rows):
        sentence = space_joined(words, at)
        if speakers and speakers[number]:
            sentence = _with_speakers(sentence, speakers[number])
        sentences.append(sentence)
        at = sentence.end + 1
    total = sum(map(len, rows))
    genre = data.get("genre", genre_of(name))
    extra = tuple((key, _as_attribute(value)) for key, value in data.items() if key not in _KEYS)
    return assemble(
        name,
        "\n".join(" ".join(words) for words in rows),
        sentences,
        _spans(data.get("clusters", []), total),
        genre if isinstance(genre, str) else None,
        extra,
    )


def _as_attribute(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, list) and all(isinstance(cell, str) for cell in row) for row in value
    )


def _with_speakers(sentence: Sentence, speakers: list[str]) -> Sentence:
    first = speakers[0]
    tokens = sentence.tokens
    if speakers.count(first) != len(speakers):
        tokens = tuple(
            token if name == first else token._replace(attributes=((SPEAKER, speaker_of(name) or ""),))
            for token, name in zip(tokens, speakers, strict=True)
        )
    return Sentence(sentence.start, sentence.end, tokens, speaker_of(first))


def speaker_of(name: str) -> str | None:
    return None if name in ("", NO_SPEAKER) else name


def _spans(clusters: Any, total: int) -> list[Span]:
    spans = []
    if not isinstance(clusters, list):
        raise ValueError("'clusters' must be a list of lists of [first, last] pairs")
    for number, cluster in enumerate(clusters):
        if not isinstance(cluster, list):
            raise ValueError("'clusters' must be a list of lists of [first, last] pairs")
        for pair in cluster:
            if not (isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)):
                raise ValueError(f"a mention must be a pair [first, last] of word numbers, not {pair!r}")
            first, last = pair
            if not 0 <= first <= last < total:
                raise ValueError(f"mention {pair} lies outside the document's {total} words")
            spans.append(Span(first, last + 1, str(number)))
    return spans


_KEEPS = Keeps(token_attributes={SPEAKER}, document_attributes=None)


def write(documents: Iterable[Document], losses: Losses) -> Iterator[str]:
    """Yield one line of JSON per document."""
    for document in documents:
        losses.count(document, _KEEPS)
        losses.add(SPACING, int(not is_space_joined(document)))
        entities = [entity for entity in document.entities if entity.mentions]
        losses.add(IDS, sum(entity.id != str(number) for number, entity in enumerate(entities)))
        data: dict[str, Any] = {
            "doc_key": document.id,
            "sentences": [[token[0] for token in sentence.tokens] for sentence in document.sentences],
            "speakers": [_speakers(sentence) for sentence in document.sentences],
            "clusters": [[[m.tokens[0], m.tokens[1] - 1] for m in entity.mentions] for entity in entities],
        }
        if document.genre != genre_of(document.id):
            data["genre"] = document.genre
        for name, value in document.attributes:
            if name in _KEYS:
                losses.add(DOCUMENT_ATTRIBUTES, 1, [name])
            else:
                data[name] = _from_attribute(value)
        losses.add(SPEAKERS, sum(sentence.speaker in ("", NO_SPEAKER) for sentence in document.sentences))
        yield json.dumps(data, ensure_ascii=False) + "\n"


def _speakers(sentence: Sentence) -> list[str]:
    speaker = sentence.speaker or NO_SPEAKER
    if not any(token[3] for token in sentence.tokens):
        return [speaker] * len(sentence.tokens)
    return [dict(token.attributes).get(SPEAKER, speaker) or NO_SPEAKER for token in sentence.tokens]


def _from_attribute(value: str) -> Any:
    """Undo ``_as_attribute``: parse the string if the reader would have produced it from JSON."""
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if _as_attribute(parsed) == value else value
