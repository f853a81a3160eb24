"""Reads chunks of a document or turns of a conversation in any order, and rewrites each as a self-contained passage.

The text read so far is a session, and chunks are ranges of its text: a chunk may overlap the previous one, and
sentences may continue across chunks. The states before the latest chunks are kept, so that a chunk that arrives late
or with changed text is read in its place, and later chunks are reread. Knows no framework.
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
"""Number of chunks whose preceding state is kept, so that changing them doesn't mean rereading everything."""
_SHORTEST_OVERLAP = 12
"""Minimum number of characters that a chunk must share with the end of the previous one to count as overlapping."""
_LOOK_BACK = 30
"""Sentences before a chunk that are used to compute the confidence of its pronouns."""
_ENDS = tuple(".!?…:\"'”’)]")


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The text as given."""

    id: Given
    text: str
    speaker: str | None
    start: int | None
    """Its character offset in its document."""
    index: float | None
    """Its number in its document, if it has no offset."""
    turn: bool
    """Whether it is complete, so that no sentence continues in the next chunk."""

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
    """Tracks entities across the chunks of a document or the turns of a conversation.

    ``add`` rewrites each chunk so that it can be understood alone. Without a ``resolver``, the shipped model is
    loaded; memories can share a resolver. Keyword ``options`` are those of a session.
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
        """States before chunks, by number; the lowest is as far back as this memory can go."""
        self._corrected: int | None = None
        """Number of chunks at the caller's last correction; these can't be reread."""
        self._lock = RLock()

    def __repr__(self) -> str:
        return f"<Memory: {len(self._placed)} chunks, {len(self._session.entities)} entities>"

    def __len__(self) -> int:
        """The number of chunks."""
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
        """Read a chunk or a turn, and return it rewritten so that it can be understood alone.

        A chunk with a known ``id`` replaces the earlier one; the same text again changes nothing. ``start`` is the
        chunk's character offset in its document, and ``index`` its number: chunks with either may arrive in any
        order. Other chunks follow the latest one and may repeat its end. A chunk with a ``speaker`` is a complete
        turn; in running text, a sentence may continue in the next chunk.
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
        """Remove a chunk; later chunks are reread."""
        with self._lock:
            place = self._number(id)
            chunks = [placed.chunk for placed in self._placed]
            self._read_from(place, [*chunks[:place], *chunks[place + 1 :]])

    def passage(self, id: Given) -> Passage:
        """A chunk by its id, with the names known so far."""
        with self._lock:
            return self._passage(self._placed[self._number(id)])

    @property
    def passages(self) -> list[Passage]:
        """All chunks in document order, with the names known so far."""
        with self._lock:
            return [self._passage(placed) for placed in self._placed]

    @property
    def entities(self) -> list[Entity]:
        """All entities; offsets count from the start of ``text``."""
        with self._lock:
            return self._finished().entities

    @property
    def text(self) -> str:
        """The chunks as one text, without overlaps."""
        return self._session.text

    def introduce(self, name: str, *, type: str | None = None, speaker: str | None = None) -> Entity:
        """Add a participant who hasn't been mentioned yet; the "I" of ``speaker`` refers to them."""
        return self._correct(lambda session: session.introduce(name, type=type, speaker=speaker))

    def rename(self, entity: Entity | str, name: str) -> Entity:
        """Rename an entity; later mentions can match the new name."""
        return self._correct(lambda session: session.rename(entity, name))

    def merge(self, one: Entity | str, other: Entity | str) -> Entity:
        """Merge two entities: ``one`` gets the mentions of ``other``, which is removed."""
        return self._correct(lambda session: session.merge(one, other))

    def detach(self, mention: Span) -> Entity:
        """Make a mention a new entity, which is returned."""
        return self._correct(lambda session: session.detach(mention))

    def split(self, entity: Entity | str, mentions: Iterable[Span]) -> Entity:
        """Make some mentions of an entity a new entity, which is returned."""
        return self._correct(lambda session: session.split(entity, mentions))

    def reassign(self, mention: Span, entity: Entity | str) -> Entity:
        """Link a mention to another entity; the old one is removed if nothing is left of it."""
        return self._correct(lambda session: session.reassign(mention, entity))

    def forget(self, entity: Entity | str) -> None:
        """Remove an entity: its vector, words, name and mentions. The chunks' text stays."""
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
            raise IncorefError("this is not a saved memory: it doesn't start like one")
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
        """Flush pending text and apply a correction; earlier states are dropped."""
        with self._lock:
            session = self._finished().fork()
            result = change(session)
            self._session = session
            self._settle()
            return result

    def _settle(self) -> None:
        """Don't reread the chunks added so far."""
        self._corrected = len(self._placed)
        self._before = {self._corrected: self._session}

    def _number(self, id: Given) -> int:
        for number, placed in enumerate(self._placed):
            if placed.chunk.id == id:
                return number
        raise IncorefError(f"the memory has no chunk {id!r}")

    def _place_for(self, chunk: _Chunk, chunks: Sequence[_Chunk], old: int | None) -> int:
        """The position of a chunk among the others; ``old`` is the one that it replaces."""
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
        """Read the chunks from a position on; on an error, nothing changes."""
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
        """The session with pending text flushed; not to be changed, since it is kept for the next call."""
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
    """Read the new part of a chunk, and return the chunk's position in the text."""
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
    """Length of the overlap between the end of the text and the start of a chunk."""
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
