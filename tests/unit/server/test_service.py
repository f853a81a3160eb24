"""The session service without HTTP: order, durability, repeated requests, bounds."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.errors import IncorefError
from incoref.resolver import Resolver
from incoref.server import commands
from incoref.server.commands import (
    Command,
    Detach,
    Feed,
    Flush,
    Forget,
    Introduce,
    Merge,
    Reassign,
    Rename,
    Say,
    SayWords,
    Split,
    Undo,
)
from incoref.server.limits import Limits
from incoref.server.livesession import LiveSession, load, load_archived
from incoref.server.memory_store import MemoryStore
from incoref.server.problems import (
    BUSY,
    FULL,
    IMPOSSIBLE,
    INTERNAL,
    NOT_FOUND,
    OTHER_MODEL,
    SEQUENCE,
    STOPPING,
    STORE,
    TOO_LARGE,
    TOO_MANY_SESSIONS,
    TOO_SLOW,
    Kind,
    Refused,
    refusal,
)
from incoref.server.service import SessionService
from incoref.server.store import NoSession, Record, StoreFailed

if TYPE_CHECKING:
    from tiny_models import TinyModels


@contextmanager
def service_with(resolver: Resolver, store: Any = None, **more: Any) -> Iterator[SessionService]:
    service = SessionService(resolver, store or MemoryStore(), **more)
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture
def service(resolver: Resolver) -> Iterator[SessionService]:
    with service_with(resolver, workers=2) as made:
        yield made


def answer(record: Record) -> dict[str, Any]:
    """What it says, without how long it took."""
    found: dict[str, Any] = json.loads(record.answer)
    for update in found.get("updates", ()):
        del update["elapsed_ms"]
    return found


def state(service: SessionService, id: str) -> tuple[str, list[Any], int]:
    return service.look(id, lambda live: (live.session.text, live.session.entities, live.session.sentences)).result()


def refused(kind: Kind, call: Callable[[], Any]) -> Refused:
    with pytest.raises(IncorefError) as caught:
        call()
    found = refusal(caught.value)
    assert found.kind == kind
    return found


def test_what_is_said_is_answered_as_by_a_local_session(service: SessionService, resolver: Resolver) -> None:
    id = service.create("me").result()
    local = resolver.session()
    for text in ("Anna saw the old man . He left .", "She met him ."):
        record = service.perform(id, Say(text, "Carl", "a", 2)).result()
        updates = commands.updates_json(local.say(text, "Carl", "a", time=2))
        for update in updates:
            del update["elapsed_ms"]
        assert answer(record) == {"updates": updates}
    assert state(service, id) == (local.text, local.entities, local.sentences)


texts = st.lists(st.sampled_from("Anna Carl the old man he she . met saw I 1984 ,".split()), max_size=8).map(" ".join)
entity_ids = st.integers(1, 6).map(str)
places = st.sampled_from((0, 3, 4, 5, 8, 9, 12))
all_commands = st.one_of(
    st.builds(Say, texts, st.sampled_from((None, "Anna"))),
    st.builds(Say, texts, st.sampled_from((None, "Anna"))),
    st.builds(Feed, texts.map(lambda text: text + " "), st.sampled_from((None, "Carl"))),
    st.builds(SayWords, st.lists(st.sampled_from(("Anna", "met", "him")), min_size=1, max_size=4)),
    st.just(Flush()),
    st.just(Undo()),
    st.just(Undo()),
    st.builds(Introduce, st.sampled_from(("Carl", "the dog")), st.none(), st.none() | st.just("Anna")),
    st.builds(Rename, entity_ids, st.just("Berta")),
    st.builds(Merge, entity_ids, entity_ids),
    st.builds(Detach, places, places),
    st.builds(Reassign, places, places, entity_ids),
    st.builds(Split, entity_ids, st.lists(st.tuples(places, places).map(list), max_size=2)),
    st.builds(Forget, entity_ids),
)
CRASH, FORK = "crash", "fork"
said_and_taken_back = st.sampled_from((Say("Anna saw the man ."), Feed("Carl . "), Flush(), Undo(), Undo(), CRASH))
steps = st.lists(all_commands | said_and_taken_back | st.just(FORK), min_size=1, max_size=14)


@settings(max_examples=30)
@given(steps, st.integers(1, 5), st.integers(0, 3))
def test_a_session_goes_on_after_any_crash_as_if_there_had_been_none(
    resolver: Resolver, steps: list[Any], snapshot_every: int, undo: int
) -> None:
    """Every command gives what a session in one piece gives: answer, refusal and state; undo reaches as far."""
    store = MemoryStore()
    options = {"undo": undo, "runners_up": 1}
    local = resolver.session(**options)
    services = [SessionService(resolver, store, snapshot_every=snapshot_every)]
    id = services[0].create("me", options).result()
    sequence = 0
    try:
        for step in steps:
            if step == CRASH:  # nothing is flushed: the next one has what the store has
                services.append(SessionService(resolver, store, snapshot_every=snapshot_every))
            elif step == FORK:
                id = services[-1].fork(id, "me").result()
                local = local.fork()
            else:
                sequence += 1
                expected = outcome(partial(step.apply, local))
                found = outcome(partial(performed, services[-1], id, step, sequence))
                assert found == expected, step
                if isinstance(found, dict):
                    assert performed(services[-1], id, step, sequence) == expected
        text, entities, sentences = state(services[-1], id)
        assert (text, entities, sentences) == (local.text, local.entities, local.sentences)
    finally:
        for service in services:
            service.stop()


@pytest.mark.parametrize("said", range(1, 9))
def test_undo_reaches_as_far_after_a_crash(resolver: Resolver, said: int) -> None:
    store, options = MemoryStore(), {"undo": 3}
    local = resolver.session(**options)
    with service_with(resolver, store, snapshot_every=2) as before:
        id = before.create("me", options).result()
        for number in range(said):
            before.perform(id, Say(f"Anna {number} .")).result()
            local.say(f"Anna {number} .")
    with service_with(resolver, store, snapshot_every=2) as after:
        for number in range(4):
            expected = outcome(partial(Undo().apply, local))
            assert outcome(partial(performed, after, id, Undo(), number)) == expected
        assert state(after, id)[0] == local.text


def performed(service: SessionService, id: str, command: Command, sequence: int) -> dict[str, Any]:
    return answer(service.perform(id, command, sequence).result())


def outcome(call: Callable[[], dict[str, Any]]) -> dict[str, Any] | str:
    try:
        found = json.loads(json.dumps(call()))
    except IncorefError as error:
        return str(error)
    for update in found.get("updates", ()):
        update.pop("elapsed_ms", None)
    return found


def test_two_processes_share_a_session(resolver: Resolver) -> None:
    store = MemoryStore()
    local = resolver.session()
    with service_with(resolver, store) as one, service_with(resolver, store) as two:
        id = one.create("me").result()
        for number in range(30):
            text = f"Anna saw the man {number} ."
            turn = (one, two, two)[number % 3]
            record = turn.perform(id, Say(text)).result()
            assert record.number == number + 1
            assert outcome(lambda record=record: answer(record)) == outcome(lambda text=text: Say(text).apply(local))
        assert state(one, id) == state(two, id) == (local.text, local.entities, local.sentences)


def test_two_processes_at_once_lose_and_double_nothing(resolver: Resolver) -> None:
    store = MemoryStore()
    with service_with(resolver, store) as one, service_with(resolver, store) as two:
        id = one.create("me").result()
        futures = [
            (service, service.perform(id, Say(f"Anna met Carl {number} .")))
            for number in range(20)
            for service in (one, two)
        ]
        found = [future.result().number for _, future in futures]
        assert sorted(found) == list(range(1, 41))
        for service in (one, two):  # and in the order in which each was asked
            mine = [future.result().number for other, future in futures if other is service]
            assert mine == sorted(mine)


def test_requests_of_a_session_keep_their_order_while_others_go_on(service: SessionService) -> None:
    ids = [service.create("me").result() for _ in range(4)]
    futures = [(id, n, service.perform(id, Say(f"Anna {n} ."))) for n in range(12) for id in ids]
    for _, n, future in futures:
        assert future.result().number == n + 1
        assert answer(future.result())["updates"][0]["text"] == f"Anna {n} ."


def test_a_repeated_sequence_gets_the_same_answer_to_the_byte(service: SessionService) -> None:
    id = service.create("me").result()
    first = service.perform(id, Say("Anna met Carl ."), 5).result()
    second = service.perform(id, Say("She left ."), 6).result()
    assert service.perform(id, Say("Anna met Carl ."), 5).result() == first
    assert service.perform(id, Say("She left ."), 6).result() == second
    assert state(service, id)[2] == 2


@pytest.mark.parametrize(("command", "sequence"), [(Say("Another ."), 5), (Say("Anna ."), 4)])
def test_a_sequence_that_was_something_else_is_refused(
    service: SessionService, command: Command, sequence: int
) -> None:
    id = service.create("me").result()
    service.perform(id, Say("Anna ."), 5).result()
    found = refused(SEQUENCE, service.perform(id, command, sequence).result)
    assert found.to_json()["last"] == 5
    assert state(service, id)[2] == 1


def test_what_the_session_refuses_changes_nothing(service: SessionService) -> None:
    id = service.create("me").result()
    refused(IMPOSSIBLE, service.perform(id, Undo(), 1).result)
    refused(IMPOSSIBLE, service.perform(id, Rename("99", "Anna"), 1).result)
    refused(IMPOSSIBLE, service.perform(id, SayWords(["b"], "a"), 1).result)
    assert service.store.records(id) == []
    assert service.perform(id, Say("Anna ."), 1).result().number == 1


def test_forgetting_erases_the_log_before_it(service: SessionService) -> None:
    id = service.create("me").result()
    service.perform(id, Introduce("Carl Unmentionable"), 1).result()
    service.perform(id, Say("Anna saw the dog ."), 2).result()
    service.perform(id, Forget("1"), 3).result()
    assert [json.loads(record.command)["do"] for record in service.store.records(id)] == ["forget"]
    kept = [service.store.snapshot(id, number) for number in service.store.snapshots(id)]
    assert len(kept) == 1
    refused(SEQUENCE, service.perform(id, Say("Anna saw the dog ."), 2).result)
    assert json.loads(service.perform(id, Forget("1"), 3).result().answer) == {"gone": "1"}


class FailingStore(MemoryStore):
    failing = False

    def append(self, id: str, record: Record, now: float, state: bytes | None = None) -> None:
        if self.failing:
            raise StoreFailed("/secret/place: the disk is full")
        super().append(id, record, now, state)


def test_what_could_not_be_stored_did_not_happen(resolver: Resolver) -> None:
    store = FailingStore()
    with service_with(resolver, store) as service:
        id = service.create("me").result()
        service.perform(id, Say("Anna met Carl .")).result()
        before = state(service, id)
        store.failing = True
        found = refused(STORE, service.perform(id, Say("She left ."), 1).result)
        assert "secret" not in json.dumps(found.to_json())
        assert state(service, id) == before
        store.failing = False
        assert service.perform(id, Say("She left ."), 1).result().number == 2


def test_an_unexpected_error_tells_nothing() -> None:
    found = refusal(ZeroDivisionError("what Anna said"))
    assert found.kind == INTERNAL
    assert "Anna" not in json.dumps(found.to_json())


def test_limits_are_told_with_their_size(resolver: Resolver) -> None:
    limits = Limits(text=20, session_text=30, session_sentences=3, client_sessions=2, sessions=3)
    with service_with(resolver, limits=limits) as service:
        id = service.create("me").result()
        assert refused(TOO_LARGE, lambda: service.perform(id, Say("a" * 21))).to_json()["limit"] == 20
        service.perform(id, Say("Anna met Carl .")).result()
        assert refused(FULL, service.perform(id, Say("She saw Anna .")).result).to_json()["limit"] == 30
        for _ in range(2):
            service.perform(id, Say("He .")).result()
        assert refused(FULL, service.perform(id, Say("I")).result).to_json()["limit"] == 3
        service.perform(id, Undo()).result()
        service.fork(id, "me").result()
        assert refused(TOO_MANY_SESSIONS, service.create("me").result).to_json()["limit"] == 2
        service.create("you").result()
        assert refused(TOO_MANY_SESSIONS, service.fork(id, "they").result).to_json()["limit"] == 3
        assert service.delete(id).result()
        service.create("me").result()


def test_of_sentences_that_do_not_all_fit_none_is_taken(resolver: Resolver) -> None:
    with service_with(resolver, limits=Limits(session_sentences=3)) as service:
        id = service.create("me").result()
        service.perform(id, Say("Anna met Carl . He left .")).result()
        before = state(service, id)
        assert refused(FULL, service.perform(id, Say("I saw her . She left .")).result).to_json()["limit"] == 3
        assert state(service, id) == before
        service.perform(id, Say("She left .")).result()


def test_queues_are_bounded_and_tell_when_to_come_back(resolver: Resolver) -> None:
    limits = Limits(waiting=6, session_waiting=3)
    begun, go = threading.Event(), threading.Event()
    with service_with(resolver, limits=limits) as service:
        id = service.create("me").result()
        blocker = service.look(id, lambda _: (begun.set(), go.wait(20)))
        assert begun.wait(20)
        waiting = []
        for kind_of_queue, count in (("session", 4), ("server", 9)):
            with pytest.raises(Refused) as caught:
                for _ in range(count):
                    if kind_of_queue == "session":
                        waiting.append(service.perform(id, Say("Anna .")))
                    else:
                        waiting.append(service.run(lambda _: None))
            assert caught.value.kind == BUSY
            assert caught.value.retry_after is not None and caught.value.retry_after >= 1
        go.set()
        assert blocker.result()
        for future in waiting:
            future.result()
        service.perform(id, Say("Anna .")).result()
        assert state(service, id)[2] == 4


def test_idle_sessions_are_deleted(resolver: Resolver) -> None:
    now = [1000.0]
    with service_with(resolver, limits=Limits(idle=100), clock=lambda: now[0]) as service:
        used, unused, looked_at = (service.create("me").result() for _ in range(3))
        now[0] += 90
        service.perform(used, Say("Anna .")).result()
        state(service, looked_at)
        now[0] += 20
        assert service.expire() == 1
        refused(NOT_FOUND, service.perform(unused, Say("Anna .")).result)
        assert state(service, used)[2] == 1
        assert state(service, looked_at)[2] == 0
        now[0] += 101
        assert service.expire() == 2


class CountsSnapshots(MemoryStore):
    snapshots_put = 0

    def put_snapshot(self, id: str, number: int, data: bytes, oldest: int) -> bool:
        self.snapshots_put += 1
        return super().put_snapshot(id, number, data, oldest)


def test_the_longer_a_session_the_fewer_its_snapshots(resolver: Resolver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incoref.server.service._LONG", 10)
    store = CountsSnapshots()
    with service_with(resolver, store, snapshot_every=5) as service:
        id = service.create("me").result()
        counts = []
        for _ in range(3):
            for _ in range(30):
                service.perform(id, Say("Anna .")).result()
            state(service, id)
            counts.append(store.snapshots_put)
    assert counts[0] > counts[1] - counts[0] > 0
    assert counts[1] - counts[0] >= counts[2] - counts[1] > 0
    with service_with(resolver, store) as service:
        assert state(service, id)[2] == 90


def test_a_clock_that_is_set_makes_no_session_old(resolver: Resolver, monkeypatch: pytest.MonkeyPatch) -> None:
    with service_with(resolver, limits=Limits(idle=100)) as service:
        id = service.create("me").result()
        for jump in (10**9, -(10**9)):
            monkeypatch.setattr("time.time", lambda jump=jump: 1.8e9 + jump)
            assert service.expire() == 0
            service.perform(id, Say("Anna .")).result()
        assert state(service, id)[2] == 2


def test_sessions_beyond_the_memory_are_read_from_the_store(resolver: Resolver) -> None:
    with service_with(resolver, limits=Limits(memory=1), snapshot_every=3) as service:
        ids = [service.create("me").result() for _ in range(3)]
        locals_ = [resolver.session() for _ in ids]
        for number in range(12):
            for id, local in zip(ids, locals_, strict=True):
                text = f"Anna met the man {number} ."
                local.say(text)
                service.perform(id, Say(text)).result()
        for id, local in zip(ids, locals_, strict=True):
            assert state(service, id) == (local.text, local.entities, local.sentences)
        assert service.metrics.registry.get_sample_value("incoref_evictions_total", {"what": "session from memory"})


def test_a_stopped_service_takes_nothing_and_loses_nothing(resolver: Resolver) -> None:
    store = MemoryStore()
    service = SessionService(resolver, store, workers=2)
    id = service.create("me").result()
    futures = [service.perform(id, Say(f"Anna {number} .")) for number in range(15)]
    service.stop_taking()
    refused(STOPPING, lambda: service.perform(id, Say("Carl .")))
    assert service.stop()
    assert [future.result().number for future in futures] == list(range(1, 16))
    assert store.snapshots(id) == [15]


def test_a_listener_hears_of_every_record(service: SessionService) -> None:
    id = service.create("me").result()
    heard = threading.Semaphore(0)
    end = service.listen(id, heard.release)
    for _ in range(3):
        service.perform(id, Say("Anna .")).result()
    for _ in range(3):
        assert heard.acquire(timeout=10)
    end()
    service.perform(id, Say("Anna .")).result()
    assert not heard.acquire(blocking=False)


def test_a_share_has_another_id_and_can_be_taken_back(service: SessionService) -> None:
    id = service.create("me").result()
    view = service.share(id, True).result()
    assert view and view != id
    assert service.share(id, True).result() == view
    assert service.store.viewed(view) == id
    service.share(id, False).result()
    with pytest.raises(NoSession):
        service.store.viewed(view)


def test_another_model_is_refused(tiny: TinyModels, resolver: Resolver) -> None:

    store = MemoryStore()
    with service_with(Resolver(tiny.model), store) as service:
        id = service.create("me").result()
    with service_with(resolver, store) as service:
        found = refusal(service.perform(id, Say("Anna .")).exception())  # type: ignore[arg-type]
        assert found.kind.name == "other-model"


def test_the_log_alone_is_enough_to_read_a_session_without_its_model(resolver: Resolver) -> None:
    """Snapshots may be in a format that is gone."""
    store = MemoryStore()
    with service_with(resolver, store, snapshot_every=3) as service:
        id = service.create("me", {"history": 5}).result()
        for number in range(4):
            service.perform(id, Say(f"Anna saw the man {number} . He left .")).result()
        for command in (Introduce("Xanthippe"), Forget("1"), Say("Carl left ."), Say("He came ."), Undo()):
            service.perform(id, command).result()
        for number in range(4):
            service.perform(id, Say(f"Carl met the dog {number} .")).result()
        expected = service.look(id, lambda live: live.session.document()).result()
    stored = store._sessions[id]
    for number in stored.snapshots:
        stored.snapshots[number] = b'{"sequence": null, "characters": 0, "exact": true}\nincoref\0\x63\0'
    archived = load_archived(store, id)
    assert archived.session.document() == expected
    assert archived.number == store.last(id)


def test_a_session_that_is_read_again_gives_way(resolver: Resolver) -> None:
    store = MemoryStore()
    with service_with(resolver, store) as service:
        id = service.create("me").result()
        for _ in range(3):
            service.perform(id, Say("Anna left .")).result()
    store._sessions[id].snapshots = {}
    calls: list[int] = []
    load(resolver, store, id, lambda: calls.append(1))
    assert len(calls) >= 3


def test_a_replay_that_takes_too_long_says_what_else_to_do(resolver: Resolver) -> None:
    store = MemoryStore()
    with service_with(resolver, store) as service:
        id = service.create("me").result()
        service.perform(id, Say("Anna left . She met Carl .")).result()
    with service_with(resolver, store, limits=Limits(seconds=1e-9)) as service:
        with pytest.raises(Refused, match="feed that to a new session in parts") as caught:
            service.replay(id, "me").result()
        assert caught.value.kind is TOO_SLOW
        assert store.count() == 1


@pytest.mark.parametrize("work", ["look", "look without the model", "load", "snapshot"])
def test_a_large_session_does_not_hold_up_others(
    resolver: Resolver, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    """What can't give way runs beside the only worker."""
    monkeypatch.setattr("incoref.server.service._LARGE", 1)
    monkeypatch.setattr("incoref.server.service._LARGE_SAVE", 1)
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_: Any) -> None:
        begun.set()
        assert go_on.wait(60)

    store = MemoryStore()
    with service_with(resolver, store, snapshot_every=2) as service:
        id, other = service.create("me").result(), service.create("me").result()
        for _ in range(3):
            service.perform(id, Say("Anna left . She met Carl .")).result()
    with service_with(resolver, store, snapshot_every=1) as service:
        service.perform(other, Say("Berta left .")).result()
        with monkeypatch.context() as patch:
            if work == "look without the model":
                head = store._sessions[id].head
                store._sessions[id].head = head.replace(resolver.model.fingerprint.encode(), b"another")
            if work == "load":
                restore = resolver.restore
                patch.setattr(Resolver, "restore", lambda _, saved: (slow(), restore(saved))[1])
            if work == "snapshot":
                service.look(id, lambda live: live.number).result()
                patch.setattr(LiveSession, "snapshot", slow)
                service.perform(id, Say("Anna left .")).result()
            else:
                service.look(id, slow)
            assert begun.wait(60)
        try:
            assert service.perform(other, Say("She stayed .")).result(30)
        finally:
            go_on.set()


def test_what_an_early_version_wrote_is_refused_with_a_reason(tiny: TinyModels, resolver: Resolver) -> None:
    store = MemoryStore()
    with service_with(Resolver(tiny.model), store) as service:
        id = service.create("me").result()
        service.perform(id, Say("Anna .")).result()
    stored = store._sessions[id]
    stored.records, stored.snapshots = [replace(record, effect=b"") for record in stored.records], {}
    with service_with(resolver, store) as service:
        refused(OTHER_MODEL, lambda: state(service, id))


def test_ids_are_128_random_bits(service: SessionService) -> None:
    ids = {service.create("me").result() for _ in range(20)}
    assert len(ids) == 20
    assert all(len(bytes.fromhex(id)) == 16 for id in ids)
