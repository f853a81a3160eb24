"""Whether a sentence ends between two stretches of text, or whether more must be read to tell.

A judgement looks at the stretch before a gap, at the gap, and at no more of what follows than it needs; it says
WAIT rather than guess while the text may still go on in a way that matters. It knows nothing of what came before
the sentence but how far into its line the text starts, and nothing of words.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from incoref.text.characters import (
    BLANK,
    CLOSERS,
    EMOJI,
    FULL_WIDTH_STOPS,
    JOINERS,
    LINE_BREAKS,
    OPENERS,
    SKIN_TONES,
)
from incoref.text.lexicon import (
    CAPTIONS,
    CONNECTING,
    ENDINGS,
    INNER,
    OPENINGS,
    REFERENCES,
    RESTARTS,
    SPEECH,
    TITLES,
)


class Verdict(Enum):
    END = "the sentence ends in this gap"
    GO_ON = "the sentence goes on"
    ABBREVIATED = "the sentence goes on, and the full stop before the gap belongs to an abbreviation"
    WAIT = "what follows will tell"


NARROWEST_PAGE, LONGEST_WRAPPED = 64, 120
"""A line is taken for wrapped if it is no longer than this and the next word would not fit on a page so narrow."""

SHORTEST_UNFINISHED = 30
"""A shorter line is a heading even if it ends like "Getting in"."""

LONGEST_GAP = 1000
"""More blanks than these are taken for the end of a paragraph."""

LONGEST_ABBREVIATION = 6
"""Of a longer word before a small letter the full stop is taken for a slip."""

_USUAL_LINE = 256
_LOOK_BACK = _LOOK_AHEAD = 80
_STOPS = ".!?…"
_FOREIGN_STOPS = FULL_WIDTH_STOPS + "؟۔।॥։።"
_GOING_ON = ",;:.!?…%"
_DASHES = ("—", "–", "--", "-")
_DECORATIONS = rf"\[\w{{1,3}}\]|[)\]}}”’»]|{EMOJI}[{JOINERS}{SKIN_TONES}]*+|[:;]-?[()DP](?=$|[{BLANK}])"
_DECORATED = re.compile(rf"(?:[{BLANK}]*+(?:{_DECORATIONS}))+$")
_DECORATION = re.compile(rf"(?:{_DECORATIONS})+\.?")
_DECORATION_START = re.compile(rf"[\[)\]}}”’»:;]|{EMOJI}")
_BLANKS = re.compile(rf"[{BLANK}]*+")
_SOME_BLANKS = re.compile(rf"[{BLANK}]{{0,{_LOOK_AHEAD}}}+")
_STRETCH = re.compile(rf"[^{BLANK}]{{0,{_LOOK_AHEAD}}}+")
_LAST_STRETCH = re.compile(rf"[^{BLANK}]*+$")
_LETTERS = re.compile(rf"[^\W\d_]{{0,{_LOOK_AHEAD}}}+")
_OPENERS = re.compile(rf"[{re.escape(OPENERS)}]{{0,{_LOOK_AHEAD}}}+")
_LAST_WORD = re.compile(r"[\w.'’]+$")
_INITIALS = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,3}|[^\W\d_]")
_NUMBER = r"\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,4}|\d{1,2}(?:\.\d{1,2}){1,3})"
_NUMBERING = re.compile(_NUMBER)
_NUMBERED = re.compile(rf"{_NUMBER}[.)](?=$|[{BLANK}])")
_BULLET = re.compile(r"[-*•‣▪●◦+]|#{1,6}")
_LINE_BREAK = re.compile(rf"\r\n?|[{LINE_BREAKS}]")


class Gap(NamedTuple):
    """What a judgement is about: blanks in a text to whose end more may be added."""

    text: str
    sentence: int
    """Where the sentence starts."""
    stretch: int
    """Where the stretch before the gap starts."""
    start: int
    end: int
    column: int
    """How many characters stand before the sentence on its line, indentation not counted."""
    final: bool
    """Whether nothing will be added to the text."""

    @property
    def breaks_line(self) -> bool:
        return _LINE_BREAK.search(self.text, self.start, self.end) is not None

    def matched(self, pattern: re.Pattern[str], at: int) -> str:
        """What the pattern matches there, if nothing that arrives later can change it."""
        match = pattern.match(self.text, at)
        assert match is not None
        if match.end() == len(self.text) and not self.final:
            raise _Unread
        return match[0]


class _Unread(Exception):
    """A judgement needs characters that have not arrived."""


def ends_paragraph(blanks: str) -> bool:
    """Whether there is a blank line or a paragraph separator among blanks, or very many of them."""
    return len(blanks) > LONGEST_GAP or "\u2029" in blanks or len(_LINE_BREAK.findall(blanks)) > 1


def column_at(text: str, start: int, at: int, column: int) -> int:
    """How many characters stand before a place on its line, without indentation; ``column`` do at ``start``."""
    lines = f"{text[max(start, at - _USUAL_LINE) : at]}|".splitlines()
    if len(lines) == 1 and at - start > _USUAL_LINE:
        lines = f"{text[start:at]}|".splitlines()
    if len(lines) == 1:
        return column + at - start
    return len(lines[-1]) - 1 - len(_indentation(lines[-1]))


def judge(gap: Gap) -> Verdict:
    """Whether the sentence ends in a gap."""
    blanks = gap.text[gap.start : gap.end]
    if ends_paragraph(blanks):
        return Verdict.END
    if gap.end == len(gap.text):
        return Verdict.END if gap.final else Verdict.WAIT
    try:
        return _judge(gap)
    except _Unread:
        return Verdict.WAIT


def _judge(gap: Gap) -> Verdict:
    stretch = gap.text[gap.stretch : gap.start]
    core = stretch if stretch[-1] in _STOPS else _undecorated(gap).rstrip(CLOSERS)
    base = core.rstrip(_STOPS + _FOREIGN_STOPS)
    if stop := core[len(base) :]:
        closed = stretch[-1] not in _STOPS + _FOREIGN_STOPS
        return _after_stop(gap, base, stop, closed=closed)
    if gap.breaks_line:
        return _after_line(gap)
    return Verdict.END if _breaks_off(gap) or _is_caption(gap) else Verdict.GO_ON


def _indentation(line: str) -> str:
    match = _BLANKS.match(line)
    return match[0] if match else ""


def _undecorated(gap: Gap) -> str:
    """The last stretch before the gap that is more than a footnote's number, a smile or a bracket closed."""
    before = gap.text[max(gap.sentence, gap.start - _LOOK_BACK) : gap.start]
    if decorated := _DECORATED.search(before):
        before = before[: decorated.start()]
    last = _LAST_STRETCH.search(before)
    return last[0] if last else ""


