"""The steps of the transition system, as the paper's table shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import incoref
from incoref.model.transitions import Action, apply, oracle, start
from incoref.outputs.schemas import schema
from incoref.outputs.tracing import rows
from incoref.resolver import Resolver
from incoref.session.updates import TraceStep, Update
from incoref.types import Mention
from tiny_models import random_document

WORDS = "Auto workers ended their strike".split()


def worked_example() -> Update:
    """The paper's: {Auto workers, their} {their strike}."""
    spans = {(0, 2): "1", (3, 4): "1", (3, 5): "2"}
    starts = [0, 5, 13, 19, 25]
    mentions = tuple(
        Mention(
            starts[first], starts[end - 1] + len(WORDS[end - 1]), " ".join(WORDS[first:end]), (first, end), 0, entity
        )
        for (first, end), entity in spans.items()
    )
    state, steps = start(5), []
    for action in oracle([(first, end - 1) for first, end in spans], 5):
        top = state.stack.top if state.stack else None
        found = (top, state.position + 1) if action in (Action.POP, Action.PEEK) and top is not None else None
        steps.append(TraceStep(action.name, state.position, ((action.name, 0.5),), found))
        state = apply(state, action)
    return Update(0, " ".join(WORDS), 0, 31, None, None, mentions, 1.0, trace=tuple(steps))


def test_the_worked_example() -> None:
    table = [
        (r.action, " ".join(r.stack), " ".join(r.buffer), [c for _, c in r.clusters])
        for r in rows([worked_example()], WORDS)
    ]
    workers, both = ("Auto workers",), ("Auto workers", "their")
    assert table == [
        ("PUSH", "Auto", "Auto workers ended their strike", []),
        ("ADVANCE", "Auto", "workers ended their strike", []),
        ("POP", "", "workers ended their strike", [workers]),
        ("ADVANCE", "", "ended their strike", [workers]),
        ("ADVANCE", "", "their strike", [workers]),
        ("PUSH", "their", "their strike", [workers]),
        ("PEEK", "their", "their strike", [both]),
        ("ADVANCE", "their", "strike", [both]),
        ("POP", "", "strike", [both, ("their strike",)]),
        ("ADVANCE", "", "", [both, ("their strike",)]),
    ]


def test_steps_have_numbers_probabilities_and_what_they_found() -> None:
    pop = list(rows([worked_example()], WORDS))[2].to_json()
    assert (pop["step"], pop["probability"], pop["probabilities"]) == (3, 0.5, {"POP": 0.5})
    assert pop["mention"]["text"] == "Auto workers"
    assert pop["clusters"] == [{"entity": "1", "mentions": ["Auto workers"]}]


@pytest.mark.parametrize("setting", ["sent-inc", "k=3", "part-inc"])
def test_every_mention_of_a_model_is_found_once(resolver: Resolver, setting: str) -> None:
    session = resolver.session(trace=True, setting=setting)
    updates = session.read(random_document(12, seed=5))
    words = [token.text for token in session.document().tokens]
    table = list(rows(updates, words))
    found = sorted(row.mention.tokens for row in table if row.mention is not None)
    assert found == sorted(mention.tokens for update in updates for mention in update.mentions)
    assert sum(row.action == "ADVANCE" for row in table) == len(words)
    assert not table[-1].stack
    assert [row.step for row in table] == list(range(1, len(table) + 1))


def enums(part: Any) -> Iterator[list[str]]:
    """Every list of allowed values in a schema."""
    if isinstance(part, dict):
        if "enum" in part:
            yield part["enum"]
        for inner in part.values():
            yield from enums(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from enums(inner)


def test_schemas_server_and_page_know_the_actions_of_the_transition_system() -> None:
    """A new action, or another name, that one of them doesn't know fails here."""
    from incoref.server.schemas import TraceStep

    names = [action.name for action in Action]
    for allowed in (*enums(schema("trace")), *enums(schema("stream"))):
        assert allowed == names
    assert TraceStep.model_json_schema()["properties"]["action"]["enum"] == names
    page = Path(incoref.__file__).parent / "server" / "page" / "decision.js"
    described = page.read_text(encoding="utf-8").split("const DOES = {")[1].split("};")[0]
    assert sorted(re.findall(r"^  ([A-Z]+):", described, re.MULTILINE)) == sorted(names)
