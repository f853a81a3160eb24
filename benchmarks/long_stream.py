"""Does a session's memory stay flat, however long the stream?

    python benchmarks/long_stream.py MODEL FILE... [--tokens 1000000] [--eviction dual] [--history 100]

Feeds the text of the files over and over, with names changed each time so that new entities never end, and prints
the process's memory, the state's size and the speed every so often.
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
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--eviction", default="dual")
    parser.add_argument("--max-entities", type=int)
    parser.add_argument("--history", type=int, default=100)
    given = parser.parse_args()
    session = incoref.load(given.model).session(
        eviction=given.eviction, max_entities=given.max_entities, history=given.history
    )
    print("| tokens | resident memory, MB | save, kB | entities founded | tokens a second |")
    print("|---|---|---|---|---|")
    done, tokens, founded, rows, started = 0, 0, 0, 0, time.process_time()
    for piece in _stream(given.files):
        for update in session.feed(piece):
            founded += sum(mention.new or 0 for mention in update.mentions)
            tokens += len(re.findall(r"\w+|[^\w\s]", update.text))
        if tokens >= (rows + 1) * given.tokens / given.rows:
            rows += 1
            seconds, started = time.process_time() - started, time.process_time()
            speed, done = (tokens - done) / seconds, tokens
            row = f"| {tokens} | {_resident():.0f} | {len(session.save()) / 1000:.0f} | {founded} | {speed:.0f} |"
            print(row, flush=True)
        if tokens >= given.tokens:
            break


def _stream(files: list[Path]) -> Iterator[str]:
    """The files' text in pieces; in every round capitalised words get another ending."""
    texts = [file.read_text(encoding="utf-8") for file in files]
    for number in itertools.count():
        ending = "".join(chr(97 + int(digit)) for digit in str(number)) if number else ""
        for text in texts:
            changed = re.sub(r"\b([A-Z][a-z]{3,})\b", lambda found, e=ending: found[1] + e, text)
            for start in range(0, len(changed), 500):
                yield changed[start : start + 500]


def _resident() -> float:
    """Megabytes that the process holds now; where the system doesn't say, the most it ever held."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    main()
