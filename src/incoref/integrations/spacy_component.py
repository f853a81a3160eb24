"""A spaCy component: ``nlp.add_pipe("incoref")`` finds the entities in a document, using its words and sentences.

All results are stored in span groups, ``doc.spans["coref_clusters_1"]`` and so on, which spaCy preserves between
processes, in a ``DocBin`` and on disk. ``doc._.coref_entities``, ``doc._.coref_resolved``, ``span._.coref_entity``
and ``token._.coref_entity`` are computed from them. Independent of how entities are found.

spaCy imports this module whenever it creates a pipeline, so it has no heavy imports of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span, SpanGroup
from spacy.tokens import Token as Tok
from spacy.util import raise_error

import incoref
from incoref.session.resolved_text import resolved_text
from incoref.text import split
from incoref.types import Document, Entity, Mention, Sentence, Token

PREFIX = "coref_clusters_"

_OURS = "incoref"
"""Attribute of a span group that marks it as ours and holds everything but the spans."""
_LANGUAGES = ("en", "xx")
"""English, and spaCy's multi-language pipelines."""
ErrorHandler = Callable[[str, Any, list[Doc], Exception], None]
_GROUP = re.compile(re.escape(PREFIX) + r"\d+")


class IncorefComponent:
    """Finds entities in spaCy documents.

    A model can't be shared between processes, so each process loads its own on first use.
    """

    def __init__(self, model: str | None, singletons: bool, threads: int, options: dict[str, Any]) -> None:
        self._folder = None if model is None else Path(model)
        self._singletons, self._threads, self._options = singletons, threads, options
        self._loaded: tuple[int, incoref.Resolver] | None = None
        self._error_handler: ErrorHandler = raise_error
        if self._folder is None or self._folder.is_dir():  # otherwise it may come with a saved pipeline
            self.resolver.session(**options)  # validates the options

    @property
    def resolver(self) -> incoref.Resolver:
        """The resolver of this process, loaded on first use."""
        if self._loaded is None or self._loaded[0] != os.getpid():
            self._loaded = os.getpid(), incoref.load(self._folder, threads=self._threads)
        return self._loaded[1]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": None}

    def __call__(self, doc: Doc) -> Doc:
        return _with(doc, self.resolver.resolve(_document(doc), singletons=self._singletons, **self._options))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Process the documents of ``nlp.pipe`` in order, as many at a time as the encoder can batch."""
        resolver = self.resolver
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            documents = ((number, _document(doc)) for number, doc in enumerate(batch))

            def failed(number: str | int, _: object, error: Exception, batch: list[Doc] = batch) -> None:
                self._error_handler(_OURS, self, [batch[int(number)]], error)

            for number, resolved in resolver.pipe(
                documents,
                as_tuples=True,
                workers=resolver.model.encoder.readers,
                singletons=self._singletons,
                on_error=failed,
                **self._options,
            ):
                yield _with(batch[int(number)], resolved)

    def set_error_handler(self, handler: ErrorHandler) -> None:
        """Called by ``nlp.set_error_handler``; documents that can't be resolved go to the handler and are skipped."""
        self._error_handler = handler

    def get_error_handler(self) -> ErrorHandler:
        return self._error_handler

    def to_disk(self, path: Path | str, *, exclude: Iterable[str] = ()) -> None:
        """Save the model with the pipeline, unless it is the one that comes with incoref."""
        if self._folder is not None:
            shutil.copytree(self._folder, path, dirs_exist_ok=True)

    def from_disk(self, path: Path | str, *, exclude: Iterable[str] = ()) -> IncorefComponent:
        """Use the model that was saved with the pipeline, if there is one."""
        if Path(path).is_dir():
            self._folder, self._loaded = Path(path), None
        return self


def _with(doc: Doc, resolved: Document) -> Doc:
    """Store the entities found in the spaCy document, replacing those of an earlier run."""
    for key in [key for key in doc.spans if _GROUP.fullmatch(key)]:
        del doc.spans[key]
    words, starts = _words(doc), _sentence_starts(doc)
    entities = sorted(resolved.entities, key=lambda entity: entity.mentions[0].tokens)
    for number, entity in enumerate(entities, start=1):
        doc.spans[f"{PREFIX}{number}"] = _group(doc, words, starts, str(number), entity)
    return doc


def make(
    nlp: Language,
    name: str,
    model: str | None,
    scheme: str | None,
    genre: str,
    setting: str | None,
    singletons: bool,
    threads: int,
    eviction: str,
    max_entities: int | None,
) -> IncorefComponent:
    """Factory for ``nlp.add_pipe("incoref", config={…})``."""
    if nlp.lang not in _LANGUAGES:
        warnings.warn(
            f"the pipeline's language is '{nlp.lang}', and incoref's model knows English alone: expect few and wrong "
            'entities; use an English pipeline, such as spacy.blank("en")',
            UserWarning,
            stacklevel=2,
        )
    options = {"scheme": scheme, "genre": genre, "setting": setting}
    bounds = {"eviction": eviction, "max_entities": max_entities}
    return IncorefComponent(model, singletons, threads, options | bounds)


def entities_of(doc: Doc) -> list[Entity]:
    """The entities of a document, in order of appearance; token and sentence indices of mentions are spaCy's."""
    return [_entity(group) for group in _groups(doc)]


