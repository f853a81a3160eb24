"""``incoref resolve``: raw text, transcripts and subtitles in; who is who out, in any format."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from incoref.cli._console import STDIN, decoded, note, put, quiet_end
from incoref.cli.model import Genre, ModelFolder, Scheme, Setting, Threads
from incoref.errors import IncorefError
from incoref.outputs.formats import MANY_IN_ONE, SUFFIXES, OutputFormat, format_of

if TYPE_CHECKING:
    from incoref.resolver import Resolver
    from incoref.session.session import Session
    from incoref.session.updates import Update
    from incoref.types import Document

Tell = Callable[[float], None]
"""Takes how much of a file has been read, from 0 to 1."""

_PIECE = 4000
"""Characters that are read between two looks at the progress bar."""
_EPILOG = (
    "Exit codes: 0, all is well; 1, a file could not be read or written (the others are); 2, wrong usage; "
    "130, interrupted. The layout of json and jsonl: incoref schema resolve."
)


def register(app: typer.Typer) -> None:
    app.command(epilog=_EPILOG)(resolve)


def resolve(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE…|-]", help="Text files; standard input when none is given.", show_default=False
        ),
    ] = None,
    format: Annotated[
        OutputFormat | None,
        typer.Option("--format", "-f", help="By the name of OUT when not given, else text.", show_default=False),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="A file, or a directory (one that exists, or ends in a slash) for a file a document.",
            show_default=False,
        ),
    ] = None,
    singletons: Annotated[bool, typer.Option("--singletons", help="Also entities with one mention.")] = False,
    speakers: Annotated[
        bool | None,
        typer.Option(
            "--speakers/--no-speakers",
            help="Whether lines are 'Name: text', or run on from one that is. When not given: if all of them are.",
            show_default=False,
        ),
    ] = None,
    runners_up: Annotated[
        int, typer.Option("--runners-up", min=0, metavar="N", help="In JSON, the N next best choices of a mention.")
    ] = 0,
    setting: Setting = "sent-inc",
    scheme: Scheme = None,
    genre: Genre = "unknown",
    model: ModelFolder = None,
    threads: Threads = 1,
) -> None:
    """Find out who is who in texts, 'Name: text' transcripts and SRT or WebVTT subtitles.

    On a terminal, text has colours and a table below; in a pipe, the same without colours.

    Examples:

        incoref resolve story.txt

        echo "Anna called Ben. He was out." | incoref resolve -f resolved

        incoref resolve story.txt -o story.html

        incoref resolve chapters/*.txt -f jsonl > chapters.jsonl

        incoref resolve meeting.vtt -f brat -o annotated/
    """
    names = files or [STDIN]
    chosen = format or format_of(output or "") or OutputFormat.TEXT
    target = _target(names, chosen, output)
    # Which "her" is a possessive shows in mentions that would be left out.
    singletons = singletons or chosen is OutputFormat.RESOLVED
    options = {"setting": setting, "scheme": scheme, "genre": genre, "runners_up": runners_up, "undo": 0}
    with quiet_end():
        from incoref.resolver import load

        if names == [STDIN] and sys.stdin.isatty():
            note("reading from the terminal; Ctrl-D ends the text")
        resolver = load(model, threads=threads)
        failed = False

        def documents() -> Iterator[Document]:
            nonlocal failed
            with _progress(len(names), to_terminal=target is None) as tell:
                for number, name in enumerate(names):
                    try:
                        document = _resolved(resolver, name, speakers, singletons, options, _shifted(tell, number))
                    except IncorefError as error:
                        if len(names) == 1:
                            raise
                        note(str(error))
                        failed = True
                    else:
                        yield document
                    tell(number + 1)

        if target is None:
            _print(documents(), chosen, with_names=len(names) > 1)
        else:
            _write(documents(), chosen, target)
        if failed:
            raise typer.Exit(1)


class _Target(NamedTuple):
    path: Path
    is_directory: bool


def _target(names: Sequence[str], format: OutputFormat, output: str | None) -> _Target | None:
    """Where documents go, checked before anything is read; none is standard output."""
    if output is None or output == STDIN:
        if format is OutputFormat.BRAT:
            raise typer.BadParameter("brat makes several files: name a directory with -o", param_hint="--format")
        if len(names) > 1 and format in (OutputFormat.JSON, OutputFormat.HTML):
            raise typer.BadParameter(
                f"several documents in one {format}: take jsonl, or a directory with -o", param_hint="--format"
            )
        return None
    path = Path(output)
    if path.is_dir() or output.endswith("/") or format is OutputFormat.BRAT:
        return _Target(path, True)
    if len(names) > 1 and format not in MANY_IN_ONE:
        raise typer.BadParameter(
            f"{output} has room for one document in the format {format}; a directory ends in a slash",
            param_hint="--output",
        )
    return _Target(path, False)


def _resolved(
    resolver: Resolver,
    name: str,
    speakers: bool | None,
    singletons: bool,
    options: dict[str, Any],
    tell: Tell,
) -> Document:
    """The document of a file."""
    from incoref.text.language import Evidence

    text = decoded(_bytes_of(name), _shown(name))
    turns = _turns(text, name, speakers)
    if Evidence().with_text(turns.text if turns else text).hardly_english:
        note(f"{_shown(name)}: this hardly looks like English, which is all that the model knows")
    session = resolver.session(**options)
    cut = 0
    for updates in _read(session, turns or text, tell):
        cut += sum(bool(update.warnings) for update in updates)
    if cut:
        note(f"{_shown(name)}: sentences too long to be read as a whole: {cut}")
    return session.document("stdin" if name == STDIN else name, singletons=singletons)


def _read(session: Session, text: Document | str, tell: Tell) -> Iterator[list[Update]]:
    if not isinstance(text, str):
        yield session.read(text)
        return
    for start in range(0, len(text), _PIECE):
        yield session.feed(text[start : start + _PIECE])
        tell(start / len(text))
    yield session.flush()


def _turns(text: str, name: str, speakers: bool | None) -> Document | None:
    """What is said in a transcript or in subtitles; none for plain text."""
    from incoref.corpora import FORMATS, guess, transcripts

    text = text.replace("\r\n", "\n")
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return None
    is_like_json = lines[0].lstrip().startswith("{")
    looks_like = "text" if is_like_json else guess(text, name).name
    if looks_like in ("srt", "webvtt"):
        return next(transcripts.read_subtitles(text, name))
    if speakers is None:
        speakers = not is_like_json and all(transcripts.label_of(line) is not None for line in lines)
    if speakers:
        return next(transcripts.read(text, name))
    if FORMATS[looks_like].annotated:
        note(f"{_shown(name)}: read as plain text, but looks like {looks_like}, which incoref predict reads")
    return None


def _bytes_of(name: str) -> bytes:
    if name == STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise IncorefError(f"{name}: {error.strerror or error}") from error


def _shown(name: str) -> str:
    return "standard input" if name == STDIN else name


def _print(documents: Iterator[Document], format: OutputFormat, *, with_names: bool) -> None:
    from incoref.outputs.rendering import rendered

    for number, document in enumerate(documents):
        if with_names and format in (OutputFormat.TEXT, OutputFormat.RESOLVED):
            put(("\n" if number else "") + f"==> {document.id} <==\n")
        if format is OutputFormat.TEXT and sys.stdout.isatty():
            _print_in_colour(document)
        else:
            put(rendered(document, format))


def _print_in_colour(document: Document) -> None:
    from rich.console import Console
    from rich.text import Text

    from incoref.outputs.terminal import entity_table, marked_text

    console = Console(highlight=False)
    console.print(Text.assemble(*marked_text(document)))
    if document.entities:
        console.print()
        console.print(entity_table(document))


def _write(documents: Iterator[Document], format: OutputFormat, target: _Target) -> None:
    """Files in a directory one by one as they are done, or one file when it is complete."""
    from incoref.corpora.files import write_file
    from incoref.outputs.rendering import brat_files, rendered

    if not target.is_directory:
        write_file(target.path, (rendered(document, format) for document in documents))
    elif format is OutputFormat.BRAT:
        for name, content in brat_files(_named(documents)):
            write_file(target.path / name, [content])
    else:
        for name, document in _named(documents):
            write_file(target.path / (name + SUFFIXES[format]), [rendered(document, format)])


def _named(documents: Iterator[Document]) -> Iterator[tuple[str, Document]]:
    """Documents with the names of their files, no two alike."""
    used: set[str] = set()
    for document in documents:
        plain = name = Path(document.id).stem
        number = 1
        while name in used:
            number += 1
            name = f"{plain}-{number}"
        used.add(name)
        yield name, document


def _shifted(tell: Tell, done: int) -> Tell:
    return lambda part: tell(done + part)


@contextmanager
def _progress(files: int, *, to_terminal: bool) -> Iterator[Tell]:
    """A bar on a terminal, unless it would stand between what is printed there; nothing in a pipe."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    shown = console.is_terminal and not (to_terminal and sys.stdout.isatty())
    with Progress(console=console, transient=True, disable=not shown) as progress:
        task = progress.add_task(f"{files} files" if files > 1 else "reading", total=files)
        yield lambda done: progress.update(task, completed=done)
