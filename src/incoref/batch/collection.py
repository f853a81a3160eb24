"""A run over a collection: splits the input into shards, processes them, and resumes where an earlier run stopped.

The input alone determines which rows a shard has. So a resumed run, with any number of workers, writes the same bytes
as an uninterrupted one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from incoref._version import __version__
from incoref.batch.answers import DEFAULT_FIELDS, FIELDS, Columns
from incoref.batch.on_ray import on_ray
from incoref.batch.processes import Task, in_processes, in_this_process
from incoref.batch.shards import Record
from incoref.batch.sources import STDIN, Source, sources_of
from incoref.batch.work import Job
from incoref.errors import IncorefError
from incoref.options import SessionOptions
from incoref.resolver import Resolver, load

SHARD_ROWS = 1000
FORMATS = ("jsonl", "parquet")
_SHARD_BYTES = 1 << 24
"""Maximum size of a shard's rows, which are held in memory; a shard of long documents has fewer rows."""


@dataclass(slots=True)
class Progress:
    """The progress of a run."""

    documents: int = 0
    words: int = 0
    share: float | None = None
    """Finished share of the input, from 0 to 1; None if unknown, as with standard input."""
    seconds: float = 0.0
    skipped: int = 0
    """Documents finished by earlier runs."""
    skipped_share: float = 0.0
    """Their share of the input."""

    @property
    def seconds_left(self) -> float | None:
        """Estimated time left at the average speed so far; None if unknown."""
        done = 0.0 if self.share is None else self.share - self.skipped_share
        return None if self.share is None or done <= 0 else self.seconds * (1 - self.share) / done


@dataclass(frozen=True, slots=True)
class Summary:
    """The results of a run."""

    folder: Path
    documents: int
    """Documents in the folder, including those of earlier runs."""
    words: int
    entities: int
    errors: int
    shards: int
    resumed: int
    """Documents finished by earlier runs."""
    seconds: float
    new_words: int
    """Words processed by this run."""

    @property
    def documents_per_second(self) -> float:
        return (self.documents - self.resumed) / max(self.seconds, 1e-9)

    @property
    def words_per_second(self) -> float:
        return self.new_words / max(self.seconds, 1e-9)


