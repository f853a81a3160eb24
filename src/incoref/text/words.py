"""Tokenises a stretch of text without blanks, following the Penn Treebank conventions as applied in GUM.

Clitics ("do" "n't", "Anna" "'s"), brackets, quotes, currency signs and most hyphens are split off; numbers, web and
e-mail addresses, abbreviations with their full stop, ellipses, emoji and words with an inner apostrophe stay whole.
Works on one stretch at a time, in linear time. Knows nothing about sentences: the caller decides whether a final full
stop belongs to an abbreviation that only context reveals ("J.", "No.").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from incoref.text.characters import BLANK, EMOJI, FLAG_LETTERS, IDEOGRAPHS, JOINERS, MARKS, SKIN_TONES, SYMBOLS
from incoref.text.lexicon import ALWAYS_ABBREVIATED, FUSED, PREFIXES, SUFFIXES, UNITS

Cut = tuple[int, int]
"""Start and end of a word in its stretch."""

CACHED_LENGTH = 24
"""Maximum length of cached stretches; longer ones rarely repeat."""


def _any_of(words: frozenset[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


_LETTER = rf"[^{BLANK}{JOINERS}{SYMBOLS}]"
_REST = rf"[^{BLANK}{SYMBOLS}]*+"
_WORD = _LETTER + _REST
_END = r"(?!\w)"
_ATTACHED = rf"[{JOINERS}{MARKS}{SKIN_TONES}]*+"
_ADDRESS_END = r"(?<![.,;:!?'’)\]}…*>])"

# An alternative that ends in the empty group "word" matches a word that may be split further; all others stay whole.
# Possessive quantifiers only apply to single characters: Python 3.11.2 (Debian 12) mishandles possessive groups.
_TOKEN = re.compile(
    rf"""
    [{IDEOGRAPHS}][{JOINERS}{MARKS}]*+
  | (?:[a-zA-Z]{{2,10}}://|www\.|doi:)[^\s<>"“”«»]{{2,}}{_ADDRESS_END}
  | [\w.+%-]{{1,64}}@(?:[\w-]{{1,63}}\.){{1,8}}\w{{2,24}}
  | [{FLAG_LETTERS}]{{2}}
  | [0-9\#*]\ufe0f?\u20e3
  | {EMOJI}{_ATTACHED}(?:(?<=\u200d){EMOJI}{_ATTACHED})*
  | (?<!\w)[:;=]['-]?[()DPp/\\|\]\[3*](?=$)
  | [@\#](?![0-9]){_WORD}
  | ^\((?:[a-z]|i{{1,3}}|iv|vi{{0,3}})\)(?=$|[,.;:]$)
  | [0-9]{{3}}-[0-9]{{3}}-[0-9]{{4}}(?![-\w])
  | [0-9]{{3}}-[0-9]{{4}}(?![-\w])
  | \+[0-9]{{5,}}+(?:-[0-9]+)*
  | ['’][0-9]{{2}}(?:['’]?s)?{_END}
  | (?:(?<![^(\[{{“‘"'$£€¥])\.)?[0-9]++(?:[.:/][0-9]++|,[0-9]{{3}}(?![0-9]))*
    (?:(?=(?:{_any_of(UNITS)}){_END})|(?<=0)['’]s{_END}|{_REST})
  | [sS]/he{_END} | [wW]/o?{_END}
  | [A-Z]\.(?=[,;])
  | (?:[^\W\d_]\.)+(?:[^\W\d_]{_END}|(?<=\w\.\w\.))
  | (?:{_any_of(ALWAYS_ABBREVIATED)})\.{_END}
  | [‘’'](?:em|cause|CAUSE|cuz|til|tis|twas|Tis|Twas|bout){_END}
  | ['’](?:[sdmSDM]|re|ve|ll|RE|VE|LL){_END}
  | {_WORD}
    (?: \(e?s\)
      | -(?=$|[,.?!]$)
      | (?:\.[a-z]{_REST})+(?:/[^\s<>"“”«»]*{_ADDRESS_END})?
      | (?:['’&-]{_WORD})* (?P<word>)
    )
  | \.{{2,}}+ | …++ | --++ | ``|''
  | [^{BLANK}{JOINERS}]{_ATTACHED}
    """,
    re.VERBOSE,
)
_CLITIC = re.compile(r"(?:(?<=.)[nN]['’ʼ][tT]|['’ʼ](?:[sdmSDM]|re|ve|ll|RE|VE|LL))$")
_HYPHEN = re.compile("-")


def cut(stretch: str) -> tuple[Cut, ...]:
    """Return the words of a stretch without blanks, in order; invisible characters alone yield none."""
    return _cut_and_keep(stretch) if len(stretch) <= CACHED_LENGTH else tuple(_cut(stretch))


@lru_cache(maxsize=1 << 14)
def _cut_and_keep(stretch: str) -> tuple[Cut, ...]:
    return tuple(_cut(stretch))


def _cut(stretch: str) -> Iterator[Cut]:
    for match in _TOKEN.finditer(stretch):
        if match.lastgroup == "word":
            yield from _parts(stretch, match.start(), match.end())
        else:
            yield match.span()


def _parts(stretch: str, start: int, end: int) -> Iterator[Cut]:
    """Split a word at hyphens, and clitics off each part."""
    part = start
    for hyphen in _HYPHEN.finditer(stretch, start, end):
        left, right = stretch[part : hyphen.start()], stretch[hyphen.end() : end]
        prefix = part == start and (left in PREFIXES or (left.istitle() and left.lower() in PREFIXES))
        if prefix or right in SUFFIXES:
            continue
        yield from _without_clitic(stretch, part, hyphen.start())
        yield hyphen.span()
        part = hyphen.end()
    yield from _without_clitic(stretch, part, end)


def _without_clitic(stretch: str, start: int, end: int) -> Iterator[Cut]:
    word = stretch[start:end]
    clitic = _CLITIC.search(word)
    seam = clitic.start() if clitic else FUSED.get(word.lower(), 0)
    if seam:
        yield start, start + seam
    yield start + seam, end
