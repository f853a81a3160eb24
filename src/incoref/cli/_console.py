"""Output that behaves well in a pipe: UTF-8, and a silent exit on an interrupt or a closed pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

STDIN = "-"
INTERRUPTED, NOBODY_READS = 130, 141
"""Exit codes, as a shell reports them for programs ended by SIGINT and SIGPIPE."""


def put(text: str) -> None:
    """Write UTF-8 to standard output and flush; a lone surrogate becomes a question mark."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """Print a message for people to standard error."""
    print(f"incoref: {text}", file=sys.stderr, flush=True)


@contextmanager
def quiet_end() -> Iterator[None]:
    """Exit silently on Ctrl-C and when standard output is closed."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # Python would print an error at exit about buffered output that can't be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(NOBODY_READS) from None