def run(
    inputs: Sequence[str | Path] | str | Path,
    output: str | Path,
    *,
    to: str = "jsonl",
    columns: Columns | None = None,
    fields: Sequence[str] = DEFAULT_FIELDS,
    singletons: bool = False,
    workers: int = 1,
    threads: int = 1,
    shard_rows: int = SHARD_ROWS,
    max_errors: int | None = None,
    model: str | Path | Resolver | None = None,
    ray: str | None = None,
    tell: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Summary:
    """Resolve every document in the inputs and write the answers to shards in the folder ``output``.

    Inputs are files and folders, or ``-`` for JSON lines on standard input. Called again with the same arguments, it
    skips finished shards and resumes; ``workers``, ``threads`` and ``max_errors`` may change. ``ray`` is the address
    of a Ray cluster to run the workers on; all its machines must see these folders. ``tell`` is called with progress.
    ``options`` are those of a session.
    """
    names = [str(name) for name in ([inputs] if isinstance(inputs, str | Path) else inputs)]
    _check(names, to, fields, workers, shard_rows, max_errors)
    columns = columns or Columns()
    if workers > 1 and threads > 1:
        raise IncorefError("with several workers, each has one thread: leave threads at 1")
    given = isinstance(model, Resolver)
    resolver = model if isinstance(model, Resolver) else load(model, threads=threads)
    chosen = SessionOptions(**{"undo": 0, **options})
    resolver.model.classes(chosen.scheme, chosen.genre)
    sources = sources_of(names)
    job = Job(Path(output), to, columns, tuple(fields), singletons, options, *_schema(sources, to, columns, fields))
    settings = {
        "inputs": [asdict(source) for source in sources],
        "format": to,
        "columns": asdict(columns),
        "fields": list(fields),
        "singletons": singletons,
        "options": dict(options),
        "shard_rows": shard_rows,
        "model": resolver.model.fingerprint,
        "version": __version__,
    }
    with job.shards.claimed(settings) as lock:
        going = _Run(job, sources, shard_rows, max_errors, tell)
        tasks = going.tasks()
        try:
            if ray is not None:
                folder = None if model is None else str(resolver.model.folder)
                finished = on_ray(job, folder, tasks, going.told, workers, ray)
            elif workers == 1:
                finished = in_this_process(job, resolver, tasks, going.told)
            else:
                finished = in_processes(job, resolver, tasks, going.told, workers, lock, fork=not given)
            for number, record in finished:
                going.finished(number, record)
        finally:
            job.shards.write_errors()
        job.shards.check_end(going.shards)
        return going.summary()


class _Run:
    """The state of a run in progress."""

    def __init__(
        self,
        job: Job,
        sources: Sequence[Source],
        shard_rows: int,
        max_errors: int | None,
        tell: Callable[[Progress], None] | None,
    ) -> None:
        self._job, self._sources, self._shard_rows = job, sources, shard_rows
        self._max_errors, self._tell = max_errors, tell
        self._started = time.monotonic()
        self._progress = Progress()
        self._reach: dict[int, float | None] = {}  # the share of the input up to the end of each open shard
        self._documents = self._words = self._entities = self._errors = 0
        self._resumed = self._words_before = 0
        self.shards = 0

    def tasks(self) -> Iterator[Task]:
        """Yield the shards still to be processed, and count the finished ones."""
        store = self._job.shards
        before, end = 0.0, 0.0
        for number, rows, reach in shards_of(self._sources, self._shard_rows):
            self.shards = number + 1
            before, end = end, reach or 0.0
            record = store.record(number)
            if record is None or not store.part(number).exists():
                self._reach[number] = reach
                yield number, rows
                continue
            if record.rows != len(rows):
                raise IncorefError(f"{store.part(number)}: has answers to other rows than the input has there")
            self._resumed += record.documents
            self._words_before += record.words
            self._progress.skipped = self._resumed
            self._progress.skipped_share += end - before
            self._count(record)

    def told(self, rows: int, words: int) -> None:
        self._progress.documents += rows
        self._progress.words += words
        self._say()

    def finished(self, number: int, record: Record) -> None:
        reach = self._reach.pop(number)
        # Everything before the first open shard is done.
        self._progress.share = min([reach, *self._reach.values()], key=lambda part: part or 0.0)
        self._count(record)
        self._say()

    def summary(self) -> Summary:
        return Summary(
            folder=self._job.folder,
            documents=self._documents,
            words=self._words,
            entities=self._entities,
            errors=self._errors,
            shards=self.shards,
            resumed=self._resumed,
            seconds=time.monotonic() - self._started,
            new_words=self._words - self._words_before,
        )

    def _count(self, record: Record) -> None:
        self._documents += record.documents
        self._words += record.words
        self._entities += record.entities
        self._errors += len(record.errors)
        if self._max_errors is not None and record.errors and self._errors > self._max_errors:
            last = record.errors[-1]
            raise IncorefError(
                f"{self._errors} rows can't be read as documents, more than the {self._max_errors} that are allowed; "
                f"one of them is {last['place']}: {last['reason']}. All are in {self._job.folder / 'errors.jsonl'}"
            )

    def _say(self) -> None:
        if self._tell is not None:
            self._progress.seconds = time.monotonic() - self._started
            self._tell(self._progress)


def shards_of(sources: Sequence[Source], most: int) -> Iterator[tuple[int, list[Any], float | None]]:
    """Split the input into shards; yield each with its number, its rows, and the share of the input up to its end."""
    total = 0 if any(source.name == STDIN for source in sources) else sum(source.size for source in sources)
    number, rows, size, before, reached = 0, list[Any](), 0, 0, 0
    for source in sources:
        for raw in source.rows():
            if rows and (len(rows) == most or size + raw.size > _SHARD_BYTES):
                yield number, rows, reached / total if total else None
                number, rows, size = number + 1, [], 0
            rows.append(raw)
            size += raw.size
            reached = before + raw.offset
        before += source.size
    if rows:
        yield number, rows, 1.0 if total else None


def _schema(sources: Sequence[Source], to: str, columns: Columns, fields: Sequence[str]) -> tuple[Any, bool]:
    """The schema of the table to write, and whether it has one column for all untyped fields."""
    if to != "parquet":
        return None, False
    from incoref.batch.tables import common_schema, schema_of

    given = common_schema([(source.name, source.schema()) for source in sources])
    return schema_of(given, columns, fields), given is None


def _check(
    names: Sequence[str], to: str, fields: Sequence[str], workers: int, shard_rows: int, max_errors: int | None
) -> None:
    if not names:
        raise IncorefError("nothing to read: name files or folders, or - for standard input")
    if to not in FORMATS:
        raise IncorefError(f"no format '{to}'; there are {', '.join(FORMATS)}")
    unknown = [name for name in fields if name not in FIELDS]
    if unknown or not fields:
        raise IncorefError(f"no fields {', '.join(unknown) or 'at all'}; choose among {', '.join(FIELDS)}")
    for name, value, least in (("workers", workers, 1), ("shard_rows", shard_rows, 1), ("max_errors", max_errors, 0)):
        if value is not None and value < least:
            raise IncorefError(f"{name} is {value}; it must be at least {least}")