def _after_stop(gap: Gap, base: str, stop: str, *, closed: bool) -> Verdict:
    if stop[-1] in _FOREIGN_STOPS:
        return Verdict.END
    if _DECORATION_START.match(gap.text, gap.end) and _DECORATION.fullmatch(gap.matched(_STRETCH, gap.end)):
        return Verdict.GO_ON
    head = _head(gap)
    following = gap.text[head : head + 1]
    if following and following in _GOING_ON:
        return Verdict.GO_ON
    if stop == ".":
        return _after_full_stop(gap, base, head, closed=closed)
    if not base.strip(OPENERS) and gap.stretch == gap.sentence:
        return Verdict.GO_ON
    if following.islower():
        ends = stop[-1] == "!" or _is_lower_case(gap) or _ends_short_line(gap)
        return Verdict.END if ends and not closed else Verdict.GO_ON
    if stop[-1] in ".…" and following.isdigit():
        return Verdict.GO_ON
    if closed and following.isupper() and _is_attribution(gap):
        return Verdict.GO_ON
    return Verdict.END


def _after_full_stop(gap: Gap, base: str, head: int, *, closed: bool) -> Verdict:
    abbreviated = Verdict.GO_ON if closed else Verdict.ABBREVIATED
    following = gap.text[head : head + 1]
    match = _LAST_WORD.search(base)
    word = match[0] if match else ""
    lower = word.lower()
    initials = _INITIALS.fullmatch(word) is not None and word != "I"
    if (lower in TITLES and word[0].isupper()) or word in INNER or _is_numbering(gap, base):
        return abbreviated
    if following.isdigit():
        return abbreviated if initials or lower in REFERENCES or lower in ENDINGS else Verdict.END
    if following.islower() and gap.matched(_LETTERS, head).islower():
        plain = len(word) > 2 and lower not in REFERENCES and lower not in ENDINGS and not initials
        starts = "(" in gap.text[gap.end : head] or _is_lower_case(gap) or _ends_short_line(gap)
        if plain and starts and not closed:
            return Verdict.END
        return abbreviated if len(word) <= LONGEST_ABBREVIATION and not word[-1:].isdigit() else Verdict.GO_ON
    may_go_on = (initials or lower in ENDINGS) and lower not in ("etc", "al")
    if may_go_on and gap.matched(_LETTERS, head).lower() not in OPENINGS and not _ends_short_line(gap):
        return abbreviated
    return Verdict.END


