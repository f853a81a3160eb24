"""Splits arriving text into the sentences of a session, with exact offsets. Doesn't run the model.

Each function takes a session's state and some text, and returns the new state and the sentences that ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from incoref.errors import IncorefError
from incoref.session.state import SessionState
from incoref.session.transcript import Line, Log, bounds_of
from incoref.text import FORCED, Pending, Splitter
from incoref.types import Document, Given, Sentence, Token

Heard = tuple[SessionState, list[Line]]

TOO_LONG = "the sentence was split because it grew too long"


def feed(splitter: Splitter, state: SessionState, piece: str, speaker: str | None) -> Heard:
    """Add running text; returns the sentences that are now known to have ended."""
    _check(piece, speaker)
    if state.flushed and piece[:1].strip() and _ends_in_word(state):
        state = _with_line_break(state)
    sentences, pending = splitter.feed(state.pending, piece)
    text = state.open_text.extended((piece,))
    return _lines(replace(state, pending=pending, open_text=text, speaker=speaker, flushed=False), sentences)


def flush(splitter: Splitter, state: SessionState) -> Heard:
    """End the pending text."""
    sentences, pending = splitter.flush(state.pending)
    return _lines(replace(state, pending=pending, flushed=True), sentences)


def say(splitter: Splitter, state: SessionState, text: str, speaker: str | None, id: Given, time: Given) -> Heard:
    """Add an utterance on its own lines; nothing may be pending before it, and nothing is after it."""
    _check(text, speaker)
    state = _with_text(replace(_on_new_line(state), speaker=speaker), text)
    sentences, pending = splitter.feed(state.pending, text)
    rest, pending = splitter.flush(pending)
    state, lines = _lines(replace(state, pending=pending), sentences + rest, id, time)
    return _with_line_break(state), lines


def say_words(
    state: SessionState, words: Sequence[str], text: str | None, speaker: str | None, id: Given, time: Given
) -> Heard:
    """Add an utterance of one tokenised sentence."""
    if isinstance(words, str):
        raise IncorefError(f"words must be a list of strings, not a string: {words[:40]!r}; say() takes text")
    _check(text or "", speaker)
    state = replace(_on_new_line(state), speaker=speaker)
    whole = " ".join(words) if text is None else text
    sentences = [_sentence(words, whole, _end(state))] if words else []
    state, lines = _lines(_with_complete_text(state, whole), sentences, id, time)
    return _with_line_break(state), lines


def read_document(state: SessionState, document: Document) -> Heard:
    """Add a document with its own sentences, tokens, speakers and times."""
    state = replace(_on_new_line(state), speaker=None)
    start, place = _end(state), 0
    sentences = [sentence for sentence in document.sentences if sentence.tokens]
    for sentence in sentences:
        if not place <= sentence.start <= sentence.end <= len(document.text):
            raise IncorefError(f"document '{document.id}': the sentence at {sentence.start} is out of order")
        place = sentence.end
    return _lines(_with_complete_text(state, document.text), [_moved(sentence, start) for sentence in sentences])


def _check(text: str, speaker: str | None) -> None:
    """Raise an error for anything but text, before anything changes."""
    for what, value in (("text", text), ("a speaker", speaker or "")):
        if not isinstance(value, str):
            raise IncorefError(f"{what} is a string, not {type(value).__name__}: {value!r:.40}")


def _lines(state: SessionState, sentences: Sequence[Sentence], id: Given = None, time: Given = None) -> Heard:
    """Cut sentences out of the text."""
    for what, value in (("id", id), ("time", time)):
        if value is not None and not isinstance(value, str | int | float):
            raise IncorefError(f"the {what} of a message is a string or a number, not {value!r}")
    if not sentences:
        return state, []
    text, start, tokens = "".join(state.open_text), state.open_start, state.tokens
    place, lines = start, list[Line]()
    for number, sentence in enumerate(sentences, start=state.sentences):
        lines.append(
            Line(
                number=number,
                first=tokens,
                before=text[place - start : sentence.start - start],
                text=text[sentence.start - start : sentence.end - start],
                start=sentence.start,
                bounds=bounds_of(sentence.tokens, sentence.start),
                speaker=sentence.speaker or state.speaker,
                id=id,
                time=_time_of(sentence) if time is None else time,
                warnings=(TOO_LONG,) if sentence.attributes == FORCED else (),
            )
        )
        place, tokens = sentence.end, tokens + len(sentence)
    state = replace(
        state,
        sentences=state.sentences + len(lines),
        tokens=tokens,
        open_start=place,
        open_text=_pieces((text[place - start :],)),
    )
    return state, lines


def _time_of(sentence: Sentence) -> str | None:
    """The time span of a sentence from subtitles, as written in their files."""
    known = dict(sentence.attributes)
    return f"{known['from']} --> {known['to']}" if "from" in known and "to" in known else known.get("time")


def _sentence(words: Sequence[str], text: str, offset: int) -> Sentence:
    """The sentence with these words, located in order in a text that starts at an offset."""
    tokens: list[Token] = []
    place = 0
    for word in words:
        start = text.find(word, place)
        if start < 0 or not word:
            raise IncorefError(f"the word {word!r} doesn't occur in the text after character {place}")
        place = start + len(word)
        tokens.append(Token(word, offset + start, offset + place))
    return Sentence(tokens[0].start, tokens[-1].end, tuple(tokens))


def _moved(sentence: Sentence, offset: int) -> Sentence:
    if not offset:
        return sentence
    tokens = tuple(token._replace(start=token.start + offset, end=token.end + offset) for token in sentence.tokens)
    return replace(sentence, start=sentence.start + offset, end=sentence.end + offset, tokens=tokens)


def _end(state: SessionState) -> int:
    """Where the text ends so far."""
    return state.pending.offset + len(state.pending.text)


def _pieces(pieces: Iterable[str]) -> Log[str]:
    return Log.of(piece for piece in pieces if piece)


def _with_text(state: SessionState, piece: str) -> SessionState:
    """The state with text that the splitter hasn't seen yet."""
    return replace(state, open_text=state.open_text.extended((piece,))) if piece else state


def _with_complete_text(state: SessionState, text: str) -> SessionState:
    """The state with text that the splitter doesn't see."""
    return replace(_with_text(state, text), pending=Pending(offset=_end(state) + len(text)))


def _with_line_break(state: SessionState) -> SessionState:
    return _with_complete_text(state, "\n")


def _ends_in_word(state: SessionState) -> bool:
    last = state.open_text.last
    return _end(state) > 0 if last is None else bool(last[-1].strip())


def _on_new_line(state: SessionState) -> SessionState:
    last = state.open_text.last
    at_start = _end(state) == 0 if last is None else last[-1] == "\n"
    return state if at_start else _with_line_break(state)
