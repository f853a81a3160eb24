"""The exceptions that incoref raises deliberately.

Each message says where the error is, what is wrong and how to fix it; the command-line tool prints just the message
and exits with 1. Any other exception that escapes is a bug.
"""

from __future__ import annotations

from pathlib import Path


class IncorefError(Exception):
    """Base class of all errors that incoref raises deliberately."""


class FormatError(IncorefError):
    """A file that is not valid in its format: gives the file, the line (from 1) and the fault."""

    def __init__(self, fault: str, *, path: Path | str | None = None, line: int | None = None) -> None:
        self.fault = fault
        self.path = None if path is None else str(path)
        self.line = line
        place = ":".join(str(part) for part in (self.path, line) if part is not None)
        super().__init__(f"{place}: {fault}" if place else fault)


class MissingExtra(IncorefError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed. "
            f"Install it with: pip install 'incoref[{extra}]'"
        )
