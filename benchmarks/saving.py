"""Measure the size of saves, and the time to save and restore.

    python benchmarks/saving.py MODEL FILE [--sentences 50 100 200 400]

Feeds the file's text; at each given number of sentences, prints the number of live entities, the save's size with and
without text and mentions, and the minimum CPU time of five saves and five restores.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import incoref


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, nargs="+", default=[50, 100, 200, 400])
    given = parser.parse_args()
    resolver = incoref.load(given.model)
    kept, bare = resolver.session(undo=0), resolver.session(undo=0, history=0)
    text = given.file.read_text(encoding="utf-8")
    print(
        "| sentences | live entities | save, kB | without text and mentions, kB an entity | save, ms | restore, ms |"
    )
    print("|---|---|---|---|---|---|")
    goals = iter(sorted(given.sentences))
    goal = next(goals)
    for start in range(0, len(text), 100):
        kept.feed(text[start : start + 100])
        bare.feed(text[start : start + 100])
        if kept.sentences >= goal:
            data, core = kept.save(), bare.save()
            entities = len([entity for entity in bare.entities if not entity.mentions])
            saving, restoring = _least(kept.save), _least(lambda data=data: resolver.restore(data))
            print(
                f"| {kept.sentences} | {entities} | {len(data) / 1000:.0f} | {len(core) / entities / 1000:.2f} "
                f"| {saving:.0f} | {restoring:.0f} |",
                flush=True,
            )
            goal = next(goals, 0)
            if not goal:
                break


def _least(call: Callable[[], object]) -> float:
    """Return the minimum CPU time in milliseconds."""
    times = []
    for _ in range(5):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return min(times) * 1000


if __name__ == "__main__":
    main()
