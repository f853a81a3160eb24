"""Check, on whole novels, that each main character remains one entity and isn't merged with others.

For every character, the script finds the model's mentions that use one of the character's unambiguous names. ``kept``
is the share of these mentions in the entity that contains most of them; ``own`` is the share of that entity's listed
names that belong to the character. Each book is read from beginning to end in one session.

    python benchmarks/novels.py FOLDER [--model MODEL]     # FOLDER holds the novels of docs/data.md as plain text
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import incoref

NOVELS: dict[str, dict[str, tuple[str, ...]]] = {
    "105_persuasion": {
        "Anne Elliot": ("anne", "anne elliot", "miss anne", "miss anne elliot"),
        "Frederick Wentworth": (
            "captain wentworth",
            "frederick wentworth",
            "frederick",
            "captain frederick wentworth",
        ),
        "Sir Walter Elliot": ("sir walter", "sir walter elliot"),
        "Lady Russell": ("lady russell",),
        "William Elliot": ("mr elliot",),
        "Louisa Musgrove": ("louisa", "louisa musgrove"),
        "Henrietta Musgrove": ("henrietta",),
        "Captain Benwick": ("captain benwick", "james benwick", "benwick"),
        "Captain Harville": ("captain harville",),
        "Mrs Clay": ("mrs clay",),
        "Admiral Croft": ("admiral croft", "the admiral"),
        "Mrs Croft": ("mrs croft",),
    },
    "120_treasure_island": {
        "Long John Silver": ("silver", "long john", "john silver", "long john silver"),
        "Dr. Livesey": ("dr. livesey", "doctor livesey", "livesey"),
        "Squire Trelawney": ("mr. trelawney", "trelawney", "squire trelawney", "john trelawney"),
        "Captain Smollett": ("captain smollett", "smollett"),
        "Ben Gunn": ("ben gunn", "benjamin gunn"),
        "Israel Hands": ("hands", "israel hands", "israel"),
        "Billy Bones": ("bill", "billy bones", "bones", "mr. bones"),
        "Pew": ("pew",),
        "Black Dog": ("black dog",),
    },
    "174_the_picture_of_dorian_gray": {
        "Dorian Gray": ("dorian", "dorian gray", "mr. gray", "mr. dorian gray"),
        "Lord Henry Wotton": ("lord henry", "lord henry wotton", "harry"),
        "Basil Hallward": ("basil", "basil hallward", "hallward", "mr. hallward"),
        "Sibyl Vane": ("sibyl", "sibyl vane", "miss vane"),
        "James Vane": ("james vane", "james"),
        "Alan Campbell": ("alan campbell", "alan", "campbell"),
        "Lady Narborough": ("lady narborough",),
        "Victor": ("victor",),
    },
}
"""The unambiguous names of each book's main characters, in lower case."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model")
    given = parser.parse_args()
    resolver = incoref.load(given.model)
    for name, characters in NOVELS.items():
        started = time.perf_counter()
        document = resolver.resolve((given.folder / f"{name}.txt").read_text(encoding="utf-8"), scheme="litbank")
        words, seconds = len(document.tokens), time.perf_counter() - started
        owner = {alias: character for character, aliases in characters.items() for alias in aliases}
        entities: dict[str, Counter[str]] = {}
        for mention in document.mentions:
            character = owner.get(" ".join(mention.text.lower().removesuffix("'s").removesuffix("’s").split()))
            if character is not None:
                entities.setdefault(mention.entity, Counter())[character] += 1
        print(f"{name}: {words:,} words, {len(document.entities):,} entities, {words / seconds:,.0f} words/s")
        print(f"  {'character':22} {'names':>6} {'kept %':>7} {'own %':>7}")
        kept_all, own_all = [], []
        for character in characters:
            total = sum(names[character] for names in entities.values())
            largest = max(entities.values(), key=lambda names: names[character])
            kept, own = 100 * largest[character] / max(1, total), 100 * largest[character] / largest.total()
            kept_all.append(kept)
            own_all.append(own)
            print(f"  {character:22} {total:6} {kept:7.1f} {own:7.1f}")
        print(f"  {'mean':22} {'':6} {sum(kept_all) / len(kept_all):7.1f} {sum(own_all) / len(own_all):7.1f}")


if __name__ == "__main__":
    main()
