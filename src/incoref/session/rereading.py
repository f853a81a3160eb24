"""Rereads sentences whose speaker is corrected, and all sentences after them.

The resulting session is as if the speaker had been known from the start. Works on states and their sentences; knows
neither the splitter nor undo.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from incoref.errors import IncorefError
from incoref.model.folder import Model
from incoref.options import SessionOptions
from incoref.session.advance import advance
from incoref.session.intake import TOO_LONG
from incoref.session.state import SessionState
from incoref.session.transcript import Line
from incoref.session.updates import Update


def with_speaker(
    model: Model,
    options: SessionOptions,
    states: Sequence[SessionState],
    wanted: Callable[[Line], bool],
    speaker: str | None,
) -> tuple[list[SessionState], list[Update]]:
    """The states of a session, oldest first, as if the wanted sentences had had this speaker.

    Also returns the updates of these sentences and all later ones. One of the states must precede the sentences.
    """
    numbers = [line.number for line in _sentences(states[-1]) if wanted(line)]
    if not numbers:
        raise IncorefError("the session has no such sentence, or no longer keeps it")
    first = min(numbers)
    older = [place for place, state in enumerate(states) if state.sentences <= first]
    if not older:
        raise IncorefError(
            f"sentence {first} was read more than {options.undo} calls ago; "
            "open the session with a larger 'undo' to correct speakers that far back"
        )
    place = older[-1]
    corrected, updates = list(states[: place + 1]), list[Update]()
    for before, after in pairwise(states[place:]):
        lines = [_unread(line) for line in _sentences(after) if line.number >= before.sentences]
        if len(lines) != after.sentences - before.sentences:
            raise IncorefError("some of the sentences to reread are no longer kept; raise 'history'")
        lines = [replace(line, speaker=speaker) if wanted(line) else line for line in lines]
        state = _with_text_of(after, corrected[-1])
        state, answered = advance(model, options, state, lines, close=not after.waiting)
        corrected.append(state)
        updates += answered
    return corrected, [update for update in updates if update.sentence >= first]


def _sentences(state: SessionState) -> chain[Line]:
    return chain(state.lines, state.waiting)


def _unread(line: Line) -> Line:
    """A sentence as it was before reading."""
    return replace(line, mentions=(), warnings=tuple(warning for warning in line.warnings if warning == TOO_LONG))


def _with_text_of(after: SessionState, state: SessionState) -> SessionState:
    """A state with the text of a later one, whose sentences haven't been read yet."""
    return replace(
        state,
        sentences=after.sentences,
        tokens=after.tokens,
        open_start=after.open_start,
        open_text=after.open_text,
        pending=after.pending,
        speaker=after.speaker,
        flushed=after.flushed,
    )
