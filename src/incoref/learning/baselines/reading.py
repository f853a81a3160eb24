"""Convert documents to pieces, in segments or windows as in the original programs, and spans back to words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from incoref.learning.baselines.pieces import Pieces, Span, Window
from incoref.learning.data.gold import gold_mentions
from incoref.model.subwords import NO_WORD, SubwordTokenizer
from incoref.types import Document


class Style(Enum):
    """How a document is divided for a system."""

    SEGMENTS = "segments"
    """Segments of whole sentences, enclosed in special symbols, which count as pieces."""
    SENTENCES = "sentences"
    """Like SEGMENTS, with every sentence as a segment."""
    OVERLAP = "overlap"
    """Windows that overlap by half; special symbols don't count as pieces."""
    INDEPENDENT = "independent"
    """Windows without overlap; special symbols don't count as pieces."""


@dataclass(frozen=True, slots=True)
class Text:
    """A document's pieces before segmentation, (n,) each."""

    ids: list[int]
    word: list[int]
    sentence: list[int]
    speaker: list[int]

    def __len__(self) -> int:
        return len(self.ids)

    def ends_sentence(self, place: int) -> bool:
        return place + 1 == len(self) or self.sentence[place + 1] != self.sentence[place]

    def ends_word(self, place: int) -> bool:
        return place + 1 == len(self) or self.word[place] == NO_WORD or self.word[place + 1] != self.word[place]


def read_text(document: Document, tokenizer: SubwordTokenizer, names: bool = False) -> Text:
    """Tokenize a document; with ``names``, a turn starts with its speaker's name, which belongs to no word."""
    text = Text([], [], [], [])
    speakers: dict[str | None, int] = {}
    before, speaker = 0, None
    for number, sentence in enumerate(document.sentences):
        turn = sentence.speaker if names and sentence.speaker != speaker else None
        speaker = sentence.speaker
        subwords = tokenizer.encode([token.text for token in sentence.tokens], turn)
        words = [NO_WORD if word == NO_WORD else word + before for word in subwords.word[:-1].tolist()]
        text.ids.extend(subwords.ids[:-1].tolist())
        text.word.extend(words)
        text.sentence.extend([number] * len(words))
        text.speaker.extend([speakers.setdefault(speaker, len(speakers) + 2)] * len(words))
        before += len(sentence.tokens)
    return text


def segments_of(text: Text, longest: int, start: int = 0) -> Iterable[Span]:
    """Yield ranges of up to ``longest`` pieces, each to the last sentence end that fits, or else word end."""
    while start < len(text):
        end = segment_end(text, start, longest)
        yield start, end
        start = end


def segment_end(text: Text, start: int, longest: int) -> int:
    """Return the end (exclusive) of the segment that starts at ``start``."""
    latest = min(start + longest, len(text))
    for ends in (text.ends_sentence, text.ends_word):
        for place in range(latest - 1, start - 1, -1):
            if ends(place):
                return place + 1
    return latest  # a single word with more pieces than fit


def sentences_of(text: Text, longest: int) -> Iterable[Span]:
    """Yield the range of every sentence; long ones are split at word ends."""
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and text.sentence[end] == text.sentence[start]:
            end += 1
        if end - start > longest:
            end = next((e for e in range(start + longest, start, -1) if text.ends_word(e - 1)), start + longest)
        yield start, end
        start = end


def overlapping_windows(text: Text, longest: int) -> list[tuple[int, int, int, int]]:
    """Return windows that overlap by about half, as (start, end) and the (start, end) range of the vectors to use.

    A window starts with the first sentence that starts in the second half of the previous window, or else the first
    word. For the first half of the overlap, the earlier window's vectors are used.
    """
    bounds: list[Span] = []
    start, end = 0, 0
    while end < len(text):
        end = segment_end(text, start, longest)
        bounds.append((start, end))
        start = _next_start(text, start, end)
    used, first = [], 0
    for number, (start, end) in enumerate(bounds):
        following = bounds[number + 1][0] if number + 1 < len(bounds) else end
        last = following + (end - following) // 2
        used.append((start, end, first, last))
        first = last
    return used


