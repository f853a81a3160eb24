"""``incoref stream``: lines in as they come, a line of JSON out for every sentence, at once."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incoref.cli._console import decoded, note, put, quiet_end
from incoref.cli.model import Genre, ModelFolder, Scheme, Setting, Threads
from incoref.errors import FormatError

if TYPE_CHECKING:
    from incoref.session.updates import Message

_INPUT = "standard input"
_GIVEN = (str, int, float, type(None))
_EPILOG = "The layout of the lines that come out: incoref schema stream. Ctrl-C and a closed pipe end it quietly."


def register(app: typer.Typer) -> None:
    app.command(epilog=_EPILOG)(stream)


def stream(
    speakers: Annotated[bool, typer.Option("--speakers", help="Lines of text are 'Name: text'.")] = False,
    running: Annotated[
        bool, typer.Option("--running", help="Lines of text are no utterances: sentences run on in the next one.")
    ] = False,
    runners_up: Annotated[
        int, typer.Option("--runners-up", min=0, metavar="N", help="The N next best choices of every mention.")
    ] = 0,
    trace: Annotated[bool, typer.Option("--trace", help="Every action with its probabilities.")] = False,
    eviction: Annotated[
        str, typer.Option("--eviction", help="Which entities are forgotten: dual, lru, icoref, none.")
    ] = "dual",
    max_entities: Annotated[
        int | None, typer.Option("--max-entities", min=1, metavar="N", help="Entities to remember.")
    ] = None,
    setting: Setting = "sent-inc",
    scheme: Scheme = None,
    genre: Genre = "unknown",
    model: ModelFolder = None,
    threads: Threads = 1,
) -> None:
    """Read utterances line by line and say whom they mention, a line of JSON a sentence, at once.

    A line is text, or a JSON object with "text" and perhaps "speaker", "id"
    and "time", which come back: all lines are JSON if the first one is. Runs
    for as long as lines come, in memory that does not grow.

    Examples:

        echo "Anna called Ben. He was out." | incoref stream

        tail -f chat.log | incoref stream --speakers | jq -c .mentions

        my-speech-recogniser | incoref stream > events.jsonl
    """
    if running and speakers:
        raise typer.BadParameter("a line with a speaker is an utterance", param_hint="--running")
    with quiet_end():
        from incoref.outputs.jsonable import json_line, update_json
        from incoref.resolver import load
        from incoref.text.language import Evidence

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
            note("reading from the terminal, a line an utterance; Ctrl-D ends")
        evidence: Evidence | None = Evidence()
        for item in _items(speakers, running):
            for update in session.hear(item):
                put(json_line(update_json(update)) + "\n")
            if evidence is not None:
                evidence = evidence.with_text(item if isinstance(item, str) else item.text)
                if evidence.hardly_english:
                    note("this hardly looks like English, which is all that the model knows")
                    evidence = None
        for update in session.flush():
            put(json_line(update_json(update)) + "\n")


def _items(speakers: bool, running: bool) -> Iterator[str | Message]:
    """What the lines of standard input say, as they come."""
    from incoref.corpora.transcripts import label_of
    from incoref.session.updates import Message

    are_json: bool | None = None
    speaker: str | None = None
    for number, data in enumerate(sys.stdin.buffer, start=1):
        line = decoded(data, _INPUT, number)
        if not line.strip():
            if running:
                yield line
            continue
        if are_json is None:
            are_json = line.lstrip().startswith("{")
        if are_json:
            yield _message(line, number)
        elif running:
            yield line
        else:
            text = line.rstrip("\r\n")
            if speakers:
                speaker, text = label_of(text) or (speaker, text)
            yield Message(text, speaker)


def _message(line: str, number: int) -> Message:
    from incoref.session.updates import Message

    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"no JSON, though the first line is: {error}", path=_INPUT, line=number) from error
    if not isinstance(data, dict) or not isinstance(data.get("text"), str):
        raise FormatError('a message is a JSON object with a string "text"', path=_INPUT, line=number)
    speaker, id, time = data.get("speaker"), data.get("id"), data.get("time")
    if speaker is not None and not isinstance(speaker, str):
        raise FormatError('"speaker" is no string', path=_INPUT, line=number)
    for name, value in (("id", id), ("time", time)):
        if not isinstance(value, _GIVEN) or isinstance(value, bool):
            raise FormatError(f'"{name}" is neither a string nor a number', path=_INPUT, line=number)
    return Message(data["text"], speaker, id, time)
