"""Sentences of several sessions go through the encoder together, and nobody can tell from the answers."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from incoref.model.encoders import Floats, Ints, StatelessEncoder
from incoref.model.encoders.batching import Batcher
from incoref.resolver import Resolver
from incoref.server import commands
from incoref.server.commands import Say
from incoref.server.memory_store import MemoryStore
from incoref.server.service import SessionService
from tiny_models import random_utterances

if TYPE_CHECKING:
    from tiny_models import TinyModels

SESSIONS, TURNS = 12, 6


def without_time(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in update.items() if name != "elapsed_ms"} for update in updates]


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_sessions_that_wait_are_read_together_and_answered_as_if_alone(
    tiny: TinyModels, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolver = Resolver(tiny.stateless[precision])
    encoder = resolver.model.encoder
    assert isinstance(encoder, StatelessEncoder)
    texts = [[" ".join(u.words) for u in random_utterances(TURNS, seed)] for seed in range(SESSIONS)]
    expected = []
    for dialogue in texts:
        session = resolver.session()
        expected.append([without_time(commands.updates_json(session.say(text))) for text in dialogue])
    companies: list[int] = []

    def slow(blocks: Sequence[Ints]) -> list[Floats]:
        companies.append(len(blocks))
        time.sleep(0.005)  # as long as a real one takes: others come in meanwhile
        return encoder.vectors(blocks)

    monkeypatch.setattr(encoder, "_batcher", Batcher(slow, calls=1, most=128))
    service = SessionService(resolver, MemoryStore(), workers=8)
    try:
        ids = [service.create("me").result() for _ in range(SESSIONS)]
        futures = [
            [service.perform(id, Say(dialogue[turn])) for id, dialogue in zip(ids, texts, strict=True)]
            for turn in range(TURNS)
        ]
        found = [
            [without_time(json.loads(futures[turn][seat].result(60).answer)["updates"]) for turn in range(TURNS)]
            for seat in range(SESSIONS)
        ]
    finally:
        service.stop()
    assert found == expected
    assert max(companies) > 1
