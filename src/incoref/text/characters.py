"""Character classes: blanks, joiners, symbols, ideographs, stops and emoji.

Most are strings for use within a character class of a regular expression. The module ``re`` has no Unicode
properties, and ``\\w`` doesn't match Hindi vowel signs and the accents of decomposed text; so a letter is any
character that isn't listed here as blank, joiner or symbol. Knows nothing about words or sentences.
"""

from __future__ import annotations

LINE_BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"

BLANK = r"\s\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2061-\u206f\ufeff\ufff9-\ufffb"
"""White space and invisible separators: controls, zero-width space, byte order mark, direction marks."""

JOINERS = r"\xad\u034f\u200c\u200d\u2060\ufe00-\ufe0f\U000e0020-\U000e007f\U000e0100-\U000e01ef"
"""Invisible parts of the preceding word or emoji: soft hyphen, joiners, variation selectors, tags."""

MARKS = r"\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
"""Combining marks that can follow any character, including symbols."""

SYMBOLS = (
    r"!-/:-@\[-\^`{-~"  # ASCII without the underscore
    r"\xa1-\xa9\xab\xac\xae-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7"
    r"\u037e\u0387\u055a-\u055f\u0589\u058a\u05be\u05c0\u05c3\u05c6\u0609-\u060d\u061b\u061d-\u061f\u066a-\u066d\u06d4"
    r"\u0700-\u070d\u0964\u0965\u0970\u0df4\u0e4f\u0e5a\u0e5b\u0f04-\u0f14\u0f3a-\u0f3d\u104a-\u104f\u10fb\u1360-\u1368"
    r"\u166e\u16eb-\u16ed\u17d4-\u17da\u1800-\u180a\u2010-\u2027\u2030-\u205e\u20a0-\u20cf\u2122\u2190-\u2bff"
    r"\u2e00-\u2e7f\u3001-\u3004\u3008-\u3020\u3030\u303d-\u303f\u30a0\u30fb\ufe10-\ufe19\ufe30-\ufe6f"
    r"\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\uffee\ufffc\ufffd"
    r"\ud800-\uf8ff"  # surrogates and private use, which have no defined meaning
    r"\U0001f000-\U0001fbff"
)

IDEOGRAPHS = (
    r"\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts without spaces, in which every character counts as a word."""

FULL_WIDTH_STOPS = "。！？｡"
"""Stops that end a sentence without a following space."""

FULL_WIDTH_CLOSERS = "」』）》〉】”’\"')"

OPENERS = "\"'`“‘„‚«‹([{¿¡*_~—–-•·"
CLOSERS = "\"'`”’“»›)]}*_~" + FULL_WIDTH_CLOSERS
"""Characters that may come between a full stop and the following space."""

EMOJI = (
    r"[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299"
    r"\U0001f000-\U0001f1e5\U0001f200-\U0001fbff]"
)
FLAG_LETTERS = r"\U0001f1e6-\U0001f1ff"
SKIN_TONES = r"\U0001f3fb-\U0001f3ff"
