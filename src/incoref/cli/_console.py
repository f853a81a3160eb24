"""Bytes in and out as people expect of a tool in a pipe: UTF-8, quiet when interrupted or when nobody reads on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from incoref.errors import IncorefError

STDIN = "-"
INTERRUPTED, NOBODY_READS = 130, 141
"""Exit codes: what a shell says of a program that SIGINT or SIGPIPE ended."""


def decoded(data: bytes, name: str, line: int = 1) -> str:
    """The text of bytes that are UTF-8, without a byte order mark; ``line`` is that of the first."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise IncorefError(
            f"{name}:{line}: not UTF-8 at byte {error.start} (0x{data[error.start]:02x}); convert it first, for "
            "example with: iconv -f LATIN1 -t UTF-8"
        ) from error


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
