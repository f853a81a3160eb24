"""Chats, transcripts, subtitles, transcriptions, messages and mail: small files in the layouts in which they come."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from incoref import corpora
from incoref.errors import FormatError
from incoref.types import Document

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "formats"
NARROW, MARK = "\u202f", "\u200e"


def read(text: str, format: str | None = None, name: str = "file.txt") -> list[Document]:
    known = corpora.guess(text, name)
    assert format is None or known.name == format
    assert known.read is not None
    return list(known.read(text, name))


def said(text: str, format: str | None = None) -> list[tuple[str | None, str]]:
    """Who says what, sentence by sentence, in a text that is recognised as this format."""
    (document,) = read(text, format)
    return [(sentence.speaker, document.text[sentence.start : sentence.end]) for sentence in document.sentences]


def said_in(value: Any, format: str) -> list[tuple[str | None, str]]:
    """The same for JSON, which may have its lines anywhere."""
    found = said(json.dumps(value), format)
    assert said(json.dumps(value, indent=2), format) == found
    return found


# Name: text


@pytest.mark.parametrize(
    "text",
    [
        "Ann: Hello.\nBen: Hi!\nAnn: Bye.\n",
        "Ann: Hello.\n\nBen: Hi!\n\n\nAnn: Bye.\n",
        "- Ann: Hello.\n- Ben: Hi!\n- Ann: Bye.\n",
        "* **Ann:** Hello.\n* **Ben:** Hi!\n* **Ann:** Bye.\n",
        "**Ann**: Hello.\n**Ben**: Hi!\n**Ann**: Bye.\n",
        "1. Ann: Hello.\n2. Ben: Hi!\n3. Ann: Bye.\n",
        "[00:00:01] Ann: Hello.\n[00:00:02] Ben: Hi!\n[00:00:03] Ann: Bye.\n",
        "00:01 Ann: Hello.\n00:02 Ben: Hi!\n00:03 Ann: Bye.\n",
        "(10:15 AM) Ann: Hello.\n(10:15 AM) Ben: Hi!\n(10:16 AM) Ann: Bye.\n",
        "10:15 - Ann: Hello.\n10:15 - Ben: Hi!\n10:16 - Ann: Bye.\n",
        "2026-05-03 10:15:02 Ann: Hello.\n2026-05-03 10:15:04 Ben: Hi!\n2026-05-03 10:16:00 Ann: Bye.\n",
        "[2026-05-03 10:15] Ann: Hello.\n[2026-05-03 10:15] Ben: Hi!\n[2026-05-03 10:16] Ann: Bye.\n",
        "Ann (00:01): Hello.\nBen (00:02): Hi!\nAnn (00:03): Bye.\n",
        "Ann [00:00:01]: Hello.\nBen [00:00:02]: Hi!\nAnn [00:00:03]: Bye.\n",
        "Ann  0:01\nHello.\n\nBen  0:02\nHi!\n\nAnn  0:03\nBye.\n",
        "Ann:\nHello.\n\nBen:\nHi!\n\nAnn:\nBye.\n",
        "[10:15] <Ann> Hello.\n[10:15] <Ben> Hi!\n[10:16] <Ann> Bye.\n",
        "Ann (smiling): Hello.\nBen: Hi!\nAnn: Bye.\n",
        "[Ann] 10:15:02\nHello.\n\n[Ben] 10:15:04\nHi!\n\n[Ann] 10:16:00\nBye.\n",
        "10:15:02\t From  Ann : Hello.\n10:15:04\t From  Ben  to  Ann(Direct Message) : Hi!\n"
        "10:16:00\t From  Ann : Bye.\n",
        "10:15:02 From Ann to Everyone:\n\tHello.\n10:15:04 From Ben to Everyone:\n\tHi!\n"
        "10:16:00 From Ann to Ben:\n\tBye.\n",
        "00:00:00\n\nAnn: Hello.\nBen: Hi!\n\n00:05:00\n\nAnn: Bye.\n",
        "Ann  0:01\nHello.\n\nBen  0:02\nHi!\n\nAnn  0:03\nBye.\n\nTranscribed by https://x.example\n",
    ],
)
def test_lines_with_names(text: str) -> None:
    assert said(text, "transcript") == [("Ann", "Hello."), ("Ben", "Hi!"), ("Ann", "Bye.")]


def test_line_ends_of_old_macs() -> None:
    known, turns = corpora.heard("Ann: Hello.\rBen: Hi!\rAnn: Bye.\r", "file.txt")
    assert (known.name, [turn.speaker for turn in turns]) == ("transcript", ["Ann", "Ben", "Ann"])


def test_a_heading_is_nobodys() -> None:
    text = "# Weekly meeting\nDate: 3 May 2026\nPresent: Ann, Ben\n\nAnn: Hello.\nBen: Hi!\nAnn: Bye.\n"
    assert said(text, "transcript") == [
        (None, "Weekly meeting"),
        (None, "Date: 3 May 2026"),
        (None, "Present: Ann, Ben"),
        ("Ann", "Hello."),
        ("Ben", "Hi!"),
        ("Ann", "Bye."),
    ]


def test_long_turns_run_over_several_lines() -> None:
    text = "Ann: I saw\nhim there,\nand then he left.\n\nBen: Who\nwas it,\nagain?\n\nAnn: Carl.\nHe was late.\n"
    assert said(text, "transcript") == [
        ("Ann", "I saw him there, and then he left."),
        ("Ben", "Who was it, again?"),
        ("Ann", "Carl."),
        ("Ann", "He was late."),
    ]


def test_a_phrase_before_a_colon_is_no_speaker() -> None:
    text = "Ann: Hello.\nOne more thing: it is late.\nBen: Hi!\nAnn: Bye.\n"
    assert ("Ann", "One more thing: it is late.") in said(text, "transcript")


@pytest.mark.parametrize(
    "text",
    [
        "Name: Ann\nBorn: 1980\nTown: Rome\nJob: Nurse\nPhone: none\n",
        "Note: this is not speech.\n",
        "He had one wish: peace.\nHe never said so.\n",
        "Ann came in.\nShe said: hello.\nBen laughed.\nThen he left.\n",
        "[1] See the note.\n",
        "Step 1: Ann mixes the flour.\nStep 2: She beats it.\n",
        "[10:15] It began.\n",
        "{x} is a set.\n",
    ],
)
def test_other_texts_are_no_transcripts(text: str) -> None:
    assert corpora.guess(text, "file").name == "text"


# WhatsApp


@pytest.mark.parametrize(
    "head",
    [
        "03/05/2026, 10:0{n} - {name}: ",
        "5/3/26, 10:0{n} AM - {name}: ",
        "5/3/26, 10:0{n}" + NARROW + "AM - {name}: ",
        "03.05.26, 10:0{n} - {name}: ",
        "2026-05-03, 10:0{n} - {name}: ",
        "03/05/2026 10:0{n} - {name}: ",
        "[03/05/2026, 10:01:0{n}] {name}: ",
        "[03.05.26, 10:01:0{n}] {name}: ",
        "[5/3/26, 10:01:0{n}" + NARROW + "AM] {name}: ",
        MARK + "[03/05/2026, 10:01:0{n}] ~" + NARROW + "{name}: ",
        "[03/05/2026 10:01:0{n}] {name}: ",
        "[2026-05-03 10:01:0{n}] {name}: ",
        "3/5/26, 10:0{n}" + NARROW + "a." + NARROW + "m. - {name}: ",
        "3.5.2026 klo 10.0{n} - {name}: ",
        "2026. 05. 03. 10:0{n} - {name}: ",
        "03/05/2026 à 10:0{n} - {name}: ",
    ],
)
def test_whatsapp(head: str) -> None:
    def line(n: int, name: str, words: str) -> str:
        return head.format(n=n, name=name) + words + "\n"

    text = (
        line(1, "Ann Kern", "Hello.\nSecond line: more.") + line(2, "Ben", "Hi!") + line(3, "Ann Kern", "Bye: now.")
    )
    assert said(text, "whatsapp") == [
        ("Ann Kern", "Hello."),
        ("Ann Kern", "Second line: more."),
        ("Ben", "Hi!"),
        ("Ann Kern", "Bye: now."),
    ]


def test_what_whatsapp_itself_says_is_not_speech() -> None:
    android = (
        "03/05/2026, 09:58 - Messages and calls are end-to-end encrypted. Only people in this chat can read them.\n"
        '03/05/2026, 09:59 - Ann created group "Trip: Rome"\n'
        "03/05/2026, 09:59 - Ann added Ben\n"
        "03/05/2026, 10:00 - Ann: <Media omitted>\n"
        "03/05/2026, 10:00 - Ann: IMG-20260503-WA0001.jpg (file attached)\n"
        "03/05/2026, 10:01 - Ann: This message was deleted\n"
        "03/05/2026, 10:02 - Ann: IMG-2.jpg (file attached)\nHis new car.\n"
        "03/05/2026, 10:03 - Ben: He left. <This message was edited>\n"
        "03/05/2026, 10:04 - Ben: <Medien ausgeschlossen>\n"
        "03/05/2026, 10:04 - Ben: IMG-20260503-WA0003.jpg (archivo adjunto)\n"
        "03/05/2026, 10:04 - Ben: Ce message a été supprimé\n"
        "03/05/2026, 10:04 - Ann a changé le sujet de « Trip » en « Trip : Rome »\n"
    )
    assert said(android, "whatsapp") == [("Ann", "His new car."), ("Ben", "He left.")]
    ios = (
        f"[03/05/2026, 09:58:00] Trip: {MARK}Messages and calls are end-to-end encrypted.\n"
        f"[03/05/2026, 09:59:00] Ann: {MARK}Ann created this group\n"
        f"{MARK}[03/05/2026, 10:00:00] Ann: {MARK}image omitted\n"
        f"{MARK}[03/05/2026, 10:01:00] Ann: {MARK}<attached: 00000012-PHOTO-2026-05-03.jpg>\n"
        "[03/05/2026, 10:03:00] Ben: Ask @\u2068Ann Kern\u2069. He left.\n"
        f"{MARK}[03/05/2026, 10:04:00] Ann: I do. {MARK}<attached: 00000013-PHOTO-2026-05-03.jpg>\n"
        f"[03/05/2026, 10:05:00] Ann: Look. {MARK}<This message was edited>\n"
        f"{MARK}[03/05/2026, 10:06:00] Ann: plan.pdf • {MARK}3 pages {MARK}document omitted\n"
        f"{MARK}[03/05/2026, 10:07:00] Ann: {MARK}Bild weggelassen\n"
    )
    assert said(ios, "whatsapp") == [
        ("Ben", "Ask @Ann Kern."),
        ("Ben", "He left."),
        ("Ann", "I do."),
        ("Ann", "Look."),
    ]


# Slack and Discord


def slack(text: str, user: str = "U1", ts: str = "1777802460.000200", **more: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": ts, **more}


def test_slack() -> None:
    ann = {"real_name": "Ann Kern", "display_name": "", "name": "ann"}
    messages = [
        slack("<@U2> has joined the channel", "U2", subtype="channel_join"),
        slack("<@U2> see <https://x.example|the plan> &amp; <#C1|general>. It is *late*.", user_profile=ann),
        slack("<@U1>, I _did_. <https://y.example>", "U2", "1777802461.1", user_profile={"display_name": "ben"}),
        {"type": "message", "subtype": "bot_message", "text": "Build done.", "username": "CI", "ts": "1777802462.0"},
        slack("", "U1", "1777802463.0", files=[{"id": "F1"}]),
    ]
    expected = [
        ("Ann Kern", "@ben see the plan & #general."),
        ("Ann Kern", "It is late."),
        ("ben", "@Ann Kern, I did. https://y.example"),
        ("CI", "Build done."),
    ]
    assert said_in(messages, "slack") == expected
    assert said_in({"ok": True, "messages": messages[::-1]}, "slack") == expected


def test_a_slack_export_is_a_directory(tmp_path: Path) -> None:
    (tmp_path / "general").mkdir()
    (tmp_path / "users.json").write_text('[{"id": "U1"}]', encoding="utf-8")
    (tmp_path / "channels.json").write_text("[]", encoding="utf-8")
    for day in ("2026-05-03", "2026-05-04"):
        (tmp_path / "general" / f"{day}.json").write_text(json.dumps([slack("Hello.")]), encoding="utf-8")
    assert [document.id for document in corpora.read(tmp_path)] == ["2026-05-03", "2026-05-04"]


def test_names_in_a_slack_export_are_those_of_its_users(tmp_path: Path) -> None:
    users = [
        {"id": "U1", "name": "ann", "profile": {"display_name": "Annie", "real_name": "Ann Kern"}},
        {"id": "U2", "name": "ben", "real_name": "Ben Ortiz", "profile": {"display_name": ""}},
    ]
    (tmp_path / "users.json").write_text(json.dumps(users))
    day = tmp_path / "general" / "2026-05-03.json"
    day.parent.mkdir()
    day.write_text(json.dumps([slack("Ask <@U2> or <@U3>."), slack("I did.", "U2", "1777802461.1")]))
    for path in (tmp_path, day):
        (document,) = corpora.read(path)
        assert document.text == "Ask @Ben Ortiz or @U3.\nI did."
        assert [sentence.speaker for sentence in document.sentences] == ["Annie", "Ben Ortiz"]


def test_discord() -> None:
    def message(number: int, kind: Any, content: str, **author: Any) -> dict[str, Any]:
        return {
            "id": str(number),
            "type": kind,
            "timestamp": f"2026-05-03T10:0{number}:00+00:00",
            "content": content,
            "author": author,
            "mentions": [{"id": "7", "name": "ann", "nickname": "Ann"}],
        }

    exported = [
        message(1, "GuildMemberJoin", "Joined the server.", id="8", name="ben_1", nickname="Ben"),
        message(2, "Default", "Where is <@7>? <a:wave:123>", id="8", name="ben_1", nickname="Ben"),
        message(3, "Reply", "Here I am.", id="7", name="ann", nickname="Ann"),
        message(4, "Default", "", id="7", name="ann", nickname="Ann"),
    ]
    expected = [("Ben", "Where is @Ann? :wave:"), ("Ann", "Here I am.")]
    assert (
        said_in({"guild": {"id": "1"}, "channel": {}, "messages": exported, "messageCount": 4}, "discord") == expected
    )
    api = [
        message(3, 19, "Here I am.", username="ann", global_name="Ann"),
        message(2, 0, "Where is <@7>? <a:wave:123>", username="ben_1", global_name="Ben"),
        message(1, 7, "", username="ben_1", global_name="Ben"),
    ]
    assert said_in(api, "discord") == expected


# Messages of chat models


def test_messages_with_roles() -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "name": "Ann", "content": [{"type": "text", "text": "Who is he?"}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "content": '{"name": "Ben"}'},
        {"role": "assistant", "content": [{"type": "output_text", "text": "He is Ben."}]},
    ]
    expected = [("system", "Be kind."), ("Ann", "Who is he?"), ("assistant", "He is Ben.")]
    assert said_in(messages, "messages") == expected
    assert said_in({"model": "m", "messages": messages}, "messages") == expected
    assert said("\n".join(map(json.dumps, messages)), "messages") == expected
    conversations = "\n".join(json.dumps({"messages": messages}) for _ in range(2))
    assert [document.id for document in read(conversations, "messages")] == ["file-1", "file-2"]
    sharegpt = {"id": "c7", "conversations": [{"from": "human", "value": "Who?"}, {"from": "gpt", "value": "Ben."}]}
    assert said_in([sharegpt], "messages") == [("human", "Who?"), ("gpt", "Ben.")]


# Transcriptions


def test_whisper_says_nothing_twice() -> None:
    words = [{"word": " He", "start": 0.0, "end": 0.4}, {"word": " left.", "start": 0.4, "end": 0.9}]
    segments = [
        {"id": 0, "start": 0.0, "end": 1.0, "text": " He left.", "tokens": [1, 2], "words": words},
        {"id": 1, "start": 1.0, "end": 2.0, "text": " [Music] Then Ann"},
        {"id": 2, "start": 2.0, "end": 3.0, "text": " came."},
    ]
    expected = [(None, "He left."), (None, "Then Ann came.")]
    whole = {"text": " He left. [Music] Then Ann came.", "segments": segments, "language": "en"}
    assert said_in(whole, "whisper") == expected
    assert said_in({"segments": segments, "word_segments": words, "language": "en"}, "whisper") == expected
    assert said_in(segments, "whisper") == expected
    assert said("\n".join(map(json.dumps, segments)), "whisper") == expected
    chunks = [{"timestamp": [0.0, 1.0], "text": " He left."}, {"timestamp": [1.0, None], "text": " Then Ann came."}]
    assert said_in({"text": " He left. Then Ann came.", "chunks": chunks}, "whisper") == expected
    stamps = {"from": "00:00:00,000", "to": "00:00:01,000"}
    cpp = [{"timestamps": stamps, "offsets": {"from": 0, "to": 9}, "text": " He left."}]
    assert said_in({"systeminfo": "x", "transcription": cpp}, "whisper") == expected[:1]


def test_whisperx_knows_speakers_of_segments_and_of_words() -> None:
    segments = [
        {"start": 0.0, "end": 1.0, "text": " He left.", "speaker": "SPEAKER_00"},
        {
            "start": 1.0,
            "end": 2.0,
            "text": " Who? Carl.",
            "speaker": "SPEAKER_01",
            "words": [
                {"word": "Who?", "start": 1.0, "end": 1.4, "score": 0.9, "speaker": "SPEAKER_01"},
                {"word": "Carl.", "start": 1.5, "end": 2.0, "score": 0.9, "speaker": "SPEAKER_00"},
            ],
        },
    ]
    (document,) = read(json.dumps({"segments": segments, "word_segments": []}), "whisper")
    assert [(s.speaker, document.text[s.start : s.end]) for s in document.sentences] == [
        ("SPEAKER_00", "He left."),
        ("SPEAKER_01", "Who?"),
        ("SPEAKER_00", "Carl."),
    ]
    assert document.sentences[0].attributes == (("from", "00:00:00.000"), ("to", "00:00:01.000"))


# Subtitles


def srt(*cues: str) -> str:
    return "".join(f"{n}\n00:00:{n:02},000 --> 00:00:{n:02},900\n{cue}\n\n" for n, cue in enumerate(cues, start=1))


@pytest.mark.parametrize(
    ("cue", "spoken"),
    [
        ("[door slams] He left.", "He left."),
        ("[door\nslams]\nHe left.", "He left."),
        ("(SIGHS) He left.", "He left."),
        ("(sighs) He left.", "He left."),
        ("He left. (laughs)", "He left."),
        ("(Thunder rumbles)\nHe left.", "He left."),
        ("- (chuckles) He left.", "He left."),
        ("He left. ♪ la la la ♪", "He left."),
        ("♪ la la la\nla la ♪\nHe left.", "He left."),
        ("# la la la #\nHe left.", "He left."),
        ('<font color="#ffff00">He</font> <b>left</b>.', "He left."),
        ("{\\an8}He left.", "He left."),
        ("He (Carl) left.", "He (Carl) left."),
        ("He left &amp; ran.", "He left & ran."),
    ],
)
def test_sounds_songs_and_styling_are_not_speech(cue: str, spoken: str) -> None:
    assert [text for _, text in said(srt(cue, "[music]", "♪♪"), "srt")] == [spoken]


def test_subtitles_of_nothing_but_sounds_are_refused() -> None:
    with pytest.raises(FormatError, match="it contains no speech"):
        read(srt("[music]", "♪ la la ♪"))


@pytest.mark.parametrize(
    "cues",
    [
        "00:00:01.000 --> 00:00:02.000\n<v Ann Kern>Hello.</v>\n\n00:00:03.000 --> 00:00:04.000\n<v Ben>Hi!</v>\n",
        "1\n00:00:01.000 --> 00:00:02.000\nAnn Kern: Hello.\n\n2\n00:00:03.000 --> 00:00:04.000\nBen: Hi!\n\n"
        "3\n00:00:05.000 --> 00:00:06.000\nAnn Kern: Yes.\n\n4\n00:00:07.000 --> 00:00:08.000\nBen: No.\n",
        "7e1c-0\n00:00:01.000 --> 00:00:02.000\n<v Ann Kern>Hello.\n</v>\n\nNOTE x\n\n"
        "7e1c-1\n00:00:03.000 --> 00:00:04.000 position:0%\n<v.loud Ben>Hi!</v>\n",
    ],
)
def test_transcripts_of_teams_and_zoom(cues: str) -> None:
    assert said(f"WEBVTT\n\n{cues}", "webvtt")[:2] == [("Ann Kern", "Hello."), ("Ben", "Hi!")]


def test_captions_that_scroll_are_said_once() -> None:
    text = (
        "WEBVTT\nKind: captions\nLanguage: en\n\n"
        "00:00:01.000 --> 00:00:03.000 align:start position:0%\n \nhe<00:00:01.400><c> left</c>\n\n"
        "00:00:03.000 --> 00:00:03.010 align:start position:0%\nhe left\n \n\n"
        "00:00:03.010 --> 00:00:05.000 align:start position:0%\nhe left\nand<00:00:03.500><c> ran</c>\n\n"
        "00:00:05.000 --> 00:00:05.010 align:start position:0%\nand ran\n \n"
    )
    assert said(text, "webvtt") == [(None, "he left and ran")]


def test_ass() -> None:
    text = (
        "[Script Info]\nScriptType: v4.00+\n\n[Events]\n"
        "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
        "Dialogue: 0,0:00:05.00,0:00:06.00,Default,Ben,0,0,0,,{\\i1}Hi{\\i0}, Ann!\\NHow are you?\n"
        "Dialogue: 0,0:00:01.00,0:00:02.00,Default,Ann,0,0,0,,Hello, Ben.\n"
        "Comment: 0,0:00:02.00,0:00:03.00,Default,Ann,0,0,0,,not shown\n"
        "Dialogue: 0,0:00:07.00,0:00:09.00,OP - Romaji,,0,0,0,,la la la\n"
        "Dialogue: 0,0:00:07.00,0:00:09.00,Default,,0,0,0,,{\\k20}la {\\k30}la\n"
        "Dialogue: 0,0:00:07.00,0:00:09.00,Default,,0,0,0,,{\\p1}m 0 0 l 10 0 10 10{\\p0}\n"
        "Dialogue: 0,0:00:10.00,0:00:11.00,Default,,0,0,0,,Fine.\n"
    )
    assert said(text, "ass") == [
        ("Ann", "Hello, Ben."),
        ("Ben", "Hi, Ann!"),
        ("Ben", "How are you?"),
        (None, "Fine."),
    ]
    with pytest.raises(FormatError) as caught:
        read(text + "Dialogue: 0,0:00:12.00\n")
    assert caught.value.line == 13


# JSON lines of text


def test_ids_of_turns_and_ids_of_documents() -> None:
    turns = [{"text": "Hello.", "speaker": "Ann", "id": 1}, {"text": "Hi!", "speaker": "Ben", "id": 2}]
    expected = [("Ann", "Hello."), ("Ben", "Hi!")]
    assert said("\n".join(map(json.dumps, turns)), "text-jsonlines") == expected
    assert said_in(turns, "text-jsonlines") == expected
    numbered = [{**turn, "speaker": n} for n, turn in enumerate(turns)]
    assert said_in(numbered, "text-jsonlines") == [("0", "Hello."), ("1", "Hi!")]
    apart = [{**turn, "document": f"d{turn['id']}"} for turn in turns]
    assert [document.id for document in read("\n".join(map(json.dumps, apart)))] == ["d1", "d2"]


# Mail

HEADERS = (
    "From: Ben Ortiz <ben@x.example>\nTo: Ann <ann@x.example>\nSubject: Re: The car\n"
    "Date: Sun, 3 May 2026 10:04:00 +0000\n"
)


@pytest.mark.parametrize(
    "quote",
    [
        "On Sun, May 3, 2026 at 10:01 AM Ann Kern <ann@x.example> wrote:\n> Where is he?\n",
        "On Sun, May 3, 2026 at 10:01 AM Ann Kern <\nann@x.example> wrote:\n\n> Where is he?\n",
        "On 3 May 2026, at 10:01, Ann Kern <ann@x.example> wrote:\n>\n> Where is he?\n",
        "On Sun, 3 May 2026 10:01:00 +0000\nAnn Kern <ann@x.example> wrote:\n> Where is he?\n",
        "Ann Kern wrote:\n> Where is he?\n",
        "Ann Kern wrote on 03.05.2026 10:01:\n> Where is he?\n",
        "_______________________________________________\nharbour mailing list\n\nAnn Kern wrote:\n> Where is he?\n",
        "Sent from my iPhone\n\n> On 3 May 2026, at 10:01, Ann Kern <ann@x.example> wrote:\n>\n> Where is he?\n",
        "-- \nBen Ortiz\nHarbour office\n\nOn Sun, May 3, 2026 at 10:01 AM Ann Kern wrote:\n\n> Where is he?\n",
        "Am 03.05.2026 um 10:01 schrieb Ann Kern:\n> Where is he?\n",
        "Le dim. 3 mai 2026 à 10:01, Ann Kern <ann@x.example> a écrit :\n> Where is he?\n",
        "-----Original Message-----\nFrom: Ann Kern <ann@x.example>\nSent: Sunday\nTo: Ben\n\nWhere is he?\n",
        "________________________________\nFrom: Ann Kern\nSent: Sunday\nTo: Ben\n\nWhere is he?\n",
    ],
)
def test_a_quoted_reply_is_its_authors(quote: str) -> None:
    text = f"{HEADERS}\nHe left.\n\nI saw him.\n\n{quote}"
    assert said(text, "mail") == [
        ("Ann Kern", "Where is he?"),
        ("Ben Ortiz", "He left."),
        ("Ben Ortiz", "I saw him."),
    ]


def test_mail_that_does_not_say_how_it_is_encoded_is_in_utf8() -> None:
    assert said(f"{HEADERS}\nHe left the café.\n", "mail") == [("Ben Ortiz", "He left the café.")]


def test_answers_between_what_they_answer() -> None:
    body = "Ann wrote:\n> Where is he?\n\nHe left.\n\n> And she?\n\nShe stayed.\n\n-- \nBen Ortiz\nx.example\n"
    text = f"{HEADERS}\n{body}"
    assert said(text, "mail") == [
        ("Ann", "Where is he?"),
        ("Ben Ortiz", "He left."),
        (None, "And she?"),
        ("Ben Ortiz", "She stayed."),
    ]


def test_mail_in_parts_encodings_and_tags(tmp_path: Path) -> None:
    html = (
        "<html><head><style>p {}</style></head><body><p>He left for <b>Caf&eacute;</b> Roma.</p>"
        '<div class="gmail_quote">On Sun, 3 May 2026 at 10:01, Ann &lt;ann@x.example&gt; wrote:<br>'
        "<blockquote><div>Where is he?</div></blockquote></div></body></html>"
    )
    expected = [("Ann", "Where is he?"), ("Ben Ortiz", "He left for Café Roma.")]
    assert said(f"{HEADERS}Content-Type: text/html; charset=utf-8\n\n{html}\n", "mail") == expected
    body = (
        f"{HEADERS}MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=b\n\n"
        "--b\nContent-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\n"
        f"He left for Caf=E9 Roma.\n\n--b\nContent-Type: text/html; charset=utf-8\n\n{html}\n--b--\n"
    )
    assert said(body, "mail") == expected[1:]
    file = tmp_path / "latin.eml"
    eight_bits = (
        f"{HEADERS}Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: 8bit\n\nCafé Roma.\n"
    )
    file.write_bytes(eight_bits.encode("latin-1"))
    (document,) = corpora.read(file)
    assert document.text == "Café Roma."


def test_threads_of_a_mailbox_are_documents() -> None:
    def message(n: int, name: str, subject: str, body: str, answers: int | None = None) -> str:
        reference = f"In-Reply-To: <{answers}@x.example>\n" if answers else ""
        return (
            f"From {name}@x.example Sun May  3 10:0{n}:00 2026\nFrom: {name} <{name}@x.example>\nSubject: {subject}\n"
            f"Message-ID: <{n}@x.example>\n{reference}\n{body}\n\n"
        )

    text = (
        message(1, "ann", "The car", "Where is he?\n\n>From here he went on.")
        + message(2, "carl", "Lunch", "Who comes?")
        + message(3, "ben", "Re: The car", "He left.\n\nann wrote:\n> Where is he?", answers=1)
        + message(4, "ann", "Re: Lunch", "Yes.")
        + message(5, "carl", "Re: Lunch", "Yes.")
    )
    car, lunch = read(text, "mail", "inbox.mbox")
    assert (car.id, lunch.id) == ("inbox-1", "inbox-2")
    assert [(s.speaker, car.text[s.start : s.end]) for s in car.sentences] == [
        ("ann", "Where is he?"),
        ("ann", "From here he went on."),
        ("ben", "He left."),
    ]
    assert [s.speaker for s in lunch.sentences] == ["carl", "ann", "carl"]


# JSON that is none of these


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"name": "x", "version": 1}', "an object with 'name', 'version'"),
        ("[1, 2, 3]", "a list of 3, the first of them a number"),
        ("[]", "an empty list"),
        ("{}", "an empty object"),
        ('[{"a": 1}]', "an object with 'a'"),
        ('{\n  "a": [],\n  "b": 2\n}', "an object with 'a', 'b'"),
        ('{"a": 1', "starts like JSON but is not"),
        ('[{"text": "x"},', "starts like JSON but is not"),
    ],
)
def test_other_json_is_refused_with_what_was_found(text: str, found: str) -> None:
    with pytest.raises(FormatError) as caught:
        corpora.guess(text, "file.json")
    assert found in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '[{"role": "user", "content": 1}]',
        '[{"role": "user", "content": "x"}, 3]',
        '[{"ts": "1", "text": ["x"]}]',
        '{"text": "", "segments": []}',
        '{"messages": [{"author": {}, "content": 7}]}',
        '[{"start": 0, "end": 1, "text": 5}]',
        '[{"text": "x"}, "y"]',
    ],
)
def test_faults_in_json_are_errors(text: str) -> None:
    with pytest.raises(FormatError):
        read(text)


def test_a_mailbox_whose_first_line_is_damaged_is_no_mailbox(tmp_path: Path) -> None:
    file = tmp_path / "mail.mbox"
    file.write_text("From \n\nWe begin.\n", encoding="utf-8")
    with pytest.raises(FormatError, match="no message with a header 'From:'"):
        list(corpora.read(file, "mail"))
