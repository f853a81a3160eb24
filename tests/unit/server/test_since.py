"""The state of a session from one sentence on: what followers who know the rest need, no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from incoref.resolver import Resolver
from incoref.server.app import create_app
from incoref.server.memory_store import MemoryStore
from incoref.server.service import SessionService


@pytest.fixture(scope="module")
def api(resolver: Resolver) -> Iterator[TestClient]:
    service = SessionService(resolver, MemoryStore())
    yield TestClient(create_app(service))
    service.stop()


def begun(api: TestClient, **options: Any) -> str:
    path = f"/v1/sessions/{api.post('/v1/sessions', json={'options': options}).json()['id']}"
    api.post(f"{path}/feed", json={"text": "Anna saw the old man . He left .", "speaker": "Carl"})
    api.post(f"{path}/feed", json={"text": "\n\nShe met  him . They walked", "final": False})
    return path


def test_parts_from_every_sentence_make_up_the_whole(api: TestClient) -> None:
    path = begun(api)
    whole = api.get(path).json()
    assert [whole["text"][line["start"] : line["end"]] for line in whole["lines"]] == [
        "Anna saw the old man .",
        "He left .",
        "She met  him .",
    ]
    assert [line["speaker"] for line in whole["lines"]] == ["Carl", "Carl", None]
    for since in range(1, 5):
        part = api.get(path, params={"since": since}).json()
        known = whole["lines"][min(since, 3) - 1]["end"]
        assert (part["text_start"], part["text"]) == (known, whole["text"][known:])
        assert part["lines"] == whole["lines"][since:]
        assert (part["sentences"], part["event"], part["resolved_text"]) == (3, whole["event"], None)
        later = [
            {**entity, "mentions": [mention for mention in entity["mentions"] if mention["sentence"] >= since]}
            for entity in whole["entities"]
        ]
        assert part["entities"] == [entity for entity in later if entity["mentions"]]


def test_a_shared_session_tells_the_same(api: TestClient) -> None:
    path = begun(api)
    view = api.post(f"{path}/share").json()["path"]
    for since in (0, 2):
        own, shared = (api.get(place, params={"since": since}).json() for place in (path, view))
        assert shared == {name: value for name, value in own.items() if name not in ("id", "sequence", "options")}


def test_what_is_no_longer_kept_is_not_told(api: TestClient) -> None:
    path = begun(api, history=1)
    whole, part = (api.get(path, params={"since": since}).json() for since in (0, 1))
    assert whole["sentences"] == 3 and len(whole["lines"]) == 1
    assert part["lines"] == whole["lines"] and part["text"] == whole["text"]
    line, start = whole["lines"][0], whole["text_start"]
    assert whole["text"][line["start"] - start : line["end"] - start] == "She met  him ."


def test_the_answer_to_text_can_bring_the_state(api: TestClient) -> None:
    path = begun(api)
    fed = api.post(f"{path}/feed", params={"since": 2}, json={"text": " home. She", "final": False}).json()
    assert fed["state"] == api.get(path, params={"since": 2}).json()
    assert [line["speaker"] for line in fed["state"]["lines"]] == [None, None]
    flushed = api.post(f"{path}/flush", params={"since": 0}).json()
    assert flushed["state"] == api.get(path).json()
    assert flushed["state"]["event"] == flushed["event"] == fed["event"] + 1
    assert "state" not in api.post(f"{path}/feed", json={"text": "He left."}).json()
