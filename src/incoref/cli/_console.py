"""Bytes in and out as people expect of a tool in a pipe: UTF-8, quiet when interrupted or when nobody reads on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

STDIN = "-"
INTERRUPTED, NOBODY_READS = 130, 141
"""Exit codes: what a shell says of a program that SIGINT or SIGPIPE ended."""


def put(text: str) -> None:
    """Write to standard output as UTF-8, at once; half of a surrogate pair becomes a question mark."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """Tell people something that programs need not know."""
    print(f"incoref: {text}", file=sys.stderr, flush=True)


@contextmanager
def quiet_end() -> Iterator[None]:
    """End without a word on Ctrl-C and when standard output is closed."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # What is still buffered has nowhere to go, and Python would complain of that when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(NOBODY_READS) from None
