"""Decides whether a sentence ends in a gap between two stretches of text, or whether more text is needed.

A decision depends on the stretch before the gap, the gap, and no more of the following text than necessary. It is
WAIT instead of a guess as long as text yet to arrive could change it. Of what precedes the sentence, only its column
is known. Knows nothing about words.
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
"""A line counts as wrapped if it isn't longer than the second, and the next word would make it exceed the first."""

SHORTEST_UNFINISHED = 30
"""A shorter line is a heading even if it ends like "Getting in"."""

LONGEST_GAP = 1000
"""More blanks than this end a paragraph."""

LONGEST_ABBREVIATION = 6
"""Before a lower-case letter, the full stop after a longer word is taken for a typo."""

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
    """A run of blanks in a text that may still grow, with its context."""

    text: str
    sentence: int
    """Where the sentence starts."""
    stretch: int
    """Where the stretch before the gap starts."""
    start: int
    end: int
    column: int
    """Number of characters before the sentence on its line, not counting indentation."""
    final: bool
    """Whether the text is complete."""

    @property
    def breaks_line(self) -> bool:
        return _LINE_BREAK.search(self.text, self.start, self.end) is not None

    def matched(self, pattern: re.Pattern[str], at: int) -> str:
        """Return what the pattern matches at a position; raise ``_Unread`` if later text could change the match."""
        match = pattern.match(self.text, at)
        assert match is not None
        if match.end() == len(self.text) and not self.final:
            raise _Unread
        return match[0]


class _Unread(Exception):
    """A decision needs characters that haven't arrived yet."""


def ends_paragraph(blanks: str) -> bool:
    """Whether blanks contain a blank line or a paragraph separator, or are very many."""
    return len(blanks) > LONGEST_GAP or "\u2029" in blanks or len(_LINE_BREAK.findall(blanks)) > 1


def column_at(text: str, start: int, at: int, column: int) -> int:
    """The number of characters before ``at`` on its line, without indentation; ``column`` is that of ``start``."""
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
    """The last stretch before the gap, ignoring footnote marks, emoji, emoticons and closing brackets."""
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
    """The position of the first character after the gap that isn't a quote, bracket or dash."""
    openers = gap.matched(_OPENERS, gap.end)
    at = gap.end + len(openers)
    return at + len(gap.matched(_SOME_BLANKS, at)) if openers in _DASHES else at


def _is_lower_case(gap: Gap) -> bool:
    """Whether the sentence starts with a lower-case letter, so that the next one may, too."""
    return gap.text[gap.sentence].islower()


def _is_numbering(gap: Gap, base: str) -> bool:
    """Whether the stretch is the number of an item or heading on the same line."""
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
    """Whether a speaker breaks off at a dash and starts again: "that's what — The reason is"."""
    if gap.text[gap.stretch : gap.start] not in _DASHES[:3] or gap.stretch == gap.sentence:
        return False
    if not gap.text[gap.end].isupper():
        return False
    return gap.matched(_LETTERS, gap.end).lower() in RESTARTS


def _is_caption(gap: Gap) -> bool:
    """Whether the sentence is just a label such as "Figure 1.2" before its caption."""
    words = gap.text[gap.sentence : min(gap.start, gap.sentence + 24)].split()
    return (
        len(words) == 2
        and words[0] in CAPTIONS
        and words[1][-1].isdigit()
        and gap.text[gap.end].isupper()
        and gap.column == 0
    )


def _is_wrapped(gap: Gap) -> bool:
    """Whether the line break stands for a space: the next word might not have fitted on the line."""
    length = column_at(gap.text, gap.sentence, gap.start, gap.column)
    return length <= LONGEST_WRAPPED and length + 1 + len(gap.matched(_STRETCH, gap.end)) > NARROWEST_PAGE


def _ends_short_line(gap: Gap) -> bool:
    return gap.breaks_line and not _is_wrapped(gap)


def _after_line(gap: Gap) -> Verdict:
    """Decide at the end of a line without a full stop: it may be wrapped, or a heading, list item or utterance."""
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