def _next_start(text: Text, start: int, end: int) -> int:
    middle = end - 1 - (end - start) // 2
    for ends in (text.ends_sentence, text.ends_word):
        place = next((place for place in range(middle, end - 1) if ends(place)), None)
        if place is not None:
            return place + 1
    return end


def read_pieces(text: Text, style: Style, longest: int, start_id: int, end_id: int, genre: int = 0) -> Pieces:
    """Divide a document into segments or windows of up to ``longest`` pieces, including special symbols."""
    room = longest - 2
    if style in (Style.OVERLAP, Style.INDEPENDENT):
        if style is Style.OVERLAP:
            windows = overlapping_windows(text, room)
        else:
            windows = [(start, end, start, end) for start, end in segments_of(text, room)]
        made = tuple(
            Window((start_id, *text.ids[start:end], end_id), first - start + 1, last - start + 1)
            for start, end, first, last in windows
        )
        segment = [number for number, (_, _, first, last) in enumerate(windows) for _ in range(first, last)]
        return Pieces(made, tuple(text.sentence), tuple(segment), tuple(text.speaker), tuple(text.word), genre)
    ranges = list(sentences_of(text, room) if style is Style.SENTENCES else segments_of(text, room))
    sentence: list[int] = []
    for start, end in ranges:
        # The symbol after the end of a sentence already has the next sentence's number.
        after = text.sentence[end - 1] + text.ends_sentence(end - 1)
        sentence += [text.sentence[start], *text.sentence[start:end], after]

    def padded(values: Sequence[int], symbol: int) -> tuple[int, ...]:
        return tuple(v for start, end in ranges for v in (symbol, *values[start:end], symbol))

    return Pieces(
        windows=tuple(Window((start_id, *text.ids[start:end], end_id), 0, end - start + 2) for start, end in ranges),
        sentence=tuple(sentence),
        segment=tuple(number for number, (start, end) in enumerate(ranges) for _ in range(end - start + 2)),
        speaker=padded(text.speaker, 1),
        word=padded(text.word, NO_WORD),
        genre=genre,
    )


def with_gold(pieces: Pieces, document: Document) -> tuple[Pieces, Counter[str]]:
    """Add the document's gold clusters; also return the number of mentions dropped, by reason."""
    gold = gold_mentions(document)
    first = {word: place for place, word in reversed(list(enumerate(pieces.word))) if word != NO_WORD}
    last = {word: place for place, word in enumerate(pieces.word) if word != NO_WORD}
    clusters: dict[str, list[Span]] = {}
    for (left, right), entity in gold.entities.items():
        clusters.setdefault(entity, []).append((first[left], last[right]))
    return replace(pieces, clusters=tuple(tuple(sorted(spans)) for spans in clusters.values())), gold.same_span


def word_clusters(pieces: Pieces, clusters: Iterable[Iterable[Span]]) -> list[list[Span]]:
    """Convert clusters to half-open word ranges; spans that start or end outside of words are dropped."""
    of_words, taken = [], set[Span]()
    for cluster in clusters:
        words = [(pieces.word[first], pieces.word[last] + 1) for first, last in cluster]
        inside = [span for span in dict.fromkeys(words) if span[0] != NO_WORD and span[1] != NO_WORD + 1]
        inside = [span for span in inside if span not in taken]
        taken.update(inside)
        if inside:
            of_words.append(inside)
    return of_words


def cut_segments(document: Pieces, first: int, count: int) -> Pieces:
    """Return ``count`` segments starting at segment ``first``, with the gold spans that overlap them."""
    chosen = [place for place, segment in enumerate(document.segment) if first <= segment < first + count]
    start, end = chosen[0], chosen[-1] + 1
    clusters = tuple(
        tuple((left - start, right - start) for left, right in cluster if left < end and right >= start)
        for cluster in document.clusters
    )
    return replace(
        document,
        windows=document.windows[first : first + count],
        sentence=document.sentence[start:end],
        segment=document.segment[start:end],
        speaker=document.speaker[start:end],
        word=document.word[start:end],
        clusters=clusters,
    )
