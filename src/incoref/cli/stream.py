"""``incoref stream``: reads lines as they arrive and prints a line of JSON per sentence immediately."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incoref.cli._console import note, put, quiet_end
from incoref.cli._inputs import Encoding, message_of
from incoref.cli.model import Genre, ModelFolder, Scheme, Setting, Threads
from incoref.errors import FormatError, IncorefError

if TYPE_CHECKING:
    from incoref.session.updates import Message, Update

INPUT = "standard input"
_WHOLE = frozenset({"ass", "mail", "srt", "webvtt"})
"""Formats that are read only when the input is complete."""
_LIST = re.compile(r"\s*\[\s*(?:\{|$)")
_GIVEN = (str, int, float, type(None))
_EPILOG = "incoref schema stream prints the schema of the output. Ctrl-C and a closed pipe end the command silently."


def register(app: typer.Typer) -> None:
    app.command(epilog=_EPILOG)(stream)


def stream(
    speakers: Annotated[
        bool | None,
        typer.Option(
            "--speakers/--no-speakers",
            help="Read lines as 'Name: text', or as plain text. By default, the lines so far decide.",
            show_default=False,
        ),
    ] = None,
    running: Annotated[
        bool, typer.Option("--running", help="Lines are running text: sentences can continue on the next line.")
    ] = False,
    runners_up: Annotated[
        int, typer.Option("--runners-up", min=0, metavar="N", help="Add the N next-best choices for every mention.")
    ] = 0,
    trace: Annotated[bool, typer.Option("--trace", help="Add every action with its probabilities.")] = False,
    eviction: Annotated[str, typer.Option("--eviction", help="Eviction policy: dual, lru, icoref or none.")] = "dual",
    max_entities: Annotated[
        int | None, typer.Option("--max-entities", min=1, metavar="N", help="Maximum number of entities to remember.")
    ] = None,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="Read the whole input in this conversation format; see docs/formats.md.",
            show_default=False,
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    setting: Setting = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    model: ModelFolder = None,
    threads: Threads = 1,
) -> None:
    """Read utterances line by line and print one line of JSON per sentence, immediately.

    A line is text, or a JSON object with "text" and optionally "speaker", "id"
    and "time", which are returned, or with "role" and "content". If the first
    line is JSON, all must be. Lines of text are turns, "Name: text", if the
    first ones are. Runs until the input ends, in constant memory. If the first
    line shows that the input is a chat export, subtitles or mail, it is read
    turn by turn after its end.

    Examples:

        echo "Anna called Ben. He was out." | incoref stream

        tail -f chat.log | incoref stream --speakers | jq -c .mentions

        my-speech-recogniser | incoref stream > events.jsonl
    """
    if running and speakers:
        raise typer.BadParameter("can't be combined with --speakers", param_hint="--running")
    with quiet_end():
        from incoref.outputs.jsonable import json_line, update_json
        from incoref.resolver import load
        from incoref.session.advance import HARDLY_ENGLISH

        session = load(model, threads=threads).session(
            setting=setting,
            scheme=scheme,
            genre=genre,
            eviction=eviction,
            max_entities=max_entities,
            runners_up=runners_up,
            trace=trace,
            history=1,
            undo=0,
        )
        if sys.stdin.isatty():
            note("reading from the terminal, one utterance per line; Ctrl-D ends")

        def told(updates: list[Update]) -> None:
            for update in updates:
                put(json_line(update_json(update)) + "\n")
                if HARDLY_ENGLISH in update.warnings:
                    note(HARDLY_ENGLISH)

        for item in _items(speakers, running, from_format, encoding):
            told(session.hear(item))
        told(session.flush())


def _items(speakers: bool | None, running: bool, format: str | None, encoding: str) -> Iterator[str | Message]:
    """The input as it arrives; in a conversation format, once it is complete."""
    lines = _lines(encoding)
    if format is not None:
        yield from _whole("".join(line for _, line in lines), format)
        return
    first = _first(lines)
    opening = "".join(line for _, line in first)
    if _is_whole(opening):
        yield from _whole(opening + "".join(line for _, line in lines), None)
    elif opening.lstrip().startswith("{"):
        for number, line in chain(first, lines):
            if line.strip():
                message = _message(line, number)
                if message is not None:
                    yield message
    elif running:
        yield from (line for _, line in chain(first, lines))
    else:
        yield from _utterances((line.rstrip("\r\n") for _, line in chain(first, lines)), speakers)


def _lines(encoding: str) -> Iterator[tuple[int, str]]:
    """Numbered lines of standard input, as they arrive."""
    from incoref.corpora.files import check_encoding, decoded, decompressed, is_compressed

    check_encoding(encoding)
    if "\n".encode(encoding) == b"\n":
        first = sys.stdin.buffer.readline()
        rest: Iterable[bytes] = sys.stdin.buffer
        if is_compressed(first):
            first, rest = b"", io.BytesIO(decompressed(first + sys.stdin.buffer.read(), INPUT))
        for number, data in enumerate(chain([first] if first else [], rest), start=1):
            yield number, decoded(data, INPUT, encoding, line=number)
        return
    text = io.TextIOWrapper(sys.stdin.buffer, encoding=encoding)
    try:
        yield from enumerate(text, start=1)
    except UnicodeError as error:
        raise IncorefError(f"{INPUT}: not {encoding}: {error}") from error
    finally:
        text.detach()


def _first(lines: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines that decide the format: one that isn't blank, or a few more if it may be mail."""
    from incoref.corpora import mail

    first: list[tuple[int, str]] = []
    for number, line in lines:
        first.append((number, line))
        opening = "".join(line for _, line in first).lstrip()
        # The number of the first subtitle, in SRT, is followed by its time.
        if opening.strip() and not opening.strip().isdecimal() and not (mail.may_begin(opening) and line.strip()):
            break
    return first


