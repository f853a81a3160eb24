"""Compare the speed of two builds, code and model, for single sentences in one run.

    python benchmarks/builds.py BEFORE AFTER [--rounds 20] [--models MODEL MODEL]

BEFORE and AFTER are checkouts. A process of each, on the same processors, measures in turn, so that other load
affects both. Prints the processor time of the encoder alone and of ``session.say``, which includes it, for sentences
of several lengths that follow seven short ones: minimum and median of all rounds, and the ratios of the two builds.
--models reads other model folders than those the checkouts ship.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

EARLIER = (
    "Anna called Ben in the morning. She asked him to bring the notes of the meeting. The captain saw them at the "
    "harbour. His daughter liked the ship. Ben said that he would come. The storm was strong. The crew feared it."
)
LONGEST = (
    "The old captain told his daughter that the ship would leave the harbour early because the storm was coming "
    "closer and the crew of the other ship, which Anna and her brother had seen in the morning, was afraid of it"
)
LENGTHS = (5, 10, 20, 39)
REPEATS = 8
"""Times that a sentence is read in a row, as most of the weights would else belong to the other build."""


def work(model: str | None) -> None:
    """Answer each line of the input with the processor times of all measurements, by name."""
    import incoref
    from incoref.model.subwords import Utterance, joined

    resolver = incoref.load(model)
    session = resolver.session(undo=0)
    session.say(EARLIER)
    encoder = resolver.model.encoder
    ways: dict[str, Callable[[], object]] = {}
    for length in LENGTHS:
        words = LONGEST.split()[:length]
        block = joined([part for _, part in resolver.model.blocks([Utterance(tuple(words))])[0]]).ids
        text = f"{' '.join(words)}."
        ways[f"encoder {length}"] = lambda block=block: encoder.encode(block, encoder.start())
        ways[f"say {length}"] = lambda text=text: session.fork().say(text)
    for _ in sys.stdin:
        times = {}
        for name, way in ways.items():
            way()
            times[name] = [_seconds(way) for _ in range(REPEATS)]
        print(json.dumps(times), flush=True)


def _seconds(way: Callable[[], object]) -> float:
    started = time.process_time()
    way()
    return time.process_time() - started


def worker(checkout: Path, model: str | None) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--work", *([model] if model else [])]
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2] if len(sys.argv) > 2 else None)
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--models", nargs=2, default=(None, None))
    chosen = parser.parse_args()
    checkouts = (chosen.before, chosen.after)
    workers = [worker(checkout, model) for checkout, model in zip(checkouts, chosen.models, strict=True)]
    times: list[dict[str, list[float]]] = [{} for _ in workers]
    for _ in range(chosen.rounds):
        for process, found in zip(workers, times, strict=True):
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            for name, seconds in json.loads(process.stdout.readline()).items():
                found.setdefault(name, []).extend(seconds)
    for process in workers:
        process.communicate()
    print(f"load of the machine: {os.getloadavg()[0]:.1f}\n")
    print("| words | before, ms: minimum, median | after, ms: minimum, median | after / before |")
    print("|---|---|---|---|")
    for name in times[0]:
        rows = [(min(found[name]), statistics.median(found[name])) for found in times]
        cells = [f"{1000 * least:.2f}, {1000 * middle:.2f}" for least, middle in rows]
        ratios = ", ".join(f"{after / before:.3f}" for before, after in zip(*rows, strict=True))
        print(f"| {name} | {' | '.join(cells)} | {ratios} |")


if __name__ == "__main__":
    main()
