"""A save with a right checksum and wrong content is refused when it is restored, never later, and costs little."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from incoref.errors import IncorefError
from incoref.resolver import Resolver
from incoref.session import saving
from incoref.session.save_checks import compressed, decompressed
from tiny_models import WITH_MARKS, random_utterances

if TYPE_CHECKING:
    from tiny_models import TinyModels


@pytest.fixture(scope="module")
def saved(resolver: Resolver) -> bytes:
    session = resolver.session(runners_up=1, max_entities=6, setting="k=2")
    session.introduce("Dora Kern", speaker="Dora")
    for utterance in random_utterances(9, 4, words=WITH_MARKS):
        session.say_words(utterance.words, utterance.speaker, id=3, time="noon")
    session.feed("The old man left . The")
    return session.save()


def content(saved: bytes) -> tuple[dict[str, np.ndarray[Any, Any]], dict[str, Any]]:
    tensors = load(saved[saving._HEADER.size :])
    return tensors, json.loads(decompressed(tensors["state"].tobytes()))


def signed(tensors: dict[str, np.ndarray[Any, Any]], state: bytes) -> bytes:
    payload = save({**tensors, "state": np.frombuffer(state, np.uint8)})
    return saving._HEADER.pack(saving._MAGIC, saving.VERSION, saving._digest(payload)) + payload


def forged(tensors: dict[str, np.ndarray[Any, Any]], fields: Any) -> bytes:
    return signed(tensors, compressed(json.dumps(fields).encode()))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to all values in some JSON."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inside for place in places(item, (*path, key)))]


VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 7, 2**40, 2**70, -(2**70), 0.5, -1.5, 1e308, "", "x", "7", "-7", "1" * 40, "²",
    [], [[]], [0], [1, 2], ["x"], {}, {"x": 1}, [[[[1]]]], float("inf"), float("nan"),
]  # fmt: skip


def usable(resolver: Resolver, data: bytes) -> bool:
    """Whether a save is accepted; if it is, everything must work."""
    try:
        session = resolver.restore(data)
    except IncorefError:
        return False
    assert resolver.restore(session.save()).entities == session.entities
    session.document().to_json()
    session.resolved_text()
    session.say("I saw Anna . She left the old man .", "Dora")
    session.feed("And he was")
    session.flush()
    session.undo()
    for entity in session.entities[:2]:
        session.rename(entity, "Berta")
    session.forget(session.entities[0])
    session.save()
    return True


def test_the_untouched_save_is_accepted(resolver: Resolver, saved: bytes) -> None:
    assert usable(resolver, forged(*content(saved)))


@settings(max_examples=400)
@given(st.randoms(use_true_random=False))
def test_a_changed_value_is_refused_or_harmless(resolver: Resolver, saved: bytes, draw: random.Random) -> None:
    tensors, fields = content(saved)
    for _ in range(draw.choice((1, 1, 1, 2))):
        *path, key = draw.choice(places(fields)[1:])
        holder = fields
        for step in path:
            holder = holder[step]
        action = draw.choice(("replace", "replace", "replace", "delete", "double"))
        if action == "replace":
            holder[key] = draw.choice(VALUES)
        elif action == "delete":
            del holder[key]
        elif isinstance(holder, list):
            holder.insert(key, holder[key])
    usable(resolver, forged(tensors, fields))


@pytest.mark.parametrize("name", ["opened", "named", "genders"])
def test_a_number_beyond_its_table_is_refused(resolver: Resolver, saved: bytes, name: str) -> None:
    place = [field.name for field in resolver.model.start().reading.memory.states.fields].index(name)
    for value in (-1, 4, 2**40):
        tensors, fields = content(saved)
        fields["states"][0][place] = value
        with pytest.raises(IncorefError, match=f"{name} must be from 0 to"):
            resolver.restore(forged(tensors, fields))


@pytest.mark.parametrize("name", ["means", "types", "window", "state"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8])
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 2), (6, 16), (100, 100)])
def test_other_arrays_are_refused(
    resolver: Resolver, saved: bytes, name: str, dtype: type, shape: tuple[int, ...]
) -> None:
    tensors, _ = content(saved)
    if (shape, np.dtype(dtype)) == (tensors[name].shape, tensors[name].dtype):
        shape = (*shape, 1)
    payload = save({**tensors, name: np.full(shape, 3, dtype)})
    assert not usable(resolver, saving._HEADER.pack(saving._MAGIC, saving.VERSION, saving._digest(payload)) + payload)


def test_vectors_that_are_no_numbers_are_refused(resolver: Resolver, saved: bytes) -> None:
    tensors, fields = content(saved)
    assert not usable(resolver, forged({**tensors, "means": np.full_like(tensors["means"], np.nan)}, fields))


LIMITED = """
import resource, sys
from pathlib import Path
import incoref
resolver = incoref.load(sys.argv[1])
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    resolver.restore(Path(sys.argv[2]).read_bytes())
except incoref.IncorefError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - used)
"""


@pytest.mark.parametrize(("inside", "megabytes"), [(b"[],", 1_500), (b" ", 1_500), (b"[", 3)])
def test_a_small_file_can_not_take_much_memory(
    tiny: TinyModels, saved: bytes, tmp_path: Path, inside: bytes, megabytes: int
) -> None:
    tensors, _ = content(saved)
    packer = zlib.compressobj(9)
    start = packer.compress(b"[")
    parts = [packer.compress(inside * (1_000_000 // len(inside))) for _ in range(megabytes)]
    packed = start + b"".join(parts) + packer.flush()
    assert len(packed) < 2_000_000
    (tmp_path / "save").write_bytes(signed(tensors, packed))
    command = [sys.executable, "-c", LIMITED, str(tiny.int8), str(tmp_path / "save")]
    message, kilobytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "can't be read" in message
    assert int(kilobytes) < 200_000


@given(st.binary(max_size=300), st.integers(1, 200_000))
def test_whatever_was_compressed_can_be_read(part: bytes, times: int) -> None:
    data = part * min(times, 20_000_000 // max(1, len(part)))
    assert decompressed(compressed(data)) == data