def _utterances(lines: Iterator[str], speakers: bool | None) -> Iterator[Message]:
    """Lines as messages; whether they are turns shows in the lines so far, unless it is known."""
    from incoref.corpora import transcripts
    from incoref.session.updates import Message

    if speakers is None:
        told = False
        for turn in transcripts.as_they_come(lines):
            if turn.speaker is not None and not told:
                note("lines with names are read as turns; --no-speakers reads them as they are")
                told = True
            yield Message(turn.text, turn.speaker)
        return
    speaker: str | None = None
    for line in lines:
        if speakers:
            speaker, line = transcripts.label_of(line) or (speaker, line)
        if line.strip():
            yield Message(line, speaker)


def _is_whole(opening: str) -> bool:
    """Whether the opening belongs to a format that is read only when complete."""
    from incoref.corpora import guess, whatsapp

    if opening.lstrip().startswith("{"):
        try:
            data = json.loads(opening)
        except (ValueError, RecursionError):
            # In JSON lines the first line is complete, so this is JSON over many lines, or not JSON.
            return opening.rstrip().endswith(("{", "[", ","))
        return (isinstance(data, dict) and not ({"text", "role", "from"} & set(data))) or "segments" in data
    if _LIST.match(opening):
        return True
    if whatsapp.begins(opening.lstrip()):
        return True
    return bool(opening.strip()) and guess(opening, INPUT).name in _WHOLE


def _whole(text: str, format: str | None) -> Iterator[Message]:
    from incoref.corpora import guess
    from incoref.corpora._registry import format_named
    from incoref.corpora.files import with_usual_line_ends

    known = guess(text, INPUT) if format is None else format_named(format)
    if known.listen is None:
        raise IncorefError(f"{INPUT}: {known.name} has no turns to stream; try incoref resolve")
    conversations = list(known.listen(with_usual_line_ends(text), INPUT))
    note(f"{INPUT}: read as {known.name} ({known.about.removesuffix(' (reading)')}), after its end")
    for conversation in conversations:
        yield from map(message_of, conversation.turns)


def _message(line: str, number: int) -> Message | None:
    """The message in a line of JSON; none if it isn't speech, such as a tool's result."""
    from incoref.corpora.messages import turn_of
    from incoref.corpora.turns import named
    from incoref.session.updates import Message

    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"not JSON, although the first line is: {error}", path=INPUT, line=number) from error
    if isinstance(data, dict) and "text" not in data and ("role" in data or "from" in data):
        try:
            turn = turn_of(data, INPUT)
        except FormatError as error:
            raise FormatError(error.fault, path=INPUT, line=number) from error
        if turn is None:
            return None
        data = {**data, "text": turn.text, "speaker": turn.speaker}
    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
        raise FormatError('a message is a JSON object with a string "text"', path=INPUT, line=number)
    speaker, id, time = named(data.get("speaker")), data.get("id"), data.get("time")
    if speaker is not None and not isinstance(speaker, str):
        raise FormatError('"speaker" is neither a string nor a whole number', path=INPUT, line=number)
    for name, value in (("id", id), ("time", time)):
        if not isinstance(value, _GIVEN) or isinstance(value, bool):
            raise FormatError(f'"{name}" is neither a string nor a number', path=INPUT, line=number)
    return Message(data["text"], speaker, id, time)
