"""Measure the time a session takes for text whose sentences, or words, never end.

    python benchmarks/hard_input.py [--words 20000] [--characters 1000000]

Each row doubles the input; if CPU time doubles too, it is linear.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import incoref

_PHRASE = "the old man and his dog saw a house near the river where Anna met her sister while they waited for him and"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--characters", type=int, default=1_000_000)
    given = parser.parse_args()
    resolver = incoref.load()
    words = _PHRASE.split() * (given.words // len(_PHRASE.split()) + 1)
    print("| input | seconds | sentences | with a warning | mentions |\n|---|---|---|---|---|")
    for count in (given.words // 8, given.words // 4, given.words // 2, given.words):
        text = " ".join(words[:count])
        _measure(f"{count:,} words without a full stop", lambda text=text: resolver.session().say(text))
    for count in (given.words // 4, given.words // 2):
        known = words[:count]
        _measure(f"{count:,} words as one sentence", lambda known=known: resolver.session().say_words(known))
    for count in (given.characters // 4, given.characters):
        _measure(f"{count:,} letters without a space", lambda count=count: resolver.session().say("a" * count))


def _measure(name: str, say: Callable[[], list[incoref.Update]]) -> None:
    started = time.process_time()
    updates = say()
    seconds = time.process_time() - started
    warned = sum(bool(update.warnings) for update in updates)
    mentions = sum(len(update.mentions) for update in updates)
    print(f"| {name} | {seconds:.1f} | {len(updates)} | {warned} | {mentions:,} |", flush=True)


if __name__ == "__main__":
    main()