def _head(gap: Gap) -> int:
    """Where the first character after the gap is that is no quote, bracket or dash."""
    openers = gap.matched(_OPENERS, gap.end)
    at = gap.end + len(openers)
    return at + len(gap.matched(_SOME_BLANKS, at)) if openers in _DASHES else at


def _is_lower_case(gap: Gap) -> bool:
    """Whether the writer starts sentences with small letters."""
    return gap.text[gap.sentence].islower()


def _is_numbering(gap: Gap, base: str) -> bool:
    """Whether the stretch numbers the item or heading that follows on its line."""
    return (
        gap.stretch == gap.sentence
        and _NUMBERING.fullmatch(base) is not None
        and not gap.breaks_line
        and gap.column == 0
    )


def _is_attribution(gap: Gap) -> bool:
    """Whether "I asked", "Betty asked" or "Mr. Brown asked" follows."""
    at = gap.end
    for _ in range(3):
        stretch = gap.matched(_STRETCH, at)
        if stretch.rstrip(".,:;").lower() in SPEECH:
            return True
        if not stretch[:1].isupper() or stretch[-1] in ",!?":
            return False
        at += len(stretch)
        at += len(gap.matched(_SOME_BLANKS, at))
    return False


def _breaks_off(gap: Gap) -> bool:
    """Whether a dash stands where a speaker starts again: "that's what — The reason is"."""
    if gap.text[gap.stretch : gap.start] not in _DASHES[:3] or gap.stretch == gap.sentence:
        return False
    if not gap.text[gap.end].isupper():
        return False
    return gap.matched(_LETTERS, gap.end).lower() in RESTARTS


def _is_caption(gap: Gap) -> bool:
    """Whether the sentence is no more than "Figure 1.2" before its caption."""
    words = gap.text[gap.sentence : min(gap.start, gap.sentence + 24)].split()
    return (
        len(words) == 2
        and words[0] in CAPTIONS
        and words[1][-1].isdigit()
        and gap.text[gap.end].isupper()
        and gap.column == 0
    )


def _is_wrapped(gap: Gap) -> bool:
    """Whether the line break stands for a space: the next word may not have fitted on the line."""
    length = column_at(gap.text, gap.sentence, gap.start, gap.column)
    return length <= LONGEST_WRAPPED and length + 1 + len(gap.matched(_STRETCH, gap.end)) > NARROWEST_PAGE


def _ends_short_line(gap: Gap) -> bool:
    return gap.breaks_line and not _is_wrapped(gap)


def _after_line(gap: Gap) -> Verdict:
    """After a line without a full stop: was it wrapped, or is it a heading, an item, an utterance?"""
    last, following = gap.text[gap.stretch : gap.start], gap.matched(_STRETCH, gap.end)
    numbered = _NUMBERED.fullmatch(following) is not None
    if _BULLET.fullmatch(following) or (numbered and _NUMBERED.match(gap.text, gap.sentence)):
        return Verdict.END
    if _is_wrapped(gap):
        return Verdict.END if _breaks_off(gap) else Verdict.GO_ON
    if numbered:
        return Verdict.END
    unfinished = last[-1] == "," or (gap.start - gap.sentence > SHORTEST_UNFINISHED and last.lower() in CONNECTING)
    return Verdict.GO_ON if unfinished or gap.text[_head(gap) :][:1].islower() else Verdict.END
