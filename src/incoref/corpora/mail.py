"""E-mail: one message (eml) or a mailbox (mbox); each thread becomes a document. Reading only.

The sender of a message is its speaker, and quoted text is spoken by the person quoted. Text quoted below a reply was
said earlier and is placed first; a quotation of a message that is itself in the mailbox isn't repeated. Signatures,
images and attachments are not speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import getaddresses
from html.parser import HTMLParser
from pathlib import Path
from typing import cast

from incoref.corpora._json import spoken
from incoref.corpora.turns import Conversation, Turn, stem
from incoref.errors import FormatError

_FROM_LINE = re.compile(r"^From \S.*\d{4}.*$", re.MULTILINE)
_HEADER = re.compile(r"([A-Za-z][A-Za-z0-9-]*):(?:\s|$)")
_ONLY_MAIL = frozenset({"delivered-to", "message-id", "mime-version", "received", "return-path"})
_HALF_CHARACTER = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_FIRST = _ONLY_MAIL | {"from", "to", "subject", "date"}
_REPLY = re.compile(r"(?i)^(?:\s*(?:re|aw|fwd?|wg|sv|antw)\s*(?:\[\d+\])?:)+\s*")
_QUOTED = re.compile(r"\s?> ?")
_WROTE = re.compile(
    r"(?:On\b.*(?:\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp]\.?[Mm]\.?)?(?:\s*\(?(?:[A-Z]{1,4}T|UTC)\)?)?(?:\s*[+-]\d{4})?|\d{4}),?\s+(?:at\s+)?)?"
    r"(?P<name>[^<>()\n]{1,80}?)?\s*(?:[<(]\s*(?P<address>[^<>()\s]+@[^<>()\s]+)[>)])?\s*(?:wrote|writes|said)"
    r"(?:\s+on\b[^:\n]*\d{1,2}:\d{2}[^:\n]*)?:",
    re.DOTALL,
)
_WROTE_ELSEWHERE = re.compile(
    r"(?=.*(?:schrieb|schreef|a écrit|escribió|ha scritto|escreveu))"
    r"(?:(?:Am|Le|El|Il giorno|Em|Op)\b.*\d{1,2}:\d{2}(?::\d{2})?,?\s+)"
    r"(?:(?:schrieb|schreef)\s+)?(?P<name>[^<>()\n]{1,80}?)?\s*(?:[<(]\s*(?P<address>[^<>()\s]+@[^<>()\s]+)[>)])?\s*"
    r"(?:a écrit|escribió|ha scritto|escreveu|schreef)?\s?:",
    re.DOTALL,
)
"""Attribution lines in German, French, Spanish, Italian, Portuguese and Dutch."""
_FOOTER = re.compile(r"(?:Sent from my [^\n.]{1,40}|Get Outlook for (?:iOS|Android)(?:\s*<\S+>)?)\.?")
_FOOTER_OF_LIST = re.compile(r"_{40,}\s*")
_BANNER = re.compile(r"(?:-{2,}\s*(?:Original|Forwarded) [Mm]essage\s*-{2,}|_{10,}|Begin forwarded message:)\s*")
_FROM_HEADER = re.compile(r"\*?From:\*?\s*(.+)")
_OTHER_HEADER = re.compile(r"\*?(?:Sent|Date|To|Cc|Subject|Reply-To):\*?(?:\s|$)")
_DEEPEST = 30
"""Maximum nesting of quotations; deeper ones aren't taken apart."""
_LINES_OF_ATTRIBUTION = 3
_LONGEST_ATTRIBUTION = 500
_BLOCK_TAGS = frozenset({"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "blockquote", "table", "ul", "ol"})
_SILENT_TAGS = frozenset({"script", "style", "head", "title"})


@dataclass(frozen=True, slots=True)
class _Said:
    """A part of a message; ``quote`` holds the lines of a quotation."""

    speaker: str | None
    text: str = ""
    is_quoted: bool = False
    quote: tuple[str, ...] | None = None


def fits(text: str) -> bool:
    """Whether a text is a message or a mailbox: it begins with the headers common to all e-mail."""
    if text.startswith("From "):
        text = text.partition("\n")[2]
    names = set()
    for line in text.split("\n", 200)[:200]:
        if not line.strip():
            break
        match = _HEADER.match(line)
        if match is None and not line[:1].isspace() and not line.startswith(">From "):
            return False
        names |= {match[1].lower()} if match else set()
    return "from" in names and (bool(names & _ONLY_MAIL) or {"to", "subject"} <= names)


def may_begin(line: str) -> bool:
    """Whether a line may be the first line of a message or a mailbox."""
    match = _HEADER.match(line)
    return _FROM_LINE.match(line) is not None or (match is not None and match[1].lower() in _FIRST)


def conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    """Yield one conversation per thread, in the order in which the threads begin."""
    try:
        yield from _conversations(text, path)
    except RecursionError as error:
        raise FormatError("its parts are nested too deeply", path=path) from error


def _conversations(text: str, path: Path | str) -> Iterator[Conversation]:
    messages = [_parsed(part) for part in _parts(text)]
    if not any(message.get("From") for message in messages):
        raise FormatError("no message with a header 'From:'", path=path)
    threads = _threads(messages)
    names = [stem(path)] if len(threads) == 1 else [f"{stem(path)}-{number}" for number in range(1, len(threads) + 1)]
    yield from spoken(((id, _turns(thread)) for id, thread in zip(names, threads, strict=True)), path)


def _parts(text: str) -> list[str]:
    """Split a mailbox into messages; a text that isn't a mailbox is one message."""
    if _FROM_LINE.match(text) is None:
        return [text]
    starts = [
        match.start()
        for match in _FROM_LINE.finditer(text)
        if match.start() == 0 or (text[: match.start()].endswith("\n\n") and _HEADER.match(text, match.end() + 1))
    ]
    parts = [text[start:end].partition("\n")[2] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    return [re.sub(r"(?m)^>(>*From )", r"\1", part) for part in parts]


def _parsed(text: str) -> EmailMessage:
    # Restore the bytes that weren't UTF-8: the message declares their encoding.
    return message_from_bytes(_HALF_CHARACTER.sub("?", text).encode("utf-8", "surrogateescape"), policy=default)


def _threads(messages: list[EmailMessage]) -> list[list[EmailMessage]]:
    """Group messages into threads by their references, or else replies by their subject."""
    threads: list[list[EmailMessage]] = []
    of: dict[str, list[EmailMessage]] = {}
    for message in messages:
        subject = "subject: " + _REPLY.sub("", _header(message, "Subject")).strip().lower()
        ids = re.findall(r"<[^<>\s]+>", " ".join(_header(message, name) for name in ("References", "In-Reply-To")))
        is_answer = bool(ids) or _REPLY.match(_header(message, "Subject")) is not None
        keys = [*ids, *([subject] if is_answer else [])]
        thread = next((of[key] for key in keys if key in of), None)
        if thread is None:
            thread = []
            threads.append(thread)
        thread.append(message)
        for key in (*ids, _header(message, "Message-ID").strip(), subject):
            if key:
                of.setdefault(key, thread)
    return threads


def _header(message: EmailMessage, name: str) -> str:
    try:
        return str(message.get(name, ""))
    except (ValueError, IndexError, AttributeError, TypeError):  # what Python's parser raises for odd headers
        return ""


def _turns(messages: list[EmailMessage]) -> Iterator[Turn]:
    before: list[str] = []
    for message in messages:
        sender = _name_of(_header(message, "From"))
        date = _header(message, "Date")
        said_now = [
            said
            for said in _spoken_in(_lines(message), sender)
            if not (said.is_quoted and any(_key(said.text) in text for text in before))
        ]
        for said in said_now:
            yield Turn(said.text, said.speaker, (("time", date),) if date and not said.is_quoted else ())
        before += [_key(said.text) for said in said_now]


def _key(text: str) -> str:
    """The text in lower case without ``>`` marks and line breaks, to recognise it when it is quoted."""
    return " ".join(text.replace(">", " ").split()).lower()


def _name_of(field: str) -> str | None:
    """The name in an address header or, without one, the local part of the address."""
    for name, address in getaddresses([field]) if "@" in field else ():
        if name.strip() or address.strip():
            return name.strip(" \"'") or address.partition("@")[0]
    return field.strip() or None


def _lines(message: EmailMessage) -> list[str]:
    """The text of a message, without its signature."""
    try:
        part = message.get_body(("plain", "html"))
        if part is None:
            return []
        content = _content(cast(EmailMessage, part))
    except (LookupError, ValueError, KeyError, AttributeError, TypeError):  # unknown encoding
        payload = message.get_payload(decode=True)
        content = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
        part = message
    text = str(content).replace("\r\n", "\n")
    if part.get_content_type() == "text/html":
        text = _without_tags(text)
    elif part.get_param("format") == "flowed":
        text = re.sub(r"(?m)(?<!--) \n(?=[^>\s])", " ", text)
    return text.split("\n")


def _content(part: EmailMessage) -> object:
    """The content of a part; without a declared charset, it is decoded as UTF-8 if possible."""
    payload = part.get_payload(decode=True)
    if part.get_content_charset() is None and isinstance(payload, bytes):
        with suppress(UnicodeDecodeError):
            return payload.decode("utf-8")
    return part.get_content()


def _without_tags(text: str) -> str:
    reader = _Html()
    reader.feed(text)
    reader.close()
    return "\n".join(" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))


class _Html(HTMLParser):
    """Extracts the text of an HTML message, with quotations marked by ``>`` as in plain text."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._silent = 0
        self._quoted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in _SILENT_TAGS
        self._quoted = min(_DEEPEST, self._quoted + (tag == "blockquote"))
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in _SILENT_TAGS))
        self._quoted = max(0, self._quoted - (tag == "blockquote"))
        self._break(tag)

    def _break(self, tag: str) -> None:
        if tag in _BLOCK_TAGS:
            self.pieces.append("\n" + ">" * self._quoted + " ")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(data.replace("\n", " "))


def _spoken_in(lines: list[str], author: str | None, depth: int = 0) -> list[_Said]:
    """The turns in a message: its author's and those it quotes."""
    if depth > _DEEPEST:
        return [_Said(author, "\n".join(lines).strip())]
    pieces = _pieces(lines, author)
    turns: list[_Said] = []
    for number, piece in enumerate(pieces):
        if piece.quote is None:
            turns.append(piece)
            continue
        quoted = [replace(said, is_quoted=True) for said in _spoken_in(list(piece.quote), piece.speaker, depth + 1)]
        # A quotation below the whole reply was said before it; one between parts is what the next part answers.
        is_history = number == len(pieces) - 1 and number <= 1
        turns = [*quoted, *turns] if is_history else [*turns, *quoted]
    return [said for said in turns if said.text]


def _pieces(lines: list[str], author: str | None) -> list[_Said]:
    """Split a message into the author's own text and quotations."""
    pieces: list[_Said] = []
    own: list[str] = []
    at = 0

    def end_own() -> None:
        text = "\n".join(own).strip()
        if text:
            pieces.append(_Said(author, text))
        own.clear()

    while at < len(lines):
        line = lines[at]
        if line.rstrip("\n") in ("-- ", "--") or _FOOTER_OF_LIST.fullmatch(line):
            # A signature ends the message unless there is a quotation below it.
            below = next((n for n in range(at, len(lines)) if _begins_quote(lines, n)), len(lines))
            own += _attribution(lines[at + 1 : below])
            at = below
            continue
        forwarded = _headers_at(lines, at)
        if forwarded is not None:
            name, start = forwarded
            end_own()
            pieces.append(_Said(name, quote=tuple(lines[start:])))
            return pieces
        if _QUOTED.match(line):
            end = _end_of_quote(lines, at)
            name = _attributed(own)
            end_own()
            quote = [_QUOTED.sub("", row, count=1) for row in lines[at:end]]
            if name is None:
                name, quote = _attributed_within(quote)
            pieces.append(_Said(name, quote=tuple(quote)))
            at = end
            continue
        if not _FOOTER.fullmatch(line.strip()):
            own.append(line)
        at += 1
    end_own()
    return pieces


def _begins_quote(lines: list[str], at: int) -> bool:
    return _QUOTED.match(lines[at]) is not None or _headers_at(lines, at) is not None


def _end_of_quote(lines: list[str], at: int) -> int:
    """The index of the line after a quotation, which may continue after blank lines."""
    end = at
    for number in range(at, len(lines)):
        if _QUOTED.match(lines[number]):
            end = number + 1
        elif lines[number].strip():
            break
    return end


def _headers_at(lines: list[str], at: int) -> tuple[str | None, int] | None:
    """The author of a message quoted below its headers, as Outlook does, and the line on which its text starts."""
    place = at
    while place < min(len(lines), at + 3) and (not lines[place].strip() or _BANNER.fullmatch(lines[place].strip())):
        place += 1
    match = _FROM_HEADER.fullmatch(lines[place].strip()) if place < len(lines) else None
    if match is None or not any(_OTHER_HEADER.match(line.strip()) for line in lines[place + 1 : place + 3]):
        return None
    start = place + 1
    while start < len(lines) and lines[start].strip():
        start += 1
    return _name_of(match[1].replace("*", "").replace("[mailto:", "<").replace("]", ">")), start


def _attribution(lines: list[str]) -> list[str]:
    """The attribution at the end of the lines, which names the person quoted below."""
    rest = list(lines)
    return lines[len(rest) :] if _attributed(rest) is not None else []


def _attributed_within(quote: list[str]) -> tuple[str | None, list[str]]:
    """Who is quoted, if the attribution opens the quotation, as phones write it; and the rest of the quotation."""
    start = next((at for at, line in enumerate(quote) if line.strip()), len(quote))
    for end in range(start + 1, min(start + _LINES_OF_ATTRIBUTION, len(quote)) + 1):
        opening = quote[start:end]
        name = _attributed(opening)
        if name is not None and not opening:
            return name, quote[end:]
    return None, quote


def _attributed(own: list[str]) -> str | None:
    """Who is quoted, from the line above the quotation, ``On …, Ann wrote:``, which is removed from ``own``."""
    while own and not own[-1].strip():
        own.pop()
    for length in range(1, _LINES_OF_ATTRIBUTION + 1):
        line = " ".join(row.strip() for row in own[-length:])[: _LONGEST_ATTRIBUTION + 1]
        match = _WROTE.fullmatch(line) or _WROTE_ELSEWHERE.fullmatch(line)
        if len(own) < length or not line or not own[-length].strip():
            return None
        if len(line) > _LONGEST_ATTRIBUTION:
            return None
        if match is not None and (length > 1 or line.startswith("On ") or not _is_cut(own)):
            del own[-length:]
            name = (match["name"] or "").strip(" ,\"'*")
            return name or (match["address"] or "").partition("@")[0] or None
    return None


def _is_cut(own: list[str]) -> bool:
    """Whether the attribution may have begun on the line above."""
    return len(own) > 1 and own[-2].lstrip().startswith("On ")
