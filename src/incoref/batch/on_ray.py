"""Processes shards on a Ray cluster, which starts the workers, distributes shards and replaces failed workers.

All machines must see the input and output folders under the same paths.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from incoref.batch.processes import Task
from incoref.batch.shards import Record
from incoref.batch.sources import Raw
from incoref.batch.work import Job, Tell, do_shard
from incoref.errors import IncorefError, MissingExtra
from incoref.resolver import load


class _Worker:
    def __init__(self, job: Job, model: str | None) -> None:
        self._job, self._resolver = job, load(model)

    def do(self, number: int, rows: list[Raw]) -> tuple[int, Record]:
        return number, do_shard(self._job, self._resolver, number, rows, lambda rows, words: None)


def _absolute(row: Raw) -> Raw:
    return replace(row, value=row.value.absolute()) if isinstance(row.value, Path) else row


def on_ray(
    job: Job, model: str | None, tasks: Iterator[Task], tell: Tell, workers: int, address: str
) -> Iterator[tuple[int, Record]]:
    """Yield finished shards as they complete, from this many workers with one processor each."""
    try:
        import ray
        from ray.util import ActorPool
    except ImportError as error:
        raise MissingExtra("ray", "ray", "incoref batch --ray") from error
    job = replace(job, folder=job.folder.absolute())  # workers have a different working directory
    model = None if model is None else str(Path(model).absolute())
    ours = not ray.is_initialized()
    if ours:
        try:
            ray.init(address=address, log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise IncorefError(f"{address}: no Ray cluster answers there: {error}") from error
    try:
        worker: Any = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Worker)
        pool = ActorPool([worker.remote(job, model) for _ in range(workers)])

        def submit() -> None:
            task = next(tasks, None)
            if task is not None:
                number, rows = task
                pool.submit(lambda actor, rows: actor.do.remote(number, rows), list(map(_absolute, rows)))

        for _ in range(workers + 1):  # one in reserve
            submit()
        while pool.has_next():
            number, record = pool.get_next_unordered()
            tell(record.rows, record.words)
            submit()
            yield number, record
    except ray.exceptions.RayError as error:
        raise IncorefError(f"a worker on Ray failed: {error}") from error
    finally:
        if ours:
            ray.shutdown()
