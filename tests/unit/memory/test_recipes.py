"""Which facts end up at the right entity, without coreference, with chunks resolved alone, and with a memory.

Three cases as people meet them: a graph built from chunks (GraphRAG-SDK), extractions whose chunks end anywhere
(langextract, issue 230), and an agent's memory built turn by turn (Graphiti, issue 1171). What a language model would
extract is found by a pattern here: a name or a pronoun, a verb, and what it governs. With the packaged model; the
table in docs/agents.md is what these tests count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import incoref

PAGE = Path(__file__).resolve().parents[3] / "docs" / "agents.md"
NAME = r"[A-Z]\w+(?: [A-Z]\w+)*"
PRONOUN = r"[Hh]e|[Ss]he|[Ii]t|[Tt]hey"
VERBS = "advises founded founds joined leads lives met moved plays repairs sold studied teaches treats has".split()
FACT = re.compile(
    rf"\b(?P<subject>{PRONOUN}|{NAME})(?: also)? (?P<verb>{'|'.join(VERBS)})"
    rf"(?: in| to| a friend named)?(?: the| its)? (?P<object>{NAME}|\w+)"
)

Fact = tuple[str, str, str]
Resolve = Callable[[str, str | None], incoref.Passage]


@dataclass(frozen=True)
class Case:
    title: str
    chunks: Sequence[tuple[str, str | None]]
    """With who speaks."""
    facts: frozenset[Fact]


GRAPH = Case(
    "a graph from chunks",
    [
        ("Anna Kern founded Helio in Berlin in 2014. She sold Helio to Norbank two years later.", None),
        ("She advises Norbank today. Tom Weber works for her.", None),
        ("He joined Norbank in 2016. He leads the office in Hamburg.", None),
    ],
    frozenset(
        [
            ("Anna Kern", "founded", "Helio"),
            ("Anna Kern", "sold", "Helio"),
            ("Anna Kern", "advises", "Norbank"),
            ("Tom Weber", "joined", "Norbank"),
            ("Tom Weber", "leads", "office"),
        ]
    ),
)
BORDERS = Case(
    "extractions from chunks that end anywhere",
    [
        ("Maria Santos is a surgeon at the Linden Clinic. She treats children, and in her free time", None),
        (" she teaches swimming. She studied in Lisbon and moved", None),
        (" to Bremen in 2009. Her husband, Paul Weber,", None),
        (" is a musician. He repairs violins.", None),
    ],
    frozenset(
        [
            ("Maria Santos", "treats", "children"),
            ("Maria Santos", "teaches", "swimming"),
            ("Maria Santos", "studied", "Lisbon"),
            ("Paul Weber", "repairs", "violins"),
        ]
    ),
)
TURNS = Case(
    "an agent's memory from turns",
    [
        ("My friend John moved to Lisbon last year.", "user"),
        ("He also has a friend named Mike.", "user"),
        ("What does Mike do?", "assistant"),
        ("He teaches physics.", "user"),
    ],
    frozenset(
        [
            ("John", "moved", "Lisbon"),
            ("John", "has", "Mike"),
            ("Mike", "teaches", "physics"),
        ]
    ),
)
CASES = (GRAPH, BORDERS, TURNS)


@pytest.fixture(scope="module")
def resolver() -> incoref.Resolver:
    return incoref.load()


def as_it_is(text: str, speaker: str | None) -> incoref.Passage:
    return incoref.Passage(None, text, text, speaker=speaker)


def ways(resolver: incoref.Resolver) -> dict[str, Resolve]:
    """How a chunk can be resolved before facts are taken from it."""
    memory = incoref.Memory(resolver, mentions="all")
    return {
        "without coreference": as_it_is,
        "each chunk alone": lambda text, speaker: incoref.Memory(resolver, mentions="all").add(text, speaker=speaker),
        "with a memory": lambda text, speaker: memory.add(text, speaker=speaker),
    }


def facts_of(case: Case, resolve: Resolve) -> Iterator[tuple[Fact, incoref.Passage, tuple[int, int]]]:
    """Facts, with their passage and where they stand in it; what nobody is known to have done, the speaker did."""
    for text, speaker in case.chunks:
        passage = resolve(text, speaker)
        for found in FACT.finditer(passage.text):
            subject = found["subject"]
            if speaker and re.fullmatch(PRONOUN, subject):
                subject = speaker
            yield (subject, found["verb"], found["object"]), passage, found.span()


def right_and_wrong(case: Case, resolve: Resolve) -> tuple[int, int]:
    found = [fact for fact, _, _ in facts_of(case, resolve)]
    return sum(fact in case.facts for fact in found), sum(fact not in case.facts for fact in found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_memory_puts_facts_at_the_right_entity(case: Case, resolver: incoref.Resolver) -> None:
    counts = {way: right_and_wrong(case, resolve) for way, resolve in ways(resolver).items()}
    assert counts["with a memory"] == (len(case.facts), 0)
    assert counts["each chunk alone"][0] < len(case.facts)
    row = " | ".join([case.title, str(len(case.facts)), *(f"{right} / {wrong}" for right, wrong in counts.values())])
    assert f"| {row} |" in PAGE.read_text(encoding="utf-8")


def test_an_extraction_is_found_in_the_chunk_as_it_was(resolver: incoref.Resolver) -> None:
    *_, last = facts_of(BORDERS, ways(resolver)["with a memory"])
    _, passage, place = last
    start, end = passage.to_original(*place)
    assert (passage.text[slice(*place)], passage.original[start:end]) == (
        "Paul Weber repairs violins",
        "He repairs violins",
    )


def test_a_turn_whose_pronoun_is_unknown_makes_a_wrong_edge() -> None:
    """What the case is about: without a memory, "He" becomes the speaker."""
    assert ("user", "has", "Mike") in [fact for fact, _, _ in facts_of(TURNS, as_it_is)]