def entity_of(span: Span) -> Entity | None:
    """The entity that has exactly this span as a mention."""
    for group in _groups(span.doc):
        if any(mention.start == span.start and mention.end == span.end for mention in group):
            return _entity(group)
    return None


def entity_at(token: Tok) -> Entity | None:
    """The entity of the shortest mention that contains this token."""
    inside = [(group, span) for group in _groups(token.doc) for span in group if span.start <= token.i < span.end]
    return _entity(min(inside, key=lambda pair: len(pair[1]))[0]) if inside else None


def spans_by_entity(doc: Doc) -> SpanGroup:
    """All mentions in one span group, labelled with their entities, for displaCy's span style."""
    spans = [
        Span(doc, mention.tokens[0], mention.tokens[1], label=f"{entity.id} {entity.name or mention.text}")
        for entity in entities_of(doc)
        for mention in entity.mentions
    ]
    return SpanGroup(doc, name="coref", spans=sorted(spans, key=lambda span: (span.start, -span.end)))


def resolved_text_of(doc: Doc) -> str:
    """The document's text, with pronouns replaced by names."""
    words = _words(doc)

    def renumbered(mention: Mention) -> Mention:
        first, end = mention.tokens
        return replace(mention, tokens=(bisect_left(words, first), bisect_left(words, end)))

    entities = (
        replace(entity, mentions=tuple(renumbered(mention) for mention in entity.mentions))
        for entity in entities_of(doc)
    )
    return resolved_text(replace(_document(doc), entities=tuple(entities)))


def _words(doc: Doc) -> list[int]:
    """Indices of the tokens that are words, not white space."""
    return [token.i for token in doc if not token.is_space]


def _document(doc: Doc) -> Document:
    """Convert a spaCy document, with its words and sentences."""
    sentences = (_sentence(doc[first:end]) for first, end in _sentence_ranges(doc))
    return Document("spacy", doc.text, tuple(sentences))


def _sentence(span: Span) -> Sentence:
    tokens = (Token(token.text, token.idx, token.idx + len(token)) for token in span if not token.is_space)
    return Sentence(span.start_char, span.end_char, tuple(tokens))


def _sentence_ranges(doc: Doc) -> Iterator[tuple[int, int]]:
    """Token ranges of the sentences: spaCy's if it has set any, else those found by incoref's rules.

    A token in which one of our sentences starts belongs to the previous sentence.
    """
    if doc.has_annotation("SENT_START"):
        yield from ((sentence.start, sentence.end) for sentence in doc.sents)
        return
    places = [token.idx for token in doc]
    starts = sorted({0, *(bisect_left(places, sentence.start) for sentence in split(doc.text))} - {len(doc)})
    yield from zip(starts, [*starts[1:], len(doc)], strict=True)


def _sentence_starts(doc: Doc) -> list[int]:
    return [first for first, _ in _sentence_ranges(doc)]


def _group(doc: Doc, words: Sequence[int], sentence_starts: Sequence[int], number: str, entity: Entity) -> SpanGroup:
    spans = [
        Span(doc, words[first], words[end - 1] + 1, label=entity.type or "", span_id=number)
        for first, end in (mention.tokens for mention in entity.mentions)
    ]
    told = {
        "id": number,
        "name": entity.name,
        "type": entity.type,
        "mentions": [
            [span.start, span.end, bisect_right(sentence_starts, span.start) - 1, *_decisions(mention)]
            for span, mention in zip(spans, entity.mentions, strict=True)
        ],
    }
    return SpanGroup(doc, name=f"{PREFIX}{number}", attrs={_OURS: told}, spans=spans)


def _decisions(mention: Mention) -> tuple[float | None, float | None, bool | None]:
    return mention.confidence, mention.mention_confidence, mention.new


def _groups(doc: Doc) -> Iterator[SpanGroup]:
    return (group for key, group in doc.spans.items() if _GROUP.fullmatch(key) and _OURS in group.attrs)


def _entity(group: SpanGroup) -> Entity:
    """Restore the entity from a span group, whose spans may have been edited."""
    told = group.attrs[_OURS]
    decided = {(start, end): decisions for start, end, *decisions in told["mentions"]}
    mentions = []
    for span in group:
        place = span.start, span.end
        if place not in decided:
            decided[place] = [bisect_right(_sentence_starts(group.doc), span.start) - 1, None, None, None]
        sentence, confidence, mention_confidence, new = decided[place]
        mentions.append(
            Mention(
                start=span.start_char,
                end=span.end_char,
                text=span.text,
                tokens=(span.start, span.end),
                sentence=sentence,
                entity=told["id"],
                type=told["type"],
                confidence=confidence,
                mention_confidence=mention_confidence,
                new=new,
            )
        )
    return Entity(told["id"], tuple(mentions), told["name"], told["type"])


Language.factory(
    "incoref",
    default_config={
        "model": None,
        "scheme": None,
        "genre": "unknown",
        "setting": None,
        "singletons": False,
        "threads": 1,
        "eviction": "dual",
        "max_entities": None,
    },
    assigns=[
        "doc.spans",
        "doc._.coref_entities",
        "doc._.coref_resolved",
        "span._.coref_entity",
        "token._.coref_entity",
    ],
    func=make,
)
Doc.set_extension("coref_entities", getter=entities_of, force=True)
Doc.set_extension("coref_resolved", getter=resolved_text_of, force=True)
Span.set_extension("coref_entity", getter=entity_of, force=True)
Tok.set_extension("coref_entity", getter=entity_at, force=True)
