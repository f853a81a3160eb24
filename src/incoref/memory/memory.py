"""Chunks of one document or turns of one conversation in any order, each given back as a passage that stands alone.

What was read is a session; the chunks are stretches of its text, so that a chunk may overlap the one before, and
sentences may go on from one to the next. The state before each of the latest chunks is kept: a chunk that comes late,
or again with another text, is read in its place, and those after it are read again. Knows no framework.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, astuple, dataclass
from threading import RLock
from typing import Any, TypeVar

from incoref.errors import IncorefError
from incoref.memory.naming import SURE, NamingOptions, Style, Which, standing_alone
from incoref.memory.passages import Passage
from incoref.resolver import Resolver, load
from incoref.session.session import Session
from incoref.types import Entity, Given, Span

T = TypeVar("T")

VERSION = 1

_MAGIC = b"incorefM"
_HEADER = struct.Struct("<8sH16sI")
_KEPT_STATES = 16
"""Chunks before which the state is kept, so that changing them needs no reading from the start."""
_SHORTEST_OVERLAP = 12
"""Characters that a chunk must share with the end of the one before to be taken to overlap it."""
_LOOK_BACK = 30
"""Sentences before a chunk that are looked at, to know how sure its pronouns are."""
_ENDS = tuple(".!?…:\"'”’)]")


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What was given."""

    id: Given
    text: str
    speaker: str | None
    start: int | None
    """Its place in its document, in characters."""
    index: float | None
    """Its number in its document, if it has no place."""
    turn: bool
    """Whether it is complete, and nothing of it goes on in the next."""

    @property
    def order(self) -> float | None:
        return self.index if self.start is None else self.start


@dataclass(frozen=True, slots=True)
class _Placed:
    """A chunk in the text of the session."""

    chunk: _Chunk
    begin: int
    sentence: int
    """Number of the sentence that it starts in."""


