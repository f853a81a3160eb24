"""Input that nobody hopes for: empty, endless, broken. Sessions read it, in bounded memory, and say what they did."""

from __future__ import annotations

import sys

import pytest

from incoref.errors import IncorefError
from incoref.resolver import Resolver
from incoref.session.session import Session
from incoref.session.updates import Update


@pytest.fixture
def chat(resolver: Resolver) -> Session:
    return resolver.session()


def check(session: Session, updates: list[Update]) -> None:
    """Every offset is exact, and sentences follow each other."""
    end = 0
    for update in updates:
        assert end <= update.start < update.end
        assert session.text[update.start : update.end] == update.text
        for mention in update.mentions:
            assert session.text[mention.start : mention.end] == mention.text
        end = update.end


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\r\n", "\u00a0\u2003", "\x0c\x0b", "\x00", "\u200b\ufeff"])
def test_nothing_is_nothing(chat: Session, text: str) -> None:
    assert chat.say(text) == []
    assert chat.feed(text) == []
    assert chat.flush() == []
    assert chat.entities == []
    assert chat.resolved_text() == chat.text == f"{text}\n{text}"
    assert chat.fork().say("Anna left .")[0].start == 2 * len(text) + 1 + (bool(text) and text[-1] != "\n")


@pytest.mark.parametrize("text", ["Anna", "I", "?", "…", "1", "日", "👩‍🚀", "\ud83d", "x\x07y"])
def test_one_token(chat: Session, text: str) -> None:
    (update,) = chat.say(text)
    assert (update.text, update.start, update.end) == (text, 0, len(text))
    assert chat.text == f"{text}\n"
    check(chat, [update])


@pytest.mark.parametrize(
    "text",
    [
        "Anna\x00 met\x07 Carl\x1b[31m.\x7f She \x85left.",
        "Half \ud83d of \ude00 a \udfff pair . She left .",
        "Anna traf Carl. Она ушла. 安娜走了。她哭了。 آنا رفت. She left.",
        "a\u0301\u0301\u0301\u200d\u202e Anna \u202c she",
        "😀" * 50,
        "\ufeffAnna left.\u2028She slept.\u2029It rained.",
        "((((" * 60,
        "." * 900,
        "Mr. " * 250,
        "\n" * 5000 + "Anna left.",
        "<b>Anna</b> &amp; {'she': null}\\n`rm -rf`",
    ],
)
def test_odd_text_is_read_and_offsets_are_exact(resolver: Resolver, text: str) -> None:
    said, fed = resolver.session(), resolver.session()
    updates = said.say(text, speaker=text[:20])
    check(said, updates)
    assert said.text == f"{text}\n"
    check(fed, [update for start in range(0, len(text), 7) for update in fed.feed(text[start : start + 7])])
    fed.flush()
    assert fed.text == text
    restored = resolver.restore(said.save())
    assert restored.text == said.text
    assert restored.entities == said.entities


@pytest.mark.parametrize("text", [None, b"Anna left.", 3, ["Anna"]])
def test_what_is_no_text_is_refused_and_changes_nothing(chat: Session, text: object) -> None:
    chat.feed("Carl saw")
    before = chat.save()
    for call in (
        lambda: chat.say(text),  # type: ignore[arg-type]
        lambda: chat.say("Anna left.", speaker=text or 0.5),  # type: ignore[arg-type]
    ):
        with pytest.raises(IncorefError, match="is a string, not"):
            call()
    if text:
        with pytest.raises(IncorefError, match="text is a string, not"):
            chat.feed(text)  # type: ignore[arg-type]
    with pytest.raises(IncorefError, match="words must be a list of strings"):
        chat.say_words("Anna left .")
    assert chat.save() == before


def held(session: Session) -> int:
    """Bytes of all that the session's state holds, each object once."""
    seen: set[int] = set()
    waiting: list[object] = [session._state, *session._undo]
    total = 0
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, type):
            continue
        seen.add(id(item))
        total += sys.getsizeof(item)
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item
        else:
            names = getattr(type(item), "__slots__", ()) or getattr(item, "__dict__", ())
            waiting += [getattr(item, name) for name in names if hasattr(item, name)]
    return total


@pytest.mark.parametrize("policy", [{"eviction": "dual"}, {"eviction": "icoref", "idle": 40}])
def test_utterances_without_end_take_memory_that_does_not_grow(
    rule_resolver: Resolver, policy: dict[str, object]
) -> None:
    """New names, new speakers and new words each time; a few people who stay."""
    if policy["eviction"] != "icoref":
        policy = {**policy, "max_entities": 20}
    chat = rule_resolver.session(history=10, undo=3, **policy)
    chat.introduce("Anna", speaker="Anna")
    sizes, evicted = [], 0
    for number in range(160):
        speaker = "Anna" if number % 5 == 0 else f"Speaker{number}"
        for update in chat.say(
            f"I saw Anna and Name{number} . It was the thing{number} of Carl .", speaker, id=number
        ):
            evicted += len(update.evicted)
        if number % 3 == 0:
            chat.say("")
        if number % 10 == 9:
            sizes.append(held(chat))
    assert evicted > 150
    assert len(chat.entities) < 100
    assert max(sizes[8:]) < 1.3 * max(sizes[:8]), sizes
