"""Sessions in memory make room for one another, and whoever listens to one is told."""

from __future__ import annotations

from incoref.resolver import Resolver
from incoref.server.held_sessions import HeldSessions
from incoref.server.listeners import Listeners
from incoref.server.livesession import LiveSession


def live(resolver: Resolver, touched: float = 0) -> LiveSession:
    return LiveSession(resolver.session(), touched=touched)


def test_the_least_recently_used_make_room(resolver: Resolver) -> None:
    one = live(resolver)
    held = HeldSessions(memory=2 * one.session.nbytes + 1)
    assert held.hold("a", one) == [] and held.hold("b", live(resolver)) == []
    assert held.hold("a", one) == []  # used again, and counted once
    assert [id for id, _ in held.hold("c", live(resolver))] == ["b"]
    assert [id for id, _ in held.items()] == ["a", "c"] and len(held) == 2
    assert held.get("b") is None and held.get("a") is one


def test_one_session_is_kept_however_large(resolver: Resolver) -> None:
    held = HeldSessions(memory=1)
    assert held.hold("a", live(resolver)) == []
    assert [id for id, _ in held.hold("b", live(resolver))] == ["a"]
    held.let_go("b")
    held.let_go("unknown")
    assert len(held) == 0 and held.hold("c", live(resolver)) == []


def test_unused_sessions_are_let_go(resolver: Resolver) -> None:
    held = HeldSessions(memory=1 << 40)
    held.hold("old", live(resolver, touched=1))
    held.hold("new", live(resolver, touched=9))
    assert held.let_unused_go(before=5) == ["old"]
    assert [id for id, _ in held.items()] == ["new"]


def test_those_who_listen_are_told_until_they_end_it() -> None:
    listeners, told = Listeners(), list[str]()
    end = listeners.add("a", lambda: told.append("first"))
    listeners.add("a", lambda: told.append("second"))
    listeners.add("b", lambda: told.append("other"))
    listeners.tell("a", "nobody's")
    assert sorted(told) == ["first", "second"]
    end()
    end()
    told.clear()
    listeners.tell_all()
    assert sorted(told) == ["other", "second"]
