"""Check that a session's memory stays constant over a long stream.

    python benchmarks/long_stream.py MODEL FILE... [--tokens 1000000] [--eviction dual] [--history 100]
    python benchmarks/long_stream.py MODEL FILE... --utterances 1000000

Feeds the files' text repeatedly, with names changed in each round so that new entities keep appearing, and regularly
prints the process's memory, the size of the state and the speed. With --utterances, two speakers alternate in saying
the files' lines.
"""

from __future__ import annotations

import argparse
import itertools
import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import incoref


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--utterances", type=int)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--eviction", default="dual")
    parser.add_argument("--max-entities", type=int)
    parser.add_argument("--history", type=int, default=100)
    given = parser.parse_args()
    session = incoref.load(given.model).session(
        eviction=given.eviction, max_entities=given.max_entities, history=given.history
    )
    if given.utterances:
        _say(session, given.files, given.utterances, given.rows)
    else:
        _feed(session, given.files, given.tokens, given.rows)


def _feed(session: incoref.Session, files: list[Path], wanted: int, of_rows: int) -> None:
    print("| tokens | resident memory, MB | save, kB | entities founded | tokens a second |")
    print("|---|---|---|---|---|")
    done, tokens, founded, rows, started = 0, 0, 0, 0, time.process_time()
    for piece in _stream(files):
        for update in session.feed(piece):
            founded += sum(mention.new or 0 for mention in update.mentions)
            tokens += len(re.findall(r"\w+|[^\w\s]", update.text))
        if tokens >= (rows + 1) * wanted / of_rows:
            rows += 1
            seconds, started = time.process_time() - started, time.process_time()
            speed, done = (tokens - done) / seconds, tokens
            row = f"| {tokens} | {_resident():.0f} | {len(session.save()) / 1000:.0f} | {founded} | {speed:.0f} |"
            print(row, flush=True)
        if tokens >= wanted:
            break


def _say(session: incoref.Session, files: list[Path], wanted: int, of_rows: int) -> None:
    print("| utterances | resident memory, MB | save, kB | ms an utterance |\n|---|---|---|---|")
    lines = itertools.cycle([line for file in files for line in file.read_text(encoding="utf-8").splitlines()])
    speakers = itertools.cycle(("Anna", "Ben"))
    a_row, started = wanted // of_rows, time.process_time()
    for said in range(1, wanted + 1):
        session.say(next(lines), next(speakers))
        if said % a_row == 0:
            milliseconds = 1000 * (time.process_time() - started) / a_row
            saved = len(session.save()) / 1000
            print(f"| {said} | {_resident():.0f} | {saved:.0f} | {milliseconds:.2f} |", flush=True)
            started = time.process_time()


def _stream(files: list[Path]) -> Iterator[str]:
    """Yield the files' text in pieces; capitalised words get a different suffix in every round."""
    texts = [file.read_text(encoding="utf-8") for file in files]
    for number in itertools.count():
        ending = "".join(chr(97 + int(digit)) for digit in str(number)) if number else ""
        for text in texts:
            changed = re.sub(r"\b([A-Z][a-z]{3,})\b", lambda found, e=ending: found[1] + e, text)
            for start in range(0, len(changed), 500):
                yield changed[start : start + 500]


def _resident() -> float:
    """Return the process's current memory in megabytes, or its peak if the system doesn't report that."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    main()