class Memory:
    """Remembers who is who across the chunks of a document or the turns of a conversation.

    ``add`` gives each of them back as text that stands alone. Without a ``resolver`` the packaged model is loaded;
    memories can share one. Keyword ``options`` are those of a session.
    """

    def __init__(
        self,
        resolver: Resolver | None = None,
        *,
        style: Style = "inline",
        mentions: Which = "first",
        min_confidence: float = SURE,
        short_names: bool = True,
        descriptions: bool = False,
        speakers: bool = False,
        quotations: bool = False,
        **options: Any,
    ) -> None:
        self.naming = NamingOptions(
            style=style,
            mentions=mentions,
            min_confidence=min_confidence,
            short_names=short_names,
            descriptions=descriptions,
            speakers=speakers,
            quotations=quotations,
        )
        self._resolver = resolver or load()
        self._session = self._resolver.session(**{"undo": 0, **options})
        self._ended: tuple[Session | None, Session] = None, self._session
        """A session, and the same one as if nothing followed."""
        self._placed: list[_Placed] = []
        self._before: dict[int, Session] = {0: self._session}
        """States before chunks, by number; the lowest one is as far back as this memory can go."""
        self._corrected: int | None = None
        """How many chunks there were when the caller last corrected something: they stay as they are."""
        self._lock = RLock()

    def __repr__(self) -> str:
        return f"<Memory: {len(self._placed)} chunks, {len(self._session.entities)} entities>"

    def __len__(self) -> int:
        """How many chunks there are."""
        return len(self._placed)

    def add(
        self,
        text: str,
        *,
        id: Given = None,
        speaker: str | None = None,
        start: int | None = None,
        index: float | None = None,
        turn: bool | None = None,
    ) -> Passage:
        """A chunk or a turn, given back as text that stands alone.

        A chunk with a known ``id`` replaces the earlier one; the same text again changes nothing. ``start`` is the
        chunk's offset in its document, in characters, and ``index`` its number there: chunks that have either may
        come in any order. Without them a chunk follows the latest one and may repeat the end of it. What a
        ``speaker`` says is a turn and complete, while a sentence of running text may go on in the next chunk.
        """
        if not isinstance(text, str):
            raise IncorefError(f"a chunk is a string, not {type(text).__name__}: {text!r:.40}")
        chunk = _Chunk(id, text, speaker, start, index, speaker is not None if turn is None else turn)
        with self._lock:
            old = next(
                (at for at, placed in enumerate(self._placed) if id is not None and placed.chunk.id == id), None
            )
            if old is not None and self._placed[old].chunk == chunk:
                return self._passage(self._placed[old])
            chunks = [placed.chunk for placed in self._placed]
            place = self._place_for(chunk, chunks, old)
            first = place
            if old is not None:
                del chunks[old]
                first = min(old, place)
            chunks.insert(place, chunk)
            self._read_from(first, chunks)
            return self._passage(self._placed[place])

    def remove(self, id: Given) -> None:
        """Take a chunk back: what it said is gone, and those after it are read again."""
        with self._lock:
            place = self._number(id)
            chunks = [placed.chunk for placed in self._placed]
            self._read_from(place, [*chunks[:place], *chunks[place + 1 :]])

    def passage(self, id: Given) -> Passage:
        """A chunk by its id, with the names that are known by now."""
        with self._lock:
            return self._passage(self._placed[self._number(id)])

    @property
    def passages(self) -> list[Passage]:
        """All chunks in the order of the document, with the names that are known by now."""
        with self._lock:
            return [self._passage(placed) for placed in self._placed]

    @property
    def entities(self) -> list[Entity]:
        """Who and what has been spoken of; offsets count from the start of ``text``."""
        with self._lock:
            return self._finished().entities

    @property
    def text(self) -> str:
        """The chunks as one text, without what overlaps."""
        return self._session.text

    def introduce(self, name: str, *, type: str | None = None, speaker: str | None = None) -> Entity:
        """Make a participant known; what ``speaker`` says of themselves as "I" is that entity."""
        return self._correct(lambda session: session.introduce(name, type=type, speaker=speaker))

    def rename(self, entity: Entity | str, name: str) -> Entity:
        """Give an entity a name, by which it is also known from now on."""
        return self._correct(lambda session: session.rename(entity, name))

    def merge(self, one: Entity | str, other: Entity | str) -> Entity:
        """Two entities are the same: ``one`` gets the mentions of ``other``, which is gone."""
        return self._correct(lambda session: session.merge(one, other))

    def detach(self, mention: Span) -> Entity:
        """A mention means nobody else: it becomes an entity of its own, which is returned."""
        return self._correct(lambda session: session.detach(mention))

    def split(self, entity: Entity | str, mentions: Iterable[Span]) -> Entity:
        """These mentions of an entity are another one, which is returned."""
        return self._correct(lambda session: session.split(entity, mentions))

    def reassign(self, mention: Span, entity: Entity | str) -> Entity:
        """A mention means another entity; its own is gone if nothing is left of it."""
        return self._correct(lambda session: session.reassign(mention, entity))

    def forget(self, entity: Entity | str) -> None:
        """Remove an entity: its vector, words, name and mentions. The text of the chunks stays."""
        self._correct(lambda session: session.forget(entity))

    def save(self) -> bytes:
        """The memory as bytes, for ``Memory.restore``."""
        with self._lock:
            fields = {
                "naming": asdict(self.naming),
                "chunks": [[*astuple(placed.chunk), placed.begin, placed.sentence] for placed in self._placed],
                "corrected": self._corrected is not None,
            }
            session = self._session.save()
        head = zlib.compress(json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass"), 6)
        return _HEADER.pack(_MAGIC, VERSION, _digest(head + session), len(head)) + head + session

    @classmethod
    def restore(cls, data: bytes, resolver: Resolver | None = None, **options: Any) -> Memory:
        """Restore a memory from the bytes of ``save``; ``options`` override the saved ones."""
        if len(data) < _HEADER.size or not data.startswith(_MAGIC):
            raise IncorefError("this is no saved memory: it doesn't start like one")
        _, version, digest, length = _HEADER.unpack_from(data)
        if version > VERSION:
            raise IncorefError(
                f"the memory was saved in format {version}, this incoref reads up to {VERSION}: upgrade it"
            )
        payload = bytes(data[_HEADER.size :])
        if _digest(payload) != digest:
            raise IncorefError("the saved memory is damaged or cut off: its checksum is wrong")
        fields = json.loads(zlib.decompress(payload[:length]).decode("utf-8", "surrogatepass"))
        known = {name: options.pop(name) for name in list(options) if name in fields["naming"]}
        memory = cls(resolver, **{**fields["naming"], **known, **options})
        memory._session = memory._resolver.restore(payload[length:], **options)
        memory._placed = [_Placed(_Chunk(*rest), begin, sentence) for *rest, begin, sentence in fields["chunks"]]
        memory._before[len(memory._placed)] = memory._session
        if fields["corrected"]:
            memory._settle()
        return memory

    def _correct(self, change: Callable[[Session], T]) -> T:
        """End what is pending, so that its entities are known, and change them; the states before are gone."""
        with self._lock:
            session = self._finished().fork()
            result = change(session)
            self._session = session
            self._settle()
            return result

    def _settle(self) -> None:
        """Never read again what is there by now."""
        self._corrected = len(self._placed)
        self._before = {self._corrected: self._session}

    def _number(self, id: Given) -> int:
        for number, placed in enumerate(self._placed):
            if placed.chunk.id == id:
                return number
        raise IncorefError(f"the memory has no chunk {id!r}")

    def _place_for(self, chunk: _Chunk, chunks: Sequence[_Chunk], old: int | None) -> int:
        """Where a chunk belongs among the others, of which ``old`` is the one that it replaces."""
        others = [other for at, other in enumerate(chunks) if at != old]
        if chunk.start is not None and chunk.index is not None:
            raise IncorefError(f"chunk {chunk.id!r} has both a start and an index; give one of them")
        if chunk.order is None:
            return len(others) if old is None else old
        odd = next((other for other in others if (other.start is None) != (chunk.start is None)), None)
        if odd is not None or any(other.order is None for other in others):
            which = "start" if chunk.start is not None else "index"
            raise IncorefError(
                f"chunk {chunk.id!r} has a place in its document ('{which}') that others lack: give it to all"
            )
        return bisect_right([other.order or 0 for other in others], chunk.order)

    def _read_from(self, place: int, chunks: Sequence[_Chunk]) -> None:
        """Read the chunks from a place on; on an error nothing has changed."""
        if self._corrected is not None and place < self._corrected:
            raise IncorefError(
                f"entities were corrected after the first {self._corrected} chunks, so these can't be read again: "
                "add the chunk at the end, or start a new memory"
            )
        at = max(number for number in self._before if number <= place)
        session, placed = self._before[at], self._placed[:at]
        before = {number: state for number, state in self._before.items() if number <= at}
        for number in range(at, len(chunks)):
            before[number] = session
            session = session.fork()
            placed.append(_read(session, chunks[number], placed))
        oldest = min(before)
        self._session, self._placed = session, placed
        self._before = {n: state for n, state in before.items() if n == oldest or n > len(placed) - _KEPT_STATES}
        self._before[len(placed)] = session

    def _finished(self) -> Session:
        """The session as if nothing followed; not to be changed, since it is kept for the next who asks."""
        if self._ended[0] is not self._session:
            session = self._session.fork()
            session.flush()
            self._ended = self._session, session
        return self._ended[1]

    def _passage(self, placed: _Placed) -> Passage:
        session, chunk = self._finished(), placed.chunk
        if placed.begin < session.text_start:
            raise IncorefError("the chunk is older than what the memory keeps of its text; raise 'history'")
        part = session.part(max(0, placed.sentence - _LOOK_BACK), before=placed.begin + len(chunk.text))
        document = part.document("memory", singletons=True)
        start = placed.begin - part.text_start
        return standing_alone(document, start, chunk.text, self.naming, chunk.id, chunk.speaker)


def _read(session: Session, chunk: _Chunk, placed: Sequence[_Placed]) -> _Placed:
    """Read what is new in a chunk, and say where the chunk stands."""
    sentence = session.sentences
    if chunk.turn:
        session.say(chunk.text, chunk.speaker, chunk.id)
        return _Placed(chunk, _end(session) - 1 - len(chunk.text), sentence)
    overlap = _overlap(session.text, chunk, placed)
    begin = _end(session) - overlap
    if not overlap:
        gap = _gap(session.text, chunk, placed)
        session.feed(gap, chunk.speaker)
        begin = _end(session)
    session.feed(chunk.text[overlap:], chunk.speaker)
    for other in reversed(placed if overlap else ()):
        sentence = other.sentence
        if other.begin <= begin:
            break
    return _Placed(chunk, begin, sentence)


def _end(session: Session) -> int:
    return session.text_start + len(session.text)


def _overlap(text: str, chunk: _Chunk, placed: Sequence[_Placed]) -> int:
    """How many characters of a chunk are those that the text ends with."""
    if not placed or placed[-1].chunk.turn:
        return 0
    if chunk.start is None:
        longest = min(len(chunk.text), len(text))
        sizes = range(longest, _SHORTEST_OVERLAP - 1, -1)
        return next((size for size in sizes if text.endswith(chunk.text[:size])), 0)
    end = max((other.chunk.start or 0) + len(other.chunk.text) for other in placed)
    overlap = max(0, end - chunk.start)
    shared = min(overlap, len(chunk.text))
    if text[len(text) - overlap : len(text) - overlap + shared] != chunk.text[:shared]:
        raise IncorefError(
            f"chunk {chunk.id!r} starts at {chunk.start}, where {shared} of its characters were read before, but "
            "they differ: correct its start, or leave it out"
        )
    return overlap


def _gap(text: str, chunk: _Chunk, placed: Sequence[_Placed]) -> str:
    """White space between the text and a chunk that follows it."""
    if not text or text[-1].isspace() or chunk.text[:1].isspace():
        return ""
    missing = None
    if chunk.start is not None:
        missing = chunk.start - max((other.chunk.start or 0) + len(other.chunk.text) for other in placed)
    if missing == 0:
        return ""
    blank_line = missing is not None and missing > 1
    heading = text.rpartition("\n")[2].startswith("#")
    return "\n\n" if blank_line or heading or text.endswith(_ENDS) else " "


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).digest()
