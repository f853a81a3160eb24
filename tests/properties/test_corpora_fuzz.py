"""Damaged files of every format: a reader gives documents or an error of ours, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incoref import corpora
from incoref.corpora.losses import Losses
from incoref.errors import IncorefError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "formats"
READ = [format.name for format in corpora.FORMATS.values() if format.read]
INSERTED = [
    "(",
    ")",
    "(1",
    "1)",
    "|",
    "\t",
    "\n",
    "\n\n",
    "#",
    "-",
    "_",
    "[1/2]",
    "%",
    "{",
    "}",
    "]",
    '"',
    ",",
    "\0",
    "é",
]
REAL = {
    "gum/dev/GUM_vlog_portland.conllu": 40,
    "ontogum/dev/GUM_conversation_risk.conllu": 60,
    "litbank/conll/271_black_beauty_brat.conll": 60,
    "craft/dev.conll": 80,
    "mudoco/mudoco_news.json.eval.jsonlines": 3,
    "winobias/dev_type1_pro_stereotype.v4_auto_conll": 40,
}
"""Files of the shared corpora, and how many of their lines are enough."""

READ_ONLY = (
    ("transcript", "meeting.txt"),
    ("srt", "meeting.srt"),
    ("webvtt", "meeting.vtt"),
    ("gap", "pronouns.tsv"),
    ("whatsapp", "whatsapp.txt"),
    ("slack", "slack.json"),
    ("discord", "discord.json"),
    ("messages", "messages.json"),
    ("whisper", "whisper.json"),
    ("ass", "meeting.ass"),
    ("mail", "mail.mbox"),
)
"""Formats that aren't written, and their samples."""

Damage = Callable[[bytes], bytes]


@st.composite
def damages(draw: st.DrawFn) -> Damage:
    """A change to a file: something put in, cut out, repeated or cut off, at a random place."""
    place, length = draw(st.floats(0, 1)), draw(st.integers(0, 40))
    kind = draw(st.sampled_from(["insert", "bytes", "cut", "repeat", "swap lines", "end"]))
    inserted = draw(st.sampled_from(INSERTED)).encode() if kind != "bytes" else draw(st.binary(max_size=3))

    def damage(data: bytes) -> bytes:
        at = int(place * len(data))
        if kind in ("insert", "bytes"):
            return data[:at] + inserted + data[at:]
        if kind == "cut":
            return data[:at] + data[at + length :]
        if kind == "repeat":
            return data[: at + length] + data[at:]
        if kind == "end":
            return data[:at]
        lines = data.split(b"\n")
        line = int(place * (len(lines) - 1))
        return b"\n".join([*lines[:line], *reversed(lines[line : line + 2]), *lines[line + 2 :]])

    return damage


def samples() -> dict[str, bytes]:
    """A file of each format that can be read."""
    (document,) = corpora.read(EXAMPLES / "ferry.conllu")
    made = {
        name: "".join(format.write([document, document], Losses())).encode()
        for name, format in corpora.FORMATS.items()
        if format.write
    }
    for name, file in READ_ONLY:
        made[name] = (EXAMPLES / file).read_bytes()
    return made


SAMPLES = samples()


def read_or_refuse(file: Path, format: str | None) -> None:
    try:
        documents = list(corpora.read(file, format))
    except IncorefError as error:
        assert str(error)
        return
    for document in documents:
        for mention in document.mentions:
            assert document.text[mention.start : mention.end] == mention.text
        for token in document.tokens:
            assert document.text[token.start : token.end] == token.text
    for writer in (format.write for format in corpora.FORMATS.values() if format.write):
        assert list(writer(documents, Losses()))


@pytest.mark.parametrize("name", READ)
@settings(max_examples=60)
@given(damaged=st.lists(damages(), min_size=1, max_size=3))
def test_damaged_files(name: str, damaged: list[Damage], tmp_path_factory: pytest.TempPathFactory) -> None:
    data = SAMPLES[name]
    for damage in damaged:
        data = damage(data)
    file = tmp_path_factory.getbasetemp() / f"damaged-{name}"
    file.write_bytes(data)
    read_or_refuse(file, name)
    read_or_refuse(file, None)


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("sample", READ)
def test_files_read_as_something_else(name: str, sample: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(SAMPLES[sample])
    read_or_refuse(file, name)


@pytest.mark.parametrize("name", REAL)
@settings(max_examples=25)
@given(damaged=st.lists(damages(), min_size=1, max_size=3))
def test_damaged_real_files(
    name: str, damaged: list[Damage], shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with (shared / "corpora" / name).open("rb") as lines:
        data = b"".join(line for line, _ in zip(lines, range(REAL[name]), strict=False))
    if name.endswith("conll"):
        data += b"\n#end document\n"
    for damage in damaged:
        data = damage(data)
    file = tmp_path_factory.getbasetemp() / "damaged-real"
    file.write_bytes(data)
    read_or_refuse(file, None)
