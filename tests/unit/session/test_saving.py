"""A save is exact, compact, and checked before it is believed."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref.errors import IncorefError
from incoref.resolver import Resolver
from incoref.session import saving
from incoref.session.session import Session
from incoref.text import Pending, RuleSplitter
from incoref.types import Sentence
from tiny_models import WITH_MARKS, TinyModels, random_utterances


@pytest.fixture(scope="module")
def saved(resolver: Resolver) -> bytes:
    return talk(resolver.session(runners_up=1)).save()


def talk(session: Session, seed: int = 0, count: int = 20) -> Session:
    for utterance in random_utterances(count, seed, words=WITH_MARKS):
        session.say_words(utterance.words, utterance.speaker, id=seed)
    session.feed("The old man \ud83d\ude00 was")
    return session


GO_ON = """
import json, sys
from pathlib import Path
import incoref
session = incoref.load(sys.argv[1]).restore(Path(sys.argv[2]).read_bytes())
updates = session.feed(" late.")
for words, speaker in json.load(sys.stdin):
    updates += session.say_words(words, speaker)
print(json.dumps([{**update.to_json(), "elapsed_ms": 0} for update in updates]))
Path(sys.argv[2]).write_bytes(session.save())
"""


def test_another_process_goes_on_as_if_nothing_had_happened(
    tiny: TinyModels, resolver: Resolver, tmp_path: Path
) -> None:
    session = talk(resolver.session(eviction="dual", max_entities=6, runners_up=2, trace=True, history=9))
    place = tmp_path / "session"
    place.write_bytes(session.save())
    done = subprocess.run(
        [sys.executable, "-c", GO_ON, str(tiny.int8), str(place)],
        input=json.dumps(random_utterances(20, 1, words=WITH_MARKS)),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    updates = session.feed(" late.")
    for utterance in random_utterances(20, 1, words=WITH_MARKS):
        updates += session.say_words(utterance.words, utterance.speaker)
    assert json.loads(done.stdout) == [
        json.loads(json.dumps({**update.to_json(), "elapsed_ms": 0})) for update in updates
    ]
    assert place.read_bytes() == session.save()


def test_options_are_saved_and_can_be_replaced(resolver: Resolver) -> None:
    session = resolver.session(undo=3, runners_up=2, eviction="icoref", idle=50, history=7)
    assert resolver.restore(session.save()).options == session.options
    assert resolver.restore(session.save(), undo=0, history=None).options.undo == 0
    with pytest.raises(IncorefError, match="unknown option: colour; the options are setting, "):
        resolver.restore(session.save(), colour="red")


def test_what_can_be_undone_is_not_saved(resolver: Resolver, saved: bytes) -> None:
    with pytest.raises(IncorefError, match="nothing to undo"):
        resolver.restore(saved).undo()


def test_a_live_entity_takes_little_room(rule_resolver: Resolver) -> None:
    def size(people: int) -> int:
        session = rule_resolver.session(history=0, eviction="none")
        for number in range(people):
            session.say(f"Anna saw Mister{number} .")
        return len(session.save())

    dimensions = len(rule_resolver.model.heads.start().memory.means.T)
    assert size(60) - size(10) < 50 * (4 * dimensions + 200)


@settings(max_examples=50)
@given(st.data())
def test_damage_is_noticed(resolver: Resolver, saved: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(saved) - 1))
    changed = bytearray(saved)
    changed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(IncorefError):
        resolver.restore(bytes(changed))
    with pytest.raises(IncorefError):
        resolver.restore(saved[:place])


@given(st.binary(max_size=100))
def test_what_is_no_save_is_refused(resolver: Resolver, data: bytes) -> None:
    with pytest.raises(IncorefError, match="this is not a saved session"):
        resolver.restore(data)


@given(st.binary(max_size=60))
def test_a_right_checksum_is_not_enough(resolver: Resolver, payload: bytes) -> None:
    header = struct.pack("<8sH16s", b"incoref\0", saving.VERSION, saving._digest(payload))
    with pytest.raises(IncorefError, match="can't be read"):
        resolver.restore(header + payload)


def test_a_newer_format_is_refused(resolver: Resolver, saved: bytes) -> None:
    newer = saved[:8] + struct.pack("<H", 99) + saved[10:]
    with pytest.raises(IncorefError, match="saved in format 99, this incoref reads up to 4: upgrade it"):
        resolver.restore(newer)


def test_another_model_is_refused(tiny: TinyModels, saved: bytes) -> None:
    with pytest.raises(IncorefError, match="saved with another model, 'tiny'"):
        Resolver(tiny.model).restore(saved)


class LineSplitter:
    """A sentence a line."""

    def feed(self, pending: Pending, piece: str) -> tuple[list[Sentence], Pending]:
        return RuleSplitter().feed(pending, piece.replace("\n", "\u2029"))

    def flush(self, pending: Pending) -> tuple[list[Sentence], Pending]:
        return RuleSplitter().flush(pending)


def test_another_splitter_is_refused(resolver: Resolver) -> None:
    data = resolver.session(splitter=LineSplitter()).save()
    with pytest.raises(
        IncorefError, match=r"saved with a LineSplitter, not a RuleSplitter: give restore\(\) the same"
    ):
        resolver.restore(data)
    assert resolver.restore(data, splitter=LineSplitter()).text == ""


def test_an_introduction_before_a_save_is_known_after_it(resolver: Resolver) -> None:
    """Whether a mention opens its sentence must not depend on when the session was saved."""
    whole = resolver.session(runners_up=1)
    whole.introduce("Carl")
    parted = resolver.restore(whole.save())
    for text in ("Anna Anna", "Anna"):
        assert [*parted.say(text)] == [*whole.say(text)]
