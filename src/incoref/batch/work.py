"""Processes one shard: rows in, a finished file out. The same in one process, in several, and on other machines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from incoref.batch.answers import DEFAULT_FIELDS, BadRow, Columns, Resolved, resolved
from incoref.batch.shards import Record, Shards
from incoref.batch.sources import Raw
from incoref.errors import IncorefError
from incoref.outputs.jsonable import json_line
from incoref.resolver import Resolver

_TELL = 0.5
"""Minimum seconds between progress reports."""

Tell = Callable[[int, int], None]
"""Takes the numbers of rows and words processed since the last call."""


@dataclass(frozen=True, slots=True)
class Job:
    """The settings shared by all shards of a run."""

    folder: Path
    to: str
    columns: Columns = field(default_factory=Columns)
    fields: Sequence[str] = DEFAULT_FIELDS
    singletons: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    schema: Any = None
    """The schema of the output if it is a table."""
    others_as_json: bool = False

    @property
    def shards(self) -> Shards:
        return Shards(self.folder, "." + self.to)


def do_shard(job: Job, resolver: Resolver, number: int, rows: Sequence[Raw], tell: Tell) -> Record:
    """Resolve the rows of a shard, write its file and mark it finished."""
    shards = job.shards
    unfinished = shards.unfinished(number)
    errors: list[dict[str, Any]] = []
    documents = words = entities = told_words = told_rows = 0
    told = time.monotonic()
    with _faults(job.folder), _writer(job, unfinished) as write:
        for done, answer in enumerate(
            resolved(resolver, rows, job.columns, singletons=job.singletons, options=job.options), start=1
        ):
            if isinstance(answer, BadRow):
                errors.append(answer.to_json())
            else:
                write(answer)
                documents += 1
                words += sum(map(len, answer.document.sentences))
                entities += len(answer.document.entities)
            if time.monotonic() - told > _TELL or done == len(rows):
                tell(done - told_rows, words - told_words)
                told, told_rows, told_words = time.monotonic(), done, words
    record = Record(len(rows), documents, words, entities, tuple(errors))
    with _faults(job.folder):
        shards.finish(number, unfinished, record)
    return record


@contextmanager
def _faults(folder: Path) -> Iterator[None]:
    """Raise write errors as ``IncorefError`` that says how to resume."""
    try:
        yield
    except ConnectionError:  # the parent process is gone
        raise
    except OSError as error:
        raise IncorefError(
            f"{folder}: {error.strerror or error}; what is finished is kept: run the same command again to go on"
        ) from error


@contextmanager
def _writer(job: Job, path: Path) -> Iterator[Callable[[Resolved], None]]:
    if job.to == "parquet":
        from incoref.batch.tables import TableWriter

        with TableWriter(path, job.schema, others_as_json=job.others_as_json) as table:
            yield lambda answer: table.write(answer.to_row(job.fields))
        return
    with path.open("w", encoding="utf-8", newline="\n") as file:
        yield lambda answer: print(json_line(answer.to_json(job.fields)), file=file)
