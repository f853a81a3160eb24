"""``incoref resolve``: finds the entities in text, chats, transcripts, subtitles and mail."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from incoref.cli._console import STDIN, note, put, quiet_end
from incoref.cli._inputs import Encoding, Input, expanded, inputs
from incoref.cli.model import Genre, ModelFolder, Scheme, Setting, Threads
from incoref.errors import IncorefError
from incoref.outputs.formats import MANY_IN_ONE, SUFFIXES, OutputFormat, format_of

if TYPE_CHECKING:
    from incoref.resolver import Resolver
    from incoref.session.session import Session
    from incoref.session.updates import Update
    from incoref.types import Document

Tell = Callable[[float], None]
"""Takes the fraction of a file read so far."""

_PIECE = 4000
"""Characters read between updates of the progress bar."""
_EPILOG = (
    "Exit codes: 0, success; 1, a file could not be read or written (the others are done); 2, wrong usage; "
    "130, interrupted. incoref schema resolve prints the schema of json and jsonl."
)


def register(app: typer.Typer) -> None:
    app.command(epilog=_EPILOG)(resolve)


def resolve(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE…|-]",
            help="Files, possibly compressed with gzip or zstd, and directories. Default: standard input.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        OutputFormat | None,
        typer.Option(
            "--format",
            "-f",
            help="Output format. Default: inferred from OUT's suffix, or text.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="A file, or a directory (existing, or ending in a slash) for one file per document.",
            show_default=False,
        ),
    ] = None,
    singletons: Annotated[bool, typer.Option("--singletons", help="Include entities with one mention.")] = False,
    speakers: Annotated[
        bool | None,
        typer.Option(
            "--speakers/--no-speakers",
            help="Read lines as 'Name: text', or never. Default: if most lines look like that.",
            show_default=False,
        ),
    ] = None,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="Input format, as named in docs/formats.md. Default: detected from content.",
            show_default=False,
        ),
    ] = None,
    encoding: Encoding = "utf-8",
    runners_up: Annotated[
        int,
        typer.Option("--runners-up", min=0, metavar="N", help="Add the N next-best choices for each mention (JSON)."),
    ] = 0,
    setting: Setting = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    model: ModelFolder = None,
    threads: Threads = 1,
) -> None:
    """Find the entities in texts, chats, transcripts, subtitles and mail.

    The format is detected from content: plain text, 'Name: text' lines, exports from WhatsApp, Slack and Discord,
    subtitles (SRT, WebVTT, ASS), Whisper transcriptions, chat-model messages, mail, annotated corpora.
    Text output is followed by a table of entities; on a terminal, both are in colour.

    Examples:

        incoref resolve story.txt

        echo "Anna called Ben. He was out." | incoref resolve -f resolved

        incoref resolve story.txt -o story.html

        incoref resolve chapters/*.txt -f jsonl > chapters.jsonl

        incoref resolve meeting.vtt -f brat -o annotated/

        incoref resolve "WhatsApp Chat with Ben.txt" -f resolved

        incoref resolve mail/ -f jsonl > mail.jsonl
    """
    if speakers is not None and from_format is not None:
        raise typer.BadParameter("can't be combined with --from", param_hint="--speakers")
    names = expanded(files or [STDIN])
    chosen = format or format_of(output or "") or OutputFormat.TEXT
    target = _target(names, chosen, output)
    # Mentions that would be left out show which "her" is a possessive.
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
                        for given in inputs(name, from_format, speakers, encoding):
                            yield _resolved(resolver, given, singletons, options, _shifted(tell, number))
                    except IncorefError as error:
                        if len(names) == 1:
                            raise
                        note(str(error))
                        failed = True
                    tell(number + 1)

        if target is None:
            single = chosen in (OutputFormat.JSON, OutputFormat.HTML)
            resolved = _only_one(documents(), chosen, "") if single else documents()
            _print(resolved, chosen, with_names=len(names) > 1)
        else:
            _write(documents(), chosen, target)
        if failed:
            raise typer.Exit(1)


class _Target(NamedTuple):
    path: Path
    is_directory: bool


def _target(names: Sequence[str], format: OutputFormat, output: str | None) -> _Target | None:
    """The output path, checked before anything is read; none means standard output."""
    from incoref.corpora.files import is_directory

    if output is None or output == STDIN:
        if format is OutputFormat.BRAT:
            raise typer.BadParameter("brat writes several files: name a directory with -o", param_hint="--format")
        if len(names) > 1 and format in (OutputFormat.JSON, OutputFormat.HTML):
            raise typer.BadParameter(
                f"{format} holds one document: use jsonl, or a directory with -o", param_hint="--format"
            )
        return None
    path = Path(output)
    if is_directory(path) or output.endswith("/") or format is OutputFormat.BRAT:
        return _Target(path, True)
    if len(names) > 1 and format not in MANY_IN_ONE:
        raise typer.BadParameter(
            f"a {format} file holds one document; for a directory, end {output} in a slash",
            param_hint="--output",
        )
    return _Target(path, False)


def _resolved(resolver: Resolver, given: Input, singletons: bool, options: dict[str, Any], tell: Tell) -> Document:
    """A text, resolved."""
    from incoref.session.advance import HARDLY_ENGLISH
    from incoref.text.language import Evidence

    text = given.content if isinstance(given.content, str) else given.content.text
    name = "standard input" if given.id == "stdin" else given.id
    if Evidence().with_text(text).hardly_english:
        note(f"{name}: {HARDLY_ENGLISH}")
    session = resolver.session(**options)
    cut = 0
    for updates in _read(session, given.content, tell):
        cut += sum(bool({*update.warnings} - {HARDLY_ENGLISH}) for update in updates)
    if cut:
        note(f"{name}: sentences too long to read in one piece: {cut}")
    return session.document(given.id, singletons=singletons)


def _read(session: Session, text: Document | str, tell: Tell) -> Iterator[list[Update]]:
    if not isinstance(text, str):
        yield session.read(text)
        return
    for start in range(0, len(text), _PIECE):
        yield session.feed(text[start : start + _PIECE])
        tell(start / len(text))
    yield session.flush()


def _only_one(documents: Iterator[Document], format: OutputFormat, where: str) -> Iterator[Document]:
    """The only document; an error if the file turns out to hold several."""
    first = next(documents, None)
    if first is None:
        return
    if next(documents, None) is not None:
        raise IncorefError(f"{format} holds one document{where}: use jsonl, or a directory with -o")
    yield first


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
    """Write a directory file by file as documents are done, or a single file when it is complete."""
    from incoref.corpora.files import write_file
    from incoref.outputs.rendering import brat_files, rendered

    if not target.is_directory:
        if format not in MANY_IN_ONE:
            documents = _only_one(documents, format, f" file, {target.path}")
        write_file(target.path, (rendered(document, format) for document in documents))
    elif format is OutputFormat.BRAT:
        for name, content in brat_files(_named(documents)):
            write_file(target.path / name, [content])
    else:
        for name, document in _named(documents):
            write_file(target.path / (name + SUFFIXES[format]), [rendered(document, format)])


def _named(documents: Iterator[Document]) -> Iterator[tuple[str, Document]]:
    """Documents with unique file names."""
    from incoref.corpora.turns import stem

    used: set[str] = set()
    for document in documents:
        plain = name = stem(document.id) or "document"
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
    """A progress bar on a terminal, unless results are printed there; nothing in a pipe."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    shown = console.is_terminal and not (to_terminal and sys.stdout.isatty())
    with Progress(console=console, transient=True, disable=not shown) as progress:
        task = progress.add_task(f"{files} files" if files > 1 else "reading", total=files)
        yield lambda done: progress.update(task, completed=done)
