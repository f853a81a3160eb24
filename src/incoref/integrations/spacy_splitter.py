"""A splitter that delegates words and sentences to a spaCy pipeline.

A pipeline may base its decisions on any word, so it is given whole paragraphs. The sentences of a paragraph are
returned once a blank line or the end of the text completes it: the same ones however the text arrives, but later than
with the rules of ``incoref.text``. Only relies on a pipeline turning a string into a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from incoref.errors import IncorefError, MissingExtra
from incoref.text import FORCED, Pending
from incoref.text.boundaries import ends_paragraph
from incoref.text.characters import BLANK
from incoref.text.splitter import LONGEST_STRETCH, Progress, end_of_blanks, longest_part, sentence_of
from incoref.types import Sentence, Token

_PARAGRAPH = 4
"""Maximum length of a paragraph, as a multiple of ``max_characters``; longer ones are cut."""

_STRETCH = re.compile(rf"([^{BLANK}]{{1,{LONGEST_STRETCH}}}+)([{BLANK}]*+)")
_HALF_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SpacySplitter:
    """Splits paragraphs with a pipeline that sets sentence boundaries."""

    pipeline: Callable[[str], Any]
    """A loaded ``spacy.Language``."""
    max_tokens: int = 200
    max_characters: int = 5000
    """A sentence that exceeds either limit is cut, and so is a paragraph with more than four times the characters."""

    @classmethod
    def blank(cls, language: str = "en") -> SpacySplitter:
        """Create a splitter with spaCy's tokeniser for a language and its punctuation-based ``sentencizer``."""
        try:
            import spacy
        except ImportError as error:
            raise MissingExtra("spacy", "spacy", "the spaCy splitter") from error
        pipeline = spacy.blank(language)
        pipeline.add_pipe("sentencizer")
        return cls(pipeline)

    def feed(self, pending: Pending, piece: str) -> tuple[list[Sentence], Pending]:
        """Return the sentences of paragraphs that are now complete, and the text still pending."""
        return self._read(pending, piece, final=False)

    def flush(self, pending: Pending) -> tuple[list[Sentence], Pending]:
        """Return the sentences in the pending text, given that nothing follows, and an empty ``Pending``."""
        sentences, _ = self._read(pending, "", final=True)
        return sentences, Pending(offset=pending.offset + len(pending.text))

    def _read(self, pending: Pending, piece: str, *, final: bool) -> tuple[list[Sentence], Pending]:
        text, offset, position = pending.text + piece, pending.offset, pending.progress.position
        start = 0
        sentences: list[Sentence] = []
        if not pending.text:
            start = position = end_of_blanks(text)
        while match := _STRETCH.match(text, position):
            end, after = match.end(1), match.end()
            complete = ends_paragraph(match[2]) or (final and after == len(text))
            if after == len(text) and not complete:
                break
            if position > start and end - start > _PARAGRAPH * self.max_characters:
                sentences += self._sentences(text[start:position], offset + start, forced=True)
                start = position
            if complete:
                sentences += self._sentences(text[start:end], offset + start)
                start = after
            position = after
        return sentences, Pending(text[start:], offset + start, progress=Progress(position - start, ()))

    def _sentences(self, paragraph: str, offset: int, *, forced: bool = False) -> Iterator[Sentence]:
        document = self.pipeline(_HALF_SURROGATE.sub("\ufffd", paragraph))
        if not document.has_annotation("SENT_START"):
            raise IncorefError(
                "the spaCy pipeline sets no sentence boundaries; give it a component that does, "
                "for example with nlp.add_pipe('sentencizer')"
            )
        sentences = [self._tokens(span, paragraph, offset) for span in document.sents]
        sentences = [tokens for tokens in sentences if tokens]
        for number, tokens in enumerate(sentences, start=1):
            while len(tokens) > (kept := longest_part(tokens, self.max_tokens, self.max_characters)):
                yield sentence_of(tokens[:kept], FORCED)
                tokens = tokens[kept:]
            yield sentence_of(tokens, FORCED if forced and number == len(sentences) else ())

    def _tokens(self, span: Iterable[Any], paragraph: str, offset: int) -> list[Token]:
        places = ((token.idx, token.idx + len(token)) for token in span if not token.is_space)
        return [Token(paragraph[start:end], offset + start, offset + end) for start, end in places]
