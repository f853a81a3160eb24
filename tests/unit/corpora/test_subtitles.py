"""Who speaks in subtitles, and what in them is a sound."""

from __future__ import annotations

import pytest

from incoref import corpora

Said = list[tuple[str | None, str]]


def vtt(*cues: str) -> str:
    return "WEBVTT\n\n" + "".join(
        f"{n}\n00:00:{n:02}.000 --> 00:00:{n:02}.900\n{cue}\n\n" for n, cue in enumerate(cues, start=1)
    )


def said(text: str) -> Said:
    return [(turn.speaker, turn.text) for turn in corpora.heard(text, "film.vtt")[1]]


def test_in_a_transcript_of_zoom_everybody_has_a_name_even_who_speaks_once() -> None:
    text = vtt(
        "Ann Kern: Hello.",
        "Ann Kern: He left.",
        "Ben Ortiz (he/him): Who?",
        "carl's iPhone: One thing: I did.",
        "Ann Kern: Oh.",
    )
    assert said(text) == [
        ("Ann Kern", "Hello. He left."),
        ("Ben Ortiz", "Who?"),
        ("carl's iPhone", "One thing: I did."),
        ("Ann Kern", "Oh."),
    ]


def test_in_films_a_phrase_before_a_colon_is_no_name() -> None:
    text = vtt("He left.", "Listen: he left.", "BEN: Who?", "I told you.", "One thing: no.")
    assert said(text) == [(None, "He left. Listen: he left."), ("BEN", "Who? I told you. One thing: no.")]


def test_speakers_that_change_within_a_line_and_names_in_other_letters() -> None:
    text = vtt(">> BEN: Yes. >> ANN: No.", "Ben: Why?", "He left.")
    assert said(text) == [("BEN", "Yes."), ("ANN", "No."), ("BEN", "Why? He left.")]


@pytest.mark.parametrize("number", ["", "{n}\n"])
@pytest.mark.parametrize("gap", ["", "\n"])
def test_srt_without_blank_lines_or_without_numbers(number: str, gap: str) -> None:
    cues = ["Anna left.", "1984", "It was."]
    text = "".join(
        f"{number.format(n=n)}00:00:0{n},000 --> 00:00:0{n},900\n{cue}\n{gap}" for n, cue in enumerate(cues, start=1)
    )
    known, turns = corpora.heard(text, "film.srt")
    assert known.name == "srt"
    assert [turn.text for turn in turns] == ["Anna left. 1984 It was."]


def test_songs_over_two_subtitles() -> None:
    assert said(vtt("♪ one, two", "three, four ♪", "He left.", "♪♪", "He ran. ♪", "♪ five", "She ran.")) == [
        (None, "He left. He ran. She ran.")
    ]


@pytest.mark.parametrize("cue", ["[BEN] I did.", "(Ben) I did.", "- [Ben] I did."])
def test_the_name_of_a_speaker_in_brackets_is_no_sound(cue: str) -> None:
    assert said(vtt("He left.", "BEN: Who?", "ANN: You.", cue, "[BANG] No."))[-1] == ("BEN", "I did. No.")


@pytest.mark.parametrize(
    ("cue", "spoken"),
    [
        ("She saw (sighs) her boat.", "She saw her boat."),
        ("You saw him (laughs softly) there?", "You saw him there?"),
        ("What (footsteps approaching) is it?", "What is it?"),
        ("I saw him. (DOOR SLAMS)", "I saw him."),
        ("I saw (SIGHS) him.", "I saw him."),
        ("She (as you know) left (late) for London (UK).", "She (as you know) left (late) for London (UK)."),
    ],
)
def test_sounds_within_a_sentence(cue: str, spoken: str) -> None:
    assert said(vtt(cue)) == [(None, spoken)]
