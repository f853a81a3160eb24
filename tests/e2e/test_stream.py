"""``incoref stream`` in a pipe, as a real process: it answers before more is said, and ends quietly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

import incoref

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of Unix")


@contextmanager
def streaming(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "incoref", "stream", *arguments]
    # Where the tests run in the background, interrupts may be ignored, and a child would take that over.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, bufsize=0, preexec_fn=heed) as process:
        try:
            yield process
        finally:
            process.kill()


def tell(process: subprocess.Popen[bytes], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line.encode() + b"\n")


def hear(process: subprocess.Popen[bytes]) -> Any:
    """The next answer; the process gets no more input until it has come."""
    assert process.stdout is not None
    line = b""
    while not line.endswith(b"\n"):
        line += process.stdout.read(1)
        assert line, "no answer"
    return json.loads(line)


def test_every_line_is_answered_before_the_next_is_sent() -> None:
    with streaming() as process:
        tell(
            process,
            json.dumps({"text": "Anna called Ben. She was late.", "speaker": "Carol", "id": 7, "time": "noon"}),
        )
        first, second = hear(process), hear(process)
        tell(process, json.dumps({"text": "He waited there \ud83d.", "id": None}))
        third = hear(process)
        assert process.poll() is None
        _, errors = process.communicate(timeout=60)
    assert [first["sentence"], second["sentence"], third["sentence"]] == [0, 1, 2]
    assert [(a["speaker"], a["id"], a.get("time")) for a in (first, second, third)] == [
        ("Carol", 7, "noon"),
        ("Carol", 7, "noon"),
        (None, None, None),
    ]
    anna = first["mentions"][0]["entity"]
    assert [mention["entity"] for mention in second["mentions"]] == [anna]
    assert third["mentions"][0]["text"] == "He"
    assert third["text"] == "He waited there \ud83d."
    assert process.returncode == 0
    assert errors == b""


def test_an_interrupt_ends_it_quietly() -> None:
    with streaming() as process:
        tell(process, "Anna called Ben.")
        hear(process)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (rest, errors) == (b"", b"")


def test_a_closed_pipe_ends_it_quietly() -> None:
    with streaming() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        tell(process, "Anna called Ben.")
        hear(process)
        process.stdout.close()
        tell(process, "He was out.")
        assert process.wait(timeout=60) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_it_stops_at_a_line_that_it_can_not_read() -> None:
    command = [sys.executable, "-m", "incoref", "stream"]
    done = subprocess.run(command, input=b'{"text": "Anna left."}\n{"text": 1}\n', capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stdout.count(b"\n") == 1
    assert (
        done.stderr.decode().strip() == 'incoref: standard input:2: a message is a JSON object with a string "text"'
    )


def test_head_closes_the_pipe_of_resolve() -> None:
    text = b"Anna called Ben. He was out.\n" * 20
    command = f"{sys.executable} -m incoref resolve -f conllu | head -n 1"
    done = subprocess.run(["sh", "-c", command], input=text, capture_output=True, env=os.environ, check=False)
    assert done.stdout == b"# newdoc id = stdin\n"
    assert done.stderr == b""


def test_two_who_talk_are_two() -> None:
    chat = incoref.load().session()
    said = [("Ann", "I am tired."), ("Bob", "I am not. You should sleep."), ("Ann", "I will.")]
    found = [update.mentions[0].entity for speaker, text in said for update in chat.say(text, speaker=speaker)]
    ann, bob, you, again = found
    assert ann == you == again != bob
