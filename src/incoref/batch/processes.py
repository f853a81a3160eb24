"""Processes shards in several processes on this machine, which share the model's weights if they can be forked.

A worker exits with its parent, so a killed run leaves no processes behind.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import IO, Any

from incoref.batch.shards import Record
from incoref.batch.sources import Raw
from incoref.batch.work import Job, Tell, do_shard
from incoref.errors import IncorefError
from incoref.resolver import Resolver, load

Task = tuple[int, list[Raw]]
"""A shard's number and its rows."""


def in_this_process(job: Job, resolver: Resolver, tasks: Iterator[Task], tell: Tell) -> Iterator[tuple[int, Record]]:
    for number, rows in tasks:
        yield number, do_shard(job, resolver, number, rows, tell)


def in_processes(
    job: Job,
    resolver: Resolver,
    tasks: Iterator[Task],
    tell: Tell,
    workers: int,
    lock: IO[bytes],
    *,
    fork: bool,
) -> Iterator[tuple[int, Record]]:
    """Yield finished shards as they complete; each worker processes one at a time.

    ``fork`` promises that the model has no threads, which wouldn't survive a fork.
    """
    forks = fork and sys.platform.startswith("linux")
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    model = resolver if forks else str(resolver.model.folder)
    pipes: list[Connection] = []
    processes: dict[Connection, Any] = {}
    try:
        for _ in range(workers):
            ours, theirs = context.Pipe()
            pipes.append(ours)
            # A forked worker closes what it inherits; otherwise it wouldn't notice that its parent is gone.
            inherited = [*pipes, lock] if forks else []
            process = context.Process(target=_work, args=(job, model, theirs, inherited), daemon=True)
            process.start()
            theirs.close()
            processes[ours] = process
        busy = {pipe for pipe in pipes if _hand_out(pipe, tasks)}
        while busy:
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                kind, *said = _received(pipe, processes[pipe])
                if kind == "progress":
                    tell(*said)
                elif kind == "error":
                    raise IncorefError(said[0])
                else:
                    number, record = said
                    if not _hand_out(pipe, tasks):
                        busy.discard(pipe)
                    yield number, record
    finally:
        for pipe, process in processes.items():
            pipe.close()
            process.terminate()
            process.join()


def _hand_out(pipe: Connection, tasks: Iterator[Task]) -> bool:
    """Give a worker the next shard, if there is one."""
    task = next(tasks, None)
    if task is None:
        return False
    pipe.send(task)
    return True


def _received(pipe: Connection, process: Any) -> Any:
    try:
        return pipe.recv()
    except (EOFError, OSError) as error:
        process.join()
        how = f"by signal {-process.exitcode}" if process.exitcode < 0 else f"with exit code {process.exitcode}"
        raise IncorefError(
            f"a worker process was ended {how}; what is finished is kept: run the same command again to go on. If "
            "memory ran out, take fewer workers"
        ) from error


def _work(job: Job, model: Resolver | str, pipe: Connection, inherited: list[Any]) -> None:
    for end in inherited:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent terminates its workers
    resolver = load(model) if isinstance(model, str) else model
    tell: Callable[[int, int], None] = lambda rows, words: pipe.send(("progress", rows, words))  # noqa: E731
    while True:
        try:
            number, rows = pipe.recv()
            pipe.send(("done", number, do_shard(job, resolver, number, rows, tell)))
        except IncorefError as error:
            pipe.send(("error", str(error)))
        except (EOFError, ConnectionError):
            return  # the parent is gone
