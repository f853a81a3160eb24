"""The HTTP API, without a network: every route, every refusal, what is told and what is not."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient, WebSocketDenialResponse

from incoref.outputs import OutputFormat, rendered
from incoref.outputs.jsonable import document_json
from incoref.resolver import Resolver
from incoref.server.app import create_app
from incoref.server.events import events
from incoref.server.limits import Limits
from incoref.server.memory_store import MemoryStore
from incoref.server.middleware import MiddlewareOptions
from incoref.server.service import SessionService
from incoref.types import Document

TEXT = "Anna saw the old man . He left ."


@pytest.fixture
def service(resolver: Resolver) -> Iterator[SessionService]:
    made = SessionService(resolver, MemoryStore(), Limits(body=5000, text=2000), workers=2)
    yield made
    made.stop()


@pytest.fixture
def api(service: SessionService) -> TestClient:
    return TestClient(create_app(service, MiddlewareOptions(body=5000)), raise_server_exceptions=False)


def begun(api: TestClient, **options: Any) -> str:
    answer = api.post("/v1/sessions", json={"options": options})
    assert answer.status_code == 201
    id: str = answer.json()["id"]
    assert answer.headers["location"] == f"/v1/sessions/{id}"
    return f"/v1/sessions/{id}"


def problem(answer: Any, status: int, name: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = answer.json()
    assert told["type"] == f"urn:incoref:problem:{name}"
    assert told["status"] == status
    assert told["title"] and told["detail"]
    return told


def denied(api: TestClient, path: str, status: int) -> None:
    with pytest.raises(WebSocketDenialResponse) as caught, api.websocket_connect(path):
        pass
    assert caught.value.status_code == status


def test_a_session_from_beginning_to_end(api: TestClient, resolver: Resolver) -> None:
    local = resolver.session()
    path = begun(api)
    answer = api.post(f"{path}/feed", json={"text": TEXT, "speaker": "Carl", "id": "m1", "time": 2.5}).json()
    expected = [update.to_json() for update in local.say(TEXT, "Carl", "m1", time=2.5)]
    for found, update in zip(answer["updates"], expected, strict=True):
        assert {**found, "elapsed_ms": 0}.items() >= {
            **{name: value for name, value in update.items() if name != "mentions"},
            "elapsed_ms": 0,
        }.items()
        for mention, wanted in zip(found["mentions"], update["mentions"], strict=True):
            assert mention.items() >= wanted.items()
    assert (answer["event"], answer["sequence"]) == (1, None)

    assert api.post(f"{path}/feed", json={"text": "She ", "final": False}).json()["updates"] == []
    local.feed("She ")
    assert len(api.post(f"{path}/flush").json()["updates"]) == len(local.flush())

    state = api.get(path).json()
    assert state["id"] == path.rsplit("/", 1)[1]
    assert (state["text"], state["sentences"], state["tokens"]) == (local.text, local.sentences, local.tokens)
    assert state["entities"] == [entity.to_json() for entity in local.entities]
    assert state["resolved_text"] == local.resolved_text()
    assert state["event"] == 3

    twin = api.post(f"{path}/fork").json()["id"]
    assert api.post(f"{path}/undo").json()["sentences"] == 2
    assert api.get(f"/v1/sessions/{twin}").json()["sentences"] == 3

    assert api.delete(path).status_code == 204
    problem(api.get(path), 404, "not-found")
    problem(api.delete(path), 404, "not-found")


def test_words_and_documents(api: TestClient, resolver: Resolver) -> None:
    path = begun(api)
    local = resolver.session()
    words = {"words": ["Do", "n't", "tell", "Anna", "!"], "text": "Don't tell Anna!", "speaker": "Carl"}
    found = api.post(f"{path}/feed", json=words).json()["updates"]
    assert [update["text"] for update in found] == ["Don't tell Anna!"]
    local.say_words(words["words"], "Carl", text="Don't tell Anna!")
    document = resolver.resolve("He saw the man . She left .")
    sentences = [
        {"start": s.start, "end": s.end, "tokens": [[*token[:3]] for token in s.tokens]} for s in document.sentences
    ]
    answer = api.post(f"{path}/read", json={"document": {"text": document.text, "sentences": sentences}})
    assert len(answer.json()["updates"]) == len(local.read(document))
    kept = Document.from_json(api.get(f"{path}/document").json())
    assert kept == local.document()
    wrong = {"text": "Anna left.", "sentences": [{"start": 0, "end": 10, "tokens": [["Ann", 0, 4]]}]}
    problem(api.post(f"{path}/read", json={"document": wrong}), 422, "impossible")
    assert resolver.restore(api.get(f"{path}/save").content).text == local.text


def test_corrections(api: TestClient) -> None:
    path = begun(api)
    one, other = (
        api.post(f"{path}/entities", json={"name": name}).json()["entity"]["id"] for name in ("Anna Kern", "Berta")
    )
    renamed = api.patch(f"{path}/entities/{one}", json={"name": "Anna Weber"}).json()
    assert renamed["entity"]["name"] == "Anna Weber"
    merged = api.post(f"{path}/entities/{one}/merge", json={"other": other}).json()
    assert (merged["entity"]["id"], merged["gone"]) == (one, other)
    problem(api.patch(f"{path}/entities/{other}", json={"name": "x"}), 422, "impossible")
    assert api.delete(f"{path}/entities/{one}?sequence=5").json() == {"gone": one, "event": 5, "sequence": 5}
    assert api.get(path).json()["entities"] == []


def test_mentions_are_taken_out_and_put_back(api: TestClient) -> None:
    path = begun(api)
    api.post(f"{path}/feed", json={"text": "Anna saw the old man . He met her . She left ."})
    first, *others = api.get(path).json()["entities"]
    for other in others:
        api.post(f"{path}/entities/{first['id']}/merge", json={"other": other["id"]})
    (whole,) = api.get(path).json()["entities"]
    one, two, *_, last = ({"start": m["start"], "end": m["end"]} for m in whole["mentions"])
    new = api.post(f"{path}/mentions/detach", json={**last, "sequence": 9}).json()
    assert new["entity"]["mentions"][0]["start"] == last["start"] and new["sequence"] == 9
    part = api.post(f"{path}/entities/{whole['id']}/split", json={"mentions": [one, two]}).json()["entity"]
    assert len(part["mentions"]) == 2
    back = api.post(f"{path}/mentions/reassign", json={**last, "entity": part["id"]}).json()
    assert (back["gone"], len(back["entity"]["mentions"])) == (new["entity"]["id"], 3)
    told = api.post(f"{path}/mentions/detach", json={"start": 1, "end": 2})
    assert "no mention from 1 to 2" in problem(told, 422, "impossible")["detail"]
    problem(api.post(f"{path}/entities/{part['id']}/split", json={"mentions": []}), 422, "invalid")


def test_a_repeated_sequence_gets_the_same_bytes(api: TestClient) -> None:
    path = begun(api)
    first = api.post(f"{path}/feed", json={"text": TEXT, "sequence": 3})
    assert api.post(f"{path}/feed", json={"text": TEXT, "sequence": 3}).content == first.content
    told = problem(api.post(f"{path}/feed", json={"text": "Other .", "sequence": 3}), 409, "sequence-conflict")
    assert told["last"] == 3
    assert api.get(path).json()["sequence"] == 3


def test_resolve_answers_as_the_command(api: TestClient, resolver: Resolver) -> None:
    assert api.post("/v1/resolve", json={"text": TEXT}).json() == document_json(resolver.resolve(TEXT))
    spoken = [{"words": ["Anna", "left", "."], "speaker": "Carl"}, {"text": "I saw her ."}]
    found = api.post("/v1/resolve", json={"utterances": spoken, "singletons": True}).json()
    assert [sentence["speaker"] for sentence in found["sentences"]] == ["Carl", None]
    problem(api.post("/v1/resolve", json={}), 422, "invalid")
    problem(api.post("/v1/resolve", json={"utterances": [{}]}), 422, "invalid")
    assert problem(api.post("/v1/resolve", json={"text": "a" * 2001}), 413, "too-large")["limit"] == 2000


def test_the_decision_on_a_mention(api: TestClient) -> None:
    path = begun(api, trace=True, runners_up=3)
    for text in (TEXT, "She met Carl and the dog ."):
        updates = api.post(f"{path}/feed", json={"text": text}).json()["updates"]
    mention = updates[0]["mentions"][-1]
    told = api.get(f"{path}/decision", params={"start": mention["start"], "end": mention["end"]}).json()
    assert told["mention"]["text"] == mention["text"]
    assert told["candidates"][0] == {
        "entity": mention["entity"],
        "name": told["candidates"][0]["name"],
        "probability": mention["confidence"],
        "chosen": True,
    }
    assert [other["entity"] for other in told["candidates"][1:]] == [o["entity"] for o in mention["runners_up"]]
    assert [token["text"] for token in told["tokens"]] == "She met Carl and the dog .".split()
    text = api.get(path).json()["text"]
    assert all(text[token["start"] : token["end"]] == token["text"] for token in told["tokens"])
    numbers = [token["number"] for token in told["tokens"]]
    assert {step["token"] for step in told["trace"]} == set(numbers)
    for step, following in zip(told["trace"], told["trace"][1:], strict=False):
        if step["action"] == "PUSH":
            assert following["stack"] == [*step["stack"], step["token"]]
        elif step["action"] == "POP":
            assert following["stack"] == step["stack"][:-1]
    problem(api.get(f"{path}/decision", params={"start": 0, "end": 999}), 404, "not-found")


@pytest.mark.parametrize("format", ["json", "conll", "conllu", "conllua", "html", "text", "resolved"])
def test_exports_are_those_of_the_command(api: TestClient, resolver: Resolver, format: str) -> None:
    path = begun(api)
    api.post(f"{path}/feed", json={"text": TEXT, "speaker": "Carl"})
    local = resolver.session()
    local.say(TEXT, "Carl")
    view = api.post(f"{path}/share").json()["path"]
    for place in (path, view):
        answer = api.get(f"{place}/export", params={"format": format})
        assert answer.status_code == 200
        assert answer.text == rendered(
            local.document("session", singletons=format == "resolved"), OutputFormat(format)
        )
        everyone = api.get(f"{place}/export", params={"format": format, "singletons": True}).text
        assert everyone == rendered(local.document("session", singletons=True), OutputFormat(format))
        assert answer.headers["content-disposition"].startswith("attachment")
    problem(api.get(f"{path}/export", params={"format": "brat"}), 422, "invalid")


def test_a_decision_in_a_block_of_sentences(api: TestClient) -> None:
    path = begun(api, trace=True, setting="k=3")
    answer = api.post(f"{path}/feed", json={"text": "Anna saw Carl . He met the old man . She left the city ."})
    for update in answer.json()["updates"]:
        for mention in update["mentions"]:
            place = {"start": mention["start"], "end": mention["end"]}
            assert api.get(f"{path}/decision", params=place).json()["mention"]["text"] == mention["text"]


def test_a_shared_view_shows_and_does_nothing_else(api: TestClient) -> None:
    path = begun(api)
    api.post(f"{path}/feed", json={"text": TEXT})
    shared = api.post(f"{path}/share").json()
    view = api.get(shared["path"]).json()
    state = api.get(path).json()
    assert view == {name: value for name, value in state.items() if name not in ("id", "sequence", "options")}
    assert path.rsplit("/", 1)[1] not in json.dumps(view)
    assert api.post(f"{shared['path']}/feed", json={"text": "x"}).status_code in (404, 405)
    assert api.delete(shared["path"]).status_code in (404, 405)
    problem(api.post(f"/v1/sessions/{shared['view']}/feed", json={"text": "x"}), 404, "not-found")
    assert api.delete(f"{path}/share").status_code == 204
    problem(api.get(shared["path"]), 404, "not-found")


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"text": 7}, "text"),
        ({"text": "a", "final": "yes"}, "final"),
        ({"text": "a", "sequence": -1}, "sequence"),
        ({"text": "a", "unknown": 1}, "unknown"),
        ({"text": "a", "speaker": "x" * 501}, "speaker"),
        ({}, "text"),
        ({"words": ["a"], "final": False}, "words"),
        ({"text": "a", "final": False, "id": 1}, "id"),
    ],
)
def test_what_does_not_follow_the_schema_is_named(api: TestClient, body: dict[str, Any], place: str) -> None:
    told = problem(api.post(f"{begun(api)}/feed", json=body), 422, "invalid")
    assert place in told["detail"]


def test_any_text_can_be_said(api: TestClient) -> None:
    path = begun(api)
    for text in ("", " ", "\x00", "\ud800 half", "\U0001f600 .", "a\r\nb", "\u2028"):
        body = json.dumps({"text": text}).encode()
        answer = api.post(f"{path}/feed", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 200, text
    assert "\ud800 half" in api.get(path).json()["text"]


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b'{"text": NaN}', b'{"text": "a", "time": Infinity}', b"\xff", b"null"]
)
def test_a_body_that_is_no_request_is_refused(api: TestClient, content: bytes) -> None:
    path = begun(api)
    answer = api.post(f"{path}/feed", content=content, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_bodies_are_capped_before_they_are_read(api: TestClient) -> None:
    path = begun(api)
    headers = {"content-type": "application/json", "content-length": "5001"}
    assert problem(api.post(f"{path}/feed", content=b"{}", headers=headers), 413, "too-large")["limit"] == 5000

    received, sent = 0, []

    async def receive() -> dict[str, Any]:
        nonlocal received
        received += 100
        return {"type": "http.request", "body": b" " * 100, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": f"{path}/feed", "headers": [(b"host", b"here")]}
    asyncio.run(api.app(scope, receive, send))  # a body of unknown length that never ends
    assert sent[0]["status"] == 413
    assert received == 5100


def test_other_media_types_are_refused(api: TestClient) -> None:
    answer = api.post(f"{begun(api)}/feed", content=b'{"text": "a"}', headers={"content-type": "text/plain"})
    problem(answer, 415, "media-type")


def test_pages_of_other_sites_are_refused(api: TestClient, service: SessionService) -> None:
    foreign = {"origin": "https://elsewhere.example"}
    problem(api.post("/v1/sessions", headers=foreign), 403, "foreign-origin")
    assert "access-control-allow-origin" not in api.get("/healthz").headers
    assert api.post("/v1/sessions", headers={"origin": "http://testserver"}).status_code == 201
    welcome = TestClient(create_app(service, MiddlewareOptions(origins=frozenset({"https://elsewhere.example"}))))
    answer = welcome.post("/v1/sessions", headers=foreign)
    assert answer.status_code == 201
    assert answer.headers["access-control-allow-origin"] == "https://elsewhere.example"


def test_other_host_names_are_refused(service: SessionService) -> None:
    api = TestClient(create_app(service, MiddlewareOptions(hosts=frozenset({"localhost", "[::1]"}))))
    problem(api.get("/healthz"), 421, "misdirected")
    for host in ("localhost", "localhost:8000", "[::1]:8000", "[::1]"):
        assert api.get("/healthz", headers={"host": host}).status_code == 200
    problem(api.get("/healthz", headers={"host": "localhost.elsewhere.example"}), 421, "misdirected")


def test_with_a_token_only_who_knows_it_is_served(service: SessionService) -> None:
    api = TestClient(create_app(service, MiddlewareOptions(token="sesame")))
    right = {"authorization": "Bearer sesame"}
    problem(api.post("/v1/sessions"), 401, "unauthorized")
    for wrong in ("", "Bearer open", "Basic c2VzYW1l", "Bearer", "Bearer sesame2", "sesame"):
        headers = {"authorization": wrong}
        answer = api.post("/v1/sessions", headers=headers)
        problem(answer, 401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"
        problem(api.get("/metrics", headers=headers), 401, "unauthorized")
    assert api.get("/healthz").status_code == api.get("/readyz").status_code == 200
    assert api.get("/openapi.json").json()["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    id = api.post("/v1/sessions", headers=right).json()["id"]
    view = api.post(f"/v1/sessions/{id}/share", headers=right).json()["path"]
    assert api.get(view).status_code == 200
    problem(api.get(f"/v1/sessions/{id}"), 401, "unauthorized")
    denied(api, f"/v1/sessions/{id}/ws", 401)
    encoded = base64.urlsafe_b64encode(b"sesame").decode().rstrip("=")
    offered = ["incoref.v1", f"incoref.token.{encoded}"]
    with api.websocket_connect(f"/v1/sessions/{id}/ws", subprotocols=offered) as socket:
        assert socket.accepted_subprotocol == "incoref.v1"


def test_a_websocket_answers_sentence_by_sentence(api: TestClient) -> None:
    path = begun(api)
    with api.websocket_connect(f"{path}/ws") as socket:
        socket.send_text("Anna left . He stayed .")
        found = [socket.receive_json() for _ in range(3)]
        assert [message["type"] for message in found] == ["update", "update", "done"]
        assert [message["update"]["text"] for message in found[:2]] == ["Anna left .", "He stayed ."]
        socket.send_json({"text": "She met Carl .", "speaker": "Carl", "sequence": 4})
        assert socket.receive_json()["update"]["speaker"] == "Carl"
        assert socket.receive_json() == {"type": "done", "event": 2, "sequence": 4}
        socket.send_json({"text": "She met Carl . " * 100, "final": False})
        messages = []
        while not messages or messages[-1]["type"] != "done":
            messages.append(socket.receive_json())
        assert len(messages) >= 99
        assert messages[0]["event"] < messages[-1]["event"]
        socket.send_json({"flush": True})
        while socket.receive_json()["type"] != "done":
            pass
        socket.send_json({"text": 5})
        assert socket.receive_json()["kind"] == "urn:incoref:problem:invalid"
        socket.send_json({"text": "Anna .", "sequence": 2})
        refused = socket.receive_json()
        assert (refused["type"], refused["status"]) == ("problem", 409)
        socket.send_bytes(b'{"text": "in bytes ."}')
        assert [socket.receive_json()["type"] for _ in range(2)] == ["update", "done"]
        socket.send_text("7")
        assert socket.receive_json()["update"]["text"] == "7"
    assert api.get(path).json()["sentences"] == 105
    denied(api, "/v1/sessions/unknown/ws", 404)


def test_events_resume_where_they_were_left(api: TestClient, service: SessionService) -> None:
    path = begun(api)
    id = path.rsplit("/", 1)[1]
    answers = [api.post(f"{path}/feed", json={"text": f"Anna {number} ."}).json() for number in range(3)]

    async def heard(after: int) -> list[str]:
        found = []
        async for event in events(service, id, after):
            found.append(event.decode())
            if len(found) == 2 + 3 - after:
                api.delete(path)
            elif len(found) == 1 + 3 - after:
                api.post(f"{path}/undo")
        return found

    retry, *told, undone, end = asyncio.run(heard(1))
    assert retry == "retry: 1000\n\n"
    for event, answer in zip(told, answers[1:], strict=True):
        lines = event.strip().split("\n")
        assert lines[:2] == [f"id: {answer['event']}", "event: updates"]
        assert json.loads(lines[2].removeprefix("data: ")) == answer
    assert undone.startswith("id: 4\nevent: undo\n")
    assert end.startswith("event: end")
    problem(api.get(f"{path}/events"), 404, "not-found")


def test_open_connections_are_bounded(resolver: Resolver) -> None:
    service = SessionService(resolver, MemoryStore(), Limits(streams=1))
    api = TestClient(create_app(service, MiddlewareOptions()))
    path = begun(api)
    with api.websocket_connect(f"{path}/ws"):
        denied(api, f"{path}/ws", 429)
        problem(api.get(f"{path}/events"), 429, "busy")
    with api.websocket_connect(f"{path}/ws"):
        pass
    service.stop()


def test_events_tell_when_what_came_before_is_erased(api: TestClient, service: SessionService) -> None:
    path = begun(api)
    entity = api.post(f"{path}/entities", json={"name": "Anna"}).json()["entity"]["id"]
    api.delete(f"{path}/entities/{entity}")

    async def first(count: int) -> list[bytes]:
        stream = events(service, path.rsplit("/", 1)[1], 0)
        return [await anext(stream) for _ in range(count)]

    names = [event.split(b"\n")[1] for event in asyncio.run(first(3))]
    assert names[1:] == [b"event: reset", b"event: forget"]


def test_metrics_count(api: TestClient) -> None:
    path = begun(api)
    api.post(f"{path}/feed", json={"text": TEXT})
    api.get("/nowhere")
    answer = api.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    feed = "/v1/sessions/{id}/feed"
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert found["incoref_sentences_total",] == 2
    assert found["incoref_tokens_total",] == 9
    assert found["incoref_requests_total", ("method", "POST"), ("route", feed), ("status", "200")] == 1
    assert found["incoref_request_seconds_bucket", ("le", "+Inf"), ("route", feed)] == 1
    assert found["incoref_command_seconds_count",] > 0
    assert found["incoref_sessions",] == 1
    assert found["incoref_evictions_total", ("what", "entity")] == 0
    assert path.rsplit("/", 1)[1] not in answer.text


def test_applications_count_apart(api: TestClient, resolver: Resolver) -> None:
    begun(api)
    other = SessionService(resolver, MemoryStore())
    assert "incoref_sessions 0.0\n" in TestClient(create_app(other)).get("/metrics").text
    other.stop()


def test_nothing_that_was_said_is_logged(
    service: SessionService, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = TestClient(create_app(service, MiddlewareOptions()), raise_server_exceptions=False)
    path = begun(api)
    caplog.set_level(logging.DEBUG)

    def broken(*_: Any) -> None:
        raise ZeroDivisionError("Anna's secret")

    api.post(f"{path}/feed", json={"text": "Anna's secret ."})
    monkeypatch.setattr(service.store, "append", broken)
    problem(api.post(f"{path}/feed", json={"text": "Anna's secret ."}), 500, "internal")
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("incoref")]
    assert any("ZeroDivisionError" in line for line in ours)
    assert not any("secret" in record.getMessage() for record in caplog.records)
    assert not any(path.rsplit("/", 1)[1] in line for line in ours)


def test_every_answer_has_a_strict_content_security_policy(api: TestClient) -> None:
    for path in ("/", "/healthz", "/v1/sessions", "/openapi.json", "/nowhere"):
        policy = api.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy


def test_while_stopping_new_requests_get_503(api: TestClient, service: SessionService) -> None:
    path = begun(api)
    service.stop_taking()
    for answer in (api.post(f"{path}/feed", json={"text": "a"}), api.get(f"{path}/events"), api.post("/v1/sessions")):
        problem(answer, 503, "stopping")
        assert answer.headers["retry-after"] == "1"
    assert api.get("/readyz").status_code == 503
    assert api.get("/healthz").status_code == 200


def test_wrong_methods_and_places_are_problems_too(api: TestClient) -> None:
    problem(api.put("/v1/sessions"), 405, "method-not-allowed")
    problem(api.get("/v1/nowhere"), 404, "not-found")
    problem(api.get("/v1/sessions/short"), 404, "not-found")


def test_the_openapi_document_has_examples_of_every_body(api: TestClient) -> None:
    document = api.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            assert told["summary"], (path, method)
            content = told.get("requestBody", {}).get("content", {}).get("application/json", {})
            references = [
                part["$ref"]
                for part in (content.get("schema", {}), *content.get("schema", {}).get("anyOf", ()))
                if "$ref" in part
            ]
            for reference in references:
                assert schemas[reference.rsplit("/", 1)[1]]["examples"], (path, method)


CHAT = "03/05/2026, 10:01 - Ines: I saw Carl.\n03/05/2026, 10:02 - Omar: Where was he?\nAnd she?\n"


def test_texts_are_recognised(api: TestClient) -> None:
    found = api.post("/v1/recognise", json={"text": CHAT, "name": "chat.txt"}).json()
    assert (found["format"], found["about"]) == ("whatsapp", "chats exported from WhatsApp")
    assert found["turns"] == [
        {"text": "I saw Carl.", "speaker": "Ines", "id": None, "time": "03/05/2026, 10:01"},
        {"text": "Where was he?\nAnd she?", "speaker": "Omar", "id": None, "time": "03/05/2026, 10:02"},
    ]
    plain = {"text": "Anna left.\nHe ran.", "speaker": None, "id": None, "time": None}
    for text, turns in (("Anna left.\r\nHe ran.", [plain]), (" ", []), ("", [])):
        found = api.post("/v1/recognise", json={"text": text}).json()
        assert (found["format"], found["turns"]) == ("text", turns)
    annotated = "#begin document (d); part 000\nd\t0\t0\tAnna\t(1)\nd\t0\t1\tleft\t-\n\n#end document\n"
    found = api.post("/v1/recognise", json={"text": annotated}).json()
    assert [turn["text"] for turn in found["turns"]] == ["Anna left"]


def test_what_is_not_recognised_is_refused_with_what_was_found(api: TestClient) -> None:
    told = problem(api.post("/v1/recognise", json={"text": '{"a": 1}', "name": "a.json"}), 422, "invalid")
    assert told["detail"].startswith("a.json:1: unknown kind of JSON: an object with 'a'")
    session = begun(api)
    problem(api.post(f"{session}/import", json={"text": '{"a": 1}'}), 422, "invalid")
    assert api.get(session).json()["sentences"] == 0


def test_a_text_that_is_only_recognised_may_be_long(api: TestClient) -> None:
    found = api.post("/v1/recognise", json={"text": CHAT * 500}).json()
    assert len(found["turns"]) == 1000
    assert problem(api.post("/v1/recognise", json={"text": "a" * 6_000_000}), 413, "too-large")["limit"] == 6_000_000


@pytest.mark.parametrize("text", ["\ud800: \udc80", "From: a@b.c\nTo: \ud800\nSubject: x\n\n\udfff\n", '["\ud800"]'])
def test_half_characters_are_no_fault_of_the_servers(api: TestClient, text: str) -> None:
    body = json.dumps({"text": text}).encode()
    answer = api.post("/v1/recognise", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (200, 422)


def test_a_chat_is_imported_and_taken_back(api: TestClient) -> None:
    session = begun(api)
    updates = api.post(f"{session}/import", json={"text": CHAT, "sequence": 1}).json()["updates"]
    assert [(update["speaker"], update["text"]) for update in updates] == [
        ("Ines", "I saw Carl."),
        ("Omar", "Where was he?"),
        ("Omar", "And she?"),
    ]
    assert updates[0]["time"] == "03/05/2026, 10:01"
    assert api.post(f"{session}/import", json={"text": CHAT, "sequence": 1}).json()["updates"] == updates
    assert api.post(f"{session}/undo").json()["sentences"] == 0
    assert problem(api.post(f"{session}/import", json={"text": "a" * 2001}), 413, "too-large")["limit"] == 2000
