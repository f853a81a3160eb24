"""A session's transcript without its model, which can be read even if the model is no longer available.

``changes`` returns what a step changed in the transcript, as JSON. An ``ArchivedSession`` is built from a save and
the changes since; it has the read-only properties of a session and can't be continued.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from incoref.model.folder import Model
from incoref.options import SessionOptions
from incoref.session.saving import line_fields, lines_of, options_of, unpack, view_fields
from incoref.session.state import SessionState
from incoref.session.transcript import EvictedEntity, Line, Log
from incoref.session.transcript_parts import Part, live_views, part_with
from incoref.types import Document, Entity

Changes = dict[str, Any]
T = TypeVar("T")


def changes(model: Model, before: SessionState, after: SessionState) -> Changes:
    """The changes to the transcript between two states, as JSON for ``ArchivedSession.apply``."""
    known = {entity.id: entity for entity in before.live}
    rows = [row for row, entity in enumerate(after.live) if known.pop(entity.id, None) is not entity]
    evicted = list(_changed(before.evicted, after.evicted))
    first = next(chain(after.lines, after.waiting), None)
    return {
        "first": after.sentences if first is None else first.number,
        "sentences": after.sentences - len(after.waiting),
        "tokens": after.model.reading.tokens,
        "lines": [_placed(line) for line in _changed(before.lines, after.lines)],
        "waiting": [_placed(line) for line in after.waiting],
        "open": [after.open_start, "".join(after.open_text)],
        "entities": [view_fields(view) for view in live_views(model, after, rows)],
        "evicted": [view_fields(view) for view in evicted],
        "gone": sorted(known.keys() - {view.id for view in evicted}, key=int),
    }


def _changed(before: Log[T], after: Log[T]) -> Iterable[T]:
    """The items that aren't identical objects in both; shared chunks are skipped whole."""
    old, new = list(_parts(before)), list(_parts(after))
    in_old, in_new = ({id(part) for part in parts} for parts in (old, new))
    same = {id(item) for part in old if id(part) not in in_new for item in part}
    for part in new:
        if id(part) not in in_old:
            yield from (item for item in part if id(item) not in same)


def _parts(log: Log[T]) -> Iterable[tuple[T, ...]]:
    skip = log.skipped
    for chunk in (*log.chunks, log.tail):
        yield chunk[skip:] if skip else chunk
        skip = 0


def _placed(line: Line) -> list[Any]:
    return [line.number, line.first, line.start - len(line.before), line_fields(line)]


def _line(placed: Any) -> Line:
    number, first, start, fields = placed
    return lines_of([fields], (number, first, start))[0][0]


def _view(fields: Sequence[Any]) -> EvictedEntity:
    id, name, type, speaker = fields
    return EvictedEntity(id, name, type, speaker, sentence=0)


@dataclass
class ArchivedSession:
    """A session's text and entities, read-only."""

    options: SessionOptions
    lines: dict[int, Line] = field(default_factory=dict)
    """By sentence number, in order."""
    waiting: tuple[Line, ...] = ()
    live: dict[str, EvictedEntity] = field(default_factory=dict)
    evicted: dict[str, EvictedEntity] = field(default_factory=dict)
    sentences: int = 0
    tokens: int = 0
    open_start: int = 0
    open_text: tuple[str, ...] = ()

    @classmethod
    def from_save(cls, data: bytes) -> ArchivedSession:
        """Read the transcript from the bytes of ``Session.save``."""
        saved = unpack(data)
        fields = saved.fields
        number, first, start = fields["start"]
        lines, place = lines_of(fields["lines"], (number, first, start))
        waiting, (_, _, open_start) = lines_of(fields["waiting"], place)
        return cls(
            options_of(saved),
            {line.number: line for line in lines},
            tuple(waiting),
            {view[0]: _view(view) for view in fields.get("views", ())},
            {entity[0]: EvictedEntity(*entity) for entity in fields["evicted"]},
            place[0],
            fields["reading"][0],
            open_start,
            (fields["open"],),
        )

    def apply(self, changes: Mapping[str, Any]) -> None:
        """Apply the changes of a step."""
        first, end = changes["first"], changes["sentences"]
        self._put([_line(placed) for placed in changes["lines"]])
        while self.lines and next(reversed(self.lines)) >= end:
            self.lines.popitem()
        while self.lines and (oldest := next(iter(self.lines))) < first:
            del self.lines[oldest]
        self.waiting = tuple(_line(placed) for placed in changes["waiting"])
        self.sentences, self.tokens = end, changes["tokens"]
        self.open_start, text = changes["open"]
        self.open_text = (text,)
        for view in changes["entities"]:
            self.live[view[0]] = _view(view)
            self.evicted.pop(view[0], None)
        for view in changes["evicted"]:
            self.live.pop(view[0], None)
            self.evicted[view[0]] = _view(view)
        for id in changes["gone"]:
            del self.live[id]

    def _put(self, lines: Iterable[Line]) -> None:
        """Add sentences, replacing those with the same numbers."""
        in_order = True
        for line in lines:
            in_order &= line.number in self.lines or line.number > next(reversed(self.lines), -1)
            self.lines[line.number] = line
        if not in_order:  # undo restored sentences that history had dropped
            self.lines = dict(sorted(self.lines.items()))

    def part(self, since: int = 0) -> Part:
        """The transcript from this sentence number on; offsets count from the start of the text."""
        lines = [line for line in self.lines.values() if line.number >= since]
        preceded = len(lines) < len(self.lines)
        return part_with(lines, self, self.live.values(), self.evicted.values(), preceded=preceded)

    @property
    def text(self) -> str:
        return self.part().text

    @property
    def text_start(self) -> int:
        return self.part().text_start

    @property
    def entities(self) -> Sequence[Entity]:
        return self.part().entities

    def document(self, id: str = "session", *, singletons: bool = False) -> Document:
        """The kept transcript as a document; offsets, tokens and sentences count from its start."""
        return self.part().document(id, singletons=singletons)
