"""Plain text, JSON lines of text, transcripts, subtitles; and brat, which is text with a second file."""

from __future__ import annotations

from pathlib import Path

import pytest

from incoref import corpora
from incoref.corpora import brat, plain, subtitles, transcripts, turns
from incoref.corpora.losses import Losses
from incoref.errors import FormatError, IncorefError
from incoref.types import Document

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "formats"
MEETING = [
    ("Ines", "The harbour office called."),
    ("Ines", "They want the new timetable by Friday."),
    ("Omar", "Who has it?"),
    ("Ines", "Lena does."),
    ("Ines", "She is printing it now."),
]


def said(document: Document) -> list[tuple[str | None, str]]:
    return [(sentence.speaker, document.text[sentence.start : sentence.end]) for sentence in document.sentences]


@pytest.mark.parametrize(
    "file",
    [
        "discord.json",
        "mail.eml",
        "mail.mbox",
        "meeting.ass",
        "meeting.srt",
        "meeting.txt",
        "meeting.vtt",
        "messages.json",
        "slack.json",
        "turns.jsonl",
        "whatsapp.txt",
        "whisper.json",
    ],
)
def test_examples_are_the_same_meeting(file: str) -> None:
    (document,) = corpora.read(EXAMPLES / file)
    assert [(str(speaker).title(), text) for speaker, text in said(document)] == MEETING
    assert document.id == Path(file).stem


def test_sentences_of_subtitles_know_their_time() -> None:
    (document,) = corpora.read(EXAMPLES / "meeting.srt")
    assert document.sentences[1].attributes == (("from", "00:00:01,000"), ("to", "00:00:05,000"))
    assert document.sentences[2].attributes == (("from", "00:00:05,500"), ("to", "00:00:06,400"))


def test_text_is_kept_as_it_is() -> None:
    text = "  Ann came in.\n\nShe sat down.  \n"
    (document,) = plain.read(text, "folder/story.txt")
    assert (document.id, document.text) == ("story", text)
    assert said(document) == [(None, "Ann came in."), (None, "She sat down.")]
    assert "".join(plain.write([document], Losses())) == text


def test_lines_without_speakers_are_documents_unless_an_id_joins_them() -> None:
    lines = '{"text": "One."}\n{"text": "Two."}\n{"id": "x", "text": "Three."}\n{"id": "x", "text": "Four."}\n'
    documents = list(turns.documents(plain.conversations(lines, "file.jsonl")))
    assert [(d.id, d.text) for d in documents] == [("file-1", "One."), ("file-2", "Two."), ("x", "Three.\nFour.")]


@pytest.mark.parametrize("line", ['{"text": 1}', '{"speaker": "Ann"}', '{"text": "a", "speaker": 1.5}'])
def test_errors_in_lines(line: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(plain.conversations(f'{{"text": "a"}}\n{line}', "file"))
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("Ann: hello", ("Ann", "hello")),
        ("Speaker 1:   hello", ("Speaker 1", "hello")),
        ("[00:01:02] Dr. Ann B.: hello: you", ("Dr. Ann B.", "hello: you")),
        ("user:", ("user", "")),
        ("see http://example.org", None),
        ("at 12:30", None),
        ("12: 30", None),
        ("I thought of it for a long time: never", None),
    ],
)
def test_labels(line: str, label: tuple[str, str] | None) -> None:
    assert transcripts.label_of(line) == label


def test_lines_without_a_label_go_on() -> None:
    (document,) = turns.documents(
        transcripts.conversations("A preface.\nAnn: I saw\nhim.\n\nAnn: Then he left.\nBob: Who?\n", "file")
    )
    assert said(document) == [(None, "A preface."), ("Ann", "I saw him."), ("Ann", "Then he left."), ("Bob", "Who?")]


def test_a_transcript_needs_a_speaker() -> None:
    with pytest.raises(FormatError, match="Name: text"):
        list(transcripts.conversations("nobody said this\n", "file"))


def test_mark_up_dashes_and_voices_in_subtitles() -> None:
    cues = [
        ["- {\\an8}<i>Who's</i> there?", "- It's me &amp; him."],
        ["Remember: it is late."],
        ["<v Ann>Yes.</v> <v Bob>No.</v>"],
    ]
    text = "".join(
        f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n" + "\n".join(cue) + "\n\n" for n, cue in enumerate(cues, 1)
    )
    (document,) = turns.documents(subtitles.conversations(text, "file"))
    assert said(document) == [
        (None, "Who's there?"),
        (None, "It's me & him."),
        (None, "Remember: it is late."),
        ("Ann", "Yes."),
        ("Bob", "No."),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1\n00:00:01,000 --> 00:00:02,000\nHi.\n\n2\nno time\n", 5),
        ("1\n00:00:01,000 --> soon\nHi.\n", 2),
        ("WEBVTT\n\nNOTE nothing\n", None),
    ],
)
def test_errors_in_subtitles(text: str, line: int | None) -> None:
    with pytest.raises(FormatError) as caught:
        list(subtitles.conversations(text, "file"))
    assert caught.value.line == line


def test_brat(tmp_path: Path) -> None:
    losses = corpora.write(corpora.read(EXAMPLES / "ferry.conllu"), tmp_path / "brat", "brat")
    text = (tmp_path / "brat" / "ferry.txt").read_text(encoding="utf-8")
    annotation = (tmp_path / "brat" / "ferry.ann").read_text(encoding="utf-8").splitlines()
    assert annotation[0] == "T1\tperson 0 22\tThe captain's daughter"
    assert "*\tCoref T1 T2 T3" in annotation
    bound = [line.split("\t") for line in annotation if line.startswith("T")]
    for _, place, words in bound:
        _, start, end = place.split()
        assert text[int(start) : int(end)] == words
    assert "person" in (tmp_path / "brat" / "annotation.conf").read_text(encoding="utf-8")
    assert "3 × speakers" in map(str, losses)


def test_brat_cuts_mentions_at_line_breaks() -> None:
    text = "#begin document (d); part 0\nd\t0\t0\tto\t(1\n\nd\t0\t0\tday\t1)\n\n#end document\n"
    (document,) = corpora.FORMATS["conll-2012"].read(text, "file")  # type: ignore[misc]
    assert brat.write(document, Losses()) == "T1\tMention 0 2;3 6\tto day\n"


def test_text_of_several_documents_needs_a_directory(tmp_path: Path) -> None:
    documents = [Document("a/b", "One.", ()), Document("a:b", "Two.", ())]
    with pytest.raises(IncorefError, match="directory"):
        corpora.write(documents, tmp_path / "all.txt")
    assert not list(tmp_path.iterdir())
    corpora.write(documents, f"{tmp_path}/texts/", "text")
    assert sorted(file.name for file in (tmp_path / "texts").iterdir()) == ["a_b-2.txt", "a_b.txt"]
