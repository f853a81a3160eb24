"""Chats exported from WhatsApp on Android and iOS. Reading only.

Date formats and system messages depend on the phone's language. A message may have several lines. System messages
(joins, subject changes) and placeholders for images, calls and deleted messages are not speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from incoref.corpora._json import spoken
from incoref.corpora.turns import Conversation, Turn, stem

_MARKS = "\u200e\u200f\u202a\u202c\ufeff"
"""Direction marks, which WhatsApp puts before its own text."""

_OWN = "\u200e"
"""Begins text written by WhatsApp instead of a user, on iOS."""

_ISOLATED = re.compile("[\u2068\u2069]")
"""Marks around mentioned names."""

_DATE = r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}\.?"
_SHORT_CLOCK = r"\d{1,2}[:.]\d{2}"
_HALF_OF_DAY = r"(?:[ \u202f\u00a0]?[AaPp]\.?[ \u202f\u00a0]?[Mm]\.?)?"
_CLOCK = rf"{_SHORT_CLOCK}(?:[:.]\d{{2}})?{_HALF_OF_DAY}"
_BETWEEN = r",? (?:(?:a las|à|alle|as|às|at|kl\.?|klo|om|um) )?"
_HEAD = re.compile(
    rf"[{_MARKS}]*(?:\[(?P<ios>{_DATE}(?:, {_CLOCK}|{_BETWEEN}{_SHORT_CLOCK}[:.]\d{{2}}{_HALF_OF_DAY}))\] "
    rf"|(?P<android>{_DATE}{_BETWEEN}{_CLOCK}) - )(?P<rest>.*)",
    re.DOTALL,
)
_NAME = re.compile(r"(?P<name>[^:\n“”„«»\"]{1,60}?): ?(?P<text>.*)", re.DOTALL)
_PLACEHOLDER = re.compile(
    # On Android, in any language: <Media omitted>.
    r"<[^<>\n]*>|(?:image|video|audio|sticker|document|GIF|contact card|video note) omitted|null|"
    rf"[^\n]* • {_OWN}[^\n]*|"
    r"(?:missed|silenced) (?:group )?(?:voice|video) call[^\n]*|(?:voice|video) call[,.][^\n]*|"
    r"location: https?://\S+|live location shared|waiting for this message[^\n]*|"
    r"messages and calls are end-to-end encrypted[^\n]*|"
    r"(?:this message was deleted|you deleted this message)(?: by admin [^\n]*)?\.?|"
    r"(?:diese nachricht wurde gelöscht|du hast diese nachricht gelöscht|se eliminó este mensaje|"
    r"eliminaste este mensaje|ce message a été supprimé|vous avez supprimé ce message|"
    r"questo messaggio è stato eliminato|hai eliminato questo messaggio|mensagem apagada|esta mensagem foi apagada|"
    r"você apagou esta mensagem|dit bericht is verwijderd|(?:je|u) hebt dit bericht verwijderd)\.?",
    re.IGNORECASE,
)
_FILE = (
    r"[^\n]*\((?:file attached|datei angehängt|archivo adjunto|fichier joint|file allegato|arquivo anexado|"
    r"bestand bijgevoegd)\)"
)
_ATTACHED = re.compile(rf"^[{_MARKS}]*(?:<attached: [^\n]*>|{_FILE})(?:\n|$)", re.IGNORECASE)
_ADDED = re.compile(rf"(?:\s{{0,2}}{_OWN}(?:<[^<>\n]*>|[^{_OWN}\n.!?]{{1,60}})|\s{{0,2}}<\w+(?: \w+){{1,5}}\.?>)+$")
"""Placeholders that WhatsApp appends to a message: for an image, or to say that it was edited."""


def fits(text: str) -> bool:
    """Whether a text is a chat: its first line has a timestamp, and at least one of the first lines is a message."""
    heads = [_HEAD.fullmatch(line) for line in text.split("\n", 40)[:40] if line.strip()]
    if not heads or heads[0] is None:
        return False
    return any(head is not None and _NAME.fullmatch(head["rest"].strip(_MARKS)) for head in heads)


def begins(line: str) -> bool:
    """Whether a line can be the first line of a chat."""
    return _HEAD.fullmatch(line.rstrip("\r\n")) is not None


def conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    """Yield the single conversation of a file, named after the file."""
    yield from spoken([(stem(path), _turns(text))], path)


def _turns(text: str) -> Iterator[Turn]:
    for time, message in _messages(text):
        match = _NAME.fullmatch(message)
        if match is None:
            continue
        said = _ATTACHED.sub("", match["text"]).strip()
        if not said.startswith(_OWN) and not _PLACEHOLDER.fullmatch(said):
            name = match["name"].strip(_MARKS + " ~\u202f\u00a0")
            yield Turn(_ISOLATED.sub("", _ADDED.sub("", said)).strip(_MARKS + " \n"), name, (("time", time),))


def _messages(text: str) -> Iterator[tuple[str, str]]:
    """Yield the time and the lines of each message."""
    time, lines = "", list[str]()
    for line in text.split("\n"):
        head = _HEAD.fullmatch(line)
        if head is None:
            lines.append(line)
            continue
        if time:
            yield time, "\n".join(lines)
        time, lines = head["ios"] or head["android"], [head["rest"].strip(_MARKS)]
    if time:
        yield time, "\n".join(lines)
