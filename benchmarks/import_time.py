"""Measure how long ``import incoref`` takes, compared to starting Python without it.

    python benchmarks/import_time.py [--runs 20]

Each run is a new process. Prints the minimum CPU time of all runs, as other load can only increase it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

PROGRAMS = {"python": "pass", "import incoref": "import incoref", "import incoref.cli": "import incoref.cli"}


def processor_seconds() -> float:
    """Return the CPU time of all finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def milliseconds(program: str, runs: int) -> float:
    times = []
    for _ in range(runs):
        start = processor_seconds()
        subprocess.run([sys.executable, "-c", program], check=True)
        times.append(processor_seconds() - start)
    return 1000 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    times = {name: milliseconds(program, runs) for name, program in PROGRAMS.items()}
    print("| | ms | over bare Python |")
    print("|---|---|---|")
    for name, taken in times.items():
        print(f"| {name} | {taken:.0f} | {taken - times['python']:+.0f} |")


if __name__ == "__main__":
    main()
