"""How long ``import incoref`` takes, over a Python that starts and does nothing.

    python benchmarks/import_time.py [--runs 20]

Each run is a fresh process; the quickest counts, since other work on the machine only ever adds.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

PROGRAMS = {"python": "pass", "import incoref": "import incoref", "import incoref.cli": "import incoref.cli"}


def milliseconds(program: str, runs: int) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    bare = milliseconds(PROGRAMS["python"], runs)
    print("| | ms | over bare Python |")
    print("|---|---|---|")
    for name, program in PROGRAMS.items():
        taken = milliseconds(program, runs)
        print(f"| {name} | {taken:.0f} | {taken - bare:+.0f} |")


if __name__ == "__main__":
    main()
