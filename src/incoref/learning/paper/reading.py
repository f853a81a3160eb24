"""Convert documents to input for the paper's model, and predicted mentions back to words.

In mode ``paper``, the buffer tokens are words, each represented by the vector of its first sub-word. In mode
``reference``, they are all sub-words, including ``<cls>`` and ``<sep>``. In both modes, every sentence (in reference
Part-Inc, every segment of whole sentences) is enclosed in ``<cls>`` and ``<sep>``. Sentences longer than the window
are split between words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from incoref.errors import IncorefError
from incoref.learning.data.derivation import Ints
from incoref.learning.data.gold import dropped, gold_mentions
from incoref.learning.paper.chunks import plan
from incoref.learning.paper.config import PaperConfig, Setting
from incoref.learning.paper.document import NO_SPEAKER, PaperDocument, stretches, with_gold
from incoref.model.subwords import NO_WORD, Subwords, SubwordTokenizer, Utterance, encode_in_pieces
from incoref.model.transitions import Span
from incoref.types import Document

_SLASHED = {"/.": ".", "/?": "?"}


@dataclass(frozen=True, slots=True)
class PaperReading:
    """A document as model input, and the word that each buffer token belongs to."""

    document: PaperDocument
    word: Ints  # (buffer tokens,) index of the word in the document, or NO_WORD

    def words_of(self, span: Span) -> Span | None:
        """Return a span's first and last word; None if it starts or ends at a special symbol."""
        first, last = int(self.word[span[0]]), int(self.word[span[1]])
        return None if NO_WORD in (first, last) else (first, last)


def read_paper(document: Document, tokenizer: SubwordTokenizer, config: PaperConfig) -> PaperReading:
    """Convert a document, without its annotation."""
    sentences = list(_sentences(document, tokenizer, config))
    speakers: dict[str | None, int] = {}
    buffers, of_buffer, words = [], [], []
    for sentence in sentences:
        inside = np.arange(len(sentence.ids)) if config.reference else _first_subwords(sentence.word)
        buffers.append(tuple(inside.tolist()))
        of_buffer.append(
            tuple(
                NO_SPEAKER if word == NO_WORD else speakers.setdefault(sentence.speakers[i], len(speakers) + 2)
                for i, word in zip(inside.tolist(), sentence.word[inside].tolist(), strict=True)
            )
        )
        words.append(sentence.word[inside])
    return PaperReading(
        PaperDocument(
            sentences=tuple(tuple(sentence.ids.tolist()) for sentence in sentences),
            speakers=tuple(of_buffer),
            genre=_genre(document, config),
            buffer=None if config.reference else tuple(buffers),
            name=document.id,
        ),
        np.concatenate(words),
    )


def with_annotation(
    reading: PaperReading, document: Document, config: PaperConfig
) -> tuple[PaperDocument, Counter[str]]:
    """Add the gold derivation of the document's mentions; also count the mentions dropped, by reason."""
    gold = gold_mentions(document)
    inside = np.flatnonzero(reading.word != NO_WORD)
    first = {word: i for i, word in zip(inside[::-1].tolist(), reading.word[inside[::-1]].tolist(), strict=True)}
    last = dict(zip(reading.word[inside].tolist(), inside.tolist(), strict=True))
    numbers: dict[str, int] = {}
    mentions = {
        (first[span[0]], last[span[1]]): numbers.setdefault(entity, len(numbers))
        for span, entity in gold.entities.items()
    }
    made, lost = with_gold(reading.document, mentions, config)
    lengths = [
        length
        for batch in plan(made.lengths, config)
        for chunk in made.chunk_lengths(batch)
        for length in stretches(chunk, config)
    ]
    return made, gold.same_span + dropped(mentions, mentions.keys() - set(lost), lengths)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """Encoder input of one sentence or segment, including ``<cls>`` and ``<sep>``."""

    ids: Ints
    word: Ints
    speakers: list[str | None]


def _sentences(document: Document, tokenizer: SubwordTokenizer, config: PaperConfig) -> Iterator[_Sentence]:
    together = config.reference and config.setting is Setting.PART_INC
    segment: list[tuple[Subwords, str | None]] = []
    for piece in _pieces(document, tokenizer, config):
        # Every piece ends in <sep>; a joined segment needs one <sep> and one <cls>.
        if segment and not (together and sum(len(one) - 1 for one, _ in [*segment, piece]) + 2 <= config.window):
            yield _joined(segment, tokenizer)
            segment = []
        segment.append(piece)
    yield _joined(segment, tokenizer)


def _pieces(
    document: Document, tokenizer: SubwordTokenizer, config: PaperConfig
) -> Iterator[tuple[Subwords, str | None]]:
    """Yield sentences, or parts of long ones, as sub-words whose word indices count from the document's start."""
    before = 0
    for sentence in document.sentences:
        words = tuple(token.text for token in sentence.tokens)
        if config.reference:
            words = tuple(_SLASHED.get(word, word) for word in words)
        for part, subwords in encode_in_pieces(Utterance(words), False, tokenizer, config.window - 1):
            numbered = np.where(subwords.word == NO_WORD, NO_WORD, subwords.word + before)
            yield replace(subwords, word=numbered), sentence.speaker
            before += len(part.words)


def _joined(segment: Sequence[tuple[Subwords, str | None]], tokenizer: SubwordTokenizer) -> _Sentence:
    ids = [np.array([tokenizer.start]), *(one.ids[:-1] for one, _ in segment), np.array([tokenizer.separator])]
    word = [np.array([NO_WORD]), *(one.word[:-1] for one, _ in segment), np.array([NO_WORD])]
    speakers = [None, *(speaker for one, speaker in segment for _ in one.ids[:-1]), None]
    return _Sentence(np.concatenate(ids), np.concatenate(word), speakers)


def _first_subwords(word: Ints) -> Ints:
    """Return the position of each word's first sub-word."""
    return np.flatnonzero((word != NO_WORD) & (word != np.concatenate([[NO_WORD], word[:-1]])))


def _genre(document: Document, config: PaperConfig) -> int:
    if document.genre not in config.genres:
        stated = "no genre" if document.genre is None else f"the genre '{document.genre}'"
        raise IncorefError(
            f"document '{document.id}' has {stated}; paper.genres knows {', '.join(config.genres)}. "
            "List it there, or give its corpus one of these as 'genre'"
        )
    return config.genres.index(document.genre)


def word_clusters(reading: PaperReading, clusters: Iterable[Iterable[Span]]) -> list[list[tuple[int, int]]]:
    """Convert clusters of buffer-token spans to half-open word ranges; spans outside of words are dropped."""
    clusters_of_words = []
    for cluster in clusters:
        spans = [words for span in cluster if (words := reading.words_of(span)) is not None]
        if spans:
            clusters_of_words.append([(first, last + 1) for first, last in dict.fromkeys(spans)])
    return clusters_of_words
