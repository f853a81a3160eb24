"""A session as bytes: versioned, checked, without code in it, and exact: it goes on as if it had never stopped.

Layout: eight bytes of magic, the version (16 bits), a digest of what follows (16 bytes), then a safetensors container
with the entities' mean vectors and type scores, the encoder's window as token ids, and ``state``: compressed JSON
with everything else. What follows from these is computed again: keys and values, and the scorer's shares.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from incoref.errors import IncorefError
from incoref.model.features import NO_QUOTATIONS, EntityFacts, QuotationState, Quoted
from incoref.model.features.entity_row import EntityRow
from incoref.model.folder import Model, ModelState
from incoref.model.step import ReadingState
from incoref.options import SessionOptions
from incoref.session.names import Kind, Name
from incoref.session.state import SessionState
from incoref.session.transcript import EvictedEntity, Line, LiveEntity, Log
from incoref.text import Pending, Splitter
from incoref.types import Mention, RunnerUp

VERSION = 3

_MAGIC = b"incoref\0"
_HEADER = struct.Struct("<8sH16s")


@dataclass(frozen=True, slots=True)
class Saved:
    """The content of a save, before a model makes a state of it."""

    tensors: Mapping[str, npt.NDArray[Any]]
    fields: Mapping[str, Any]


def save(model: Model, options: SessionOptions, splitter: Splitter, state: SessionState) -> bytes:
    """The state of a session, with what must be the same when it goes on."""
    reading, encoder, memory = state.model.reading, state.model.encoder, state.memory
    fields = {
        "model": {"name": model.config.name, "fingerprint": model.fingerprint},
        "splitter": type(splitter).__name__,
        "options": asdict(options),
        "reading": [reading.tokens, reading.sentences, reading.turn, reading.speaker],
        "quotations": astuple(reading.quotations),
        "window": {"lengths": [len(block) for block in encoder.blocks], "opened": encoder.opened},
        "mentions": memory.facts.mentions,
        "participants": memory.participants,
        "facts": [_row_fields(row) for row in memory.facts.rows()],
        "live": [_live_fields(entity) for entity in state.live],
        "evicted": [[e.id, e.name, e.type, e.speaker, e.sentence] for e in state.evicted],
        "next_id": state.next_id,
        "start": _start_fields(state),
        "lines": [_line_fields(line) for line in state.lines],
        "waiting": [_line_fields(line) for line in state.waiting],
        "open": "".join(state.open_text),
        "pending": state.pending.to_json(),
        "speaker": state.speaker,
        "flushed": state.flushed,
    }
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    tensors: dict[str, npt.NDArray[Any]] = {
        "means": np.ascontiguousarray(memory.means),
        "types": np.ascontiguousarray(memory.type_scores),
        "window": np.concatenate([np.zeros(0, np.int64), *encoder.blocks]).astype(np.int32),
        "state": np.frombuffer(zlib.compress(text, 6), np.uint8),
    }
    payload = write_tensors(tensors)
    return _HEADER.pack(_MAGIC, VERSION, _digest(payload)) + payload


def unpack(data: bytes) -> Saved:
    """What a save says, if it is one and whole."""
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise IncorefError("this is no saved session: it doesn't start like one")
    _, version, digest = _HEADER.unpack_from(data)
    if version > VERSION:
        raise IncorefError(
            f"the session was saved in format {version}, this incoref reads up to {VERSION}: upgrade it"
        )
    payload = bytes(data[_HEADER.size :])
    if _digest(payload) != digest:
        raise IncorefError("the saved session is damaged or cut off: its checksum is wrong")
    try:
        tensors = read_tensors(payload)
        fields = json.loads(zlib.decompress(tensors["state"].tobytes()).decode("utf-8", "surrogatepass"))
    except Exception as error:  # safetensors raises a class of its own without a public base
        raise IncorefError(f"the saved session can't be read: {error!r}") from error
    return Saved(tensors, fields)


def restore(model: Model, data: bytes, splitter: Splitter) -> tuple[SessionOptions, SessionState]:
    """Options and state of a saved session."""
    saved = unpack(data)
    try:
        _check(model, splitter, saved)
        return SessionOptions(**saved.fields["options"]), _state(model, saved)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise IncorefError(f"the saved session can't be read: {error!r}") from error


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).digest()


def _check(model: Model, splitter: Splitter, saved: Saved) -> None:
    told = saved.fields["model"]
    if told["fingerprint"] != model.fingerprint:
        raise IncorefError(
            f"the session was saved with another model, '{told['name']}': "
            f"this one is '{model.config.name}' in {model.folder}, with other files"
        )
    if saved.fields["splitter"] != type(splitter).__name__:
        raise IncorefError(
            f"the session was saved with a {saved.fields['splitter']}, not a {type(splitter).__name__}: "
            "give restore() the same splitter"
        )


def _state(model: Model, saved: Saved) -> SessionState:
    fields, tensors = saved.fields, saved.tensors
    rows = [_row(row) for row in fields["facts"]]
    facts = EntityFacts.from_rows(rows, fields["mentions"])
    counts = np.array([row.count for row in rows], np.int64)
    clusters = model.heads.clusters
    memory = clusters.restored(tensors["means"], counts, tensors["types"], facts, fields["participants"])
    ends = np.cumsum(fields["window"]["lengths"], dtype=np.int64)
    blocks = np.split(tensors["window"].astype(np.int64), ends[:-1]) if len(ends) else []
    tokens, sentences, turn, speaker = fields["reading"]
    latest, *rest = fields.get("quotations", astuple(NO_QUOTATIONS))  # formats 1 and 2 have none
    reading = ReadingState(memory, tokens, sentences, turn, speaker, QuotationState(Quoted(*latest), *rest))
    number, first, start = fields["start"]
    lines, place = _lines(fields["lines"], (number, first, start))
    waiting, (number, first, start) = _lines(fields["waiting"], place)
    return SessionState(
        model=ModelState(reading, model.encoder.rebuilt(blocks, fields["window"]["opened"])),
        live=tuple(_live(entity) for entity in fields["live"]),
        next_id=fields["next_id"],
        lines=Log.of(lines),
        evicted=Log.of(EvictedEntity(*entity) for entity in fields["evicted"]),
        waiting=tuple(waiting),
        sentences=number,
        tokens=first,
        open_start=start,
        open_text=Log.of(piece for piece in (fields["open"],) if piece),
        pending=Pending.from_json(fields["pending"]),
        speaker=fields["speaker"],
        flushed=fields["flushed"],
    )


Place = tuple[int, int, int]
"""Numbers of a sentence and its first token, and where the text before it starts."""


def _start_fields(state: SessionState) -> Place:
    """Where the first sentence that is kept stands; the others follow from it."""
    first = next(iter((*state.lines, *state.waiting)), None)
    if first is None:
        return state.sentences, state.tokens, state.open_start
    return first.number, first.first, first.start - len(first.before)


def _line_fields(line: Line) -> list[Any]:
    gaps = np.diff(np.array(line.bounds, np.int64), prepend=0).tolist()
    mentions = [_mention_fields(mention, line) for mention in line.mentions]
    return [line.before, line.text, gaps, line.speaker, line.id, line.time, list(line.warnings), mentions]


def _lines(saved: Iterable[Sequence[Any]], place: Place) -> tuple[list[Line], Place]:
    """Sentences one after the other, and where the next one would stand."""
    number, first, start = place
    lines = []
    for before, text, gaps, speaker, id, time, warnings, mentions in saved:
        bounds = array("I", np.cumsum(gaps, dtype=np.int64).tolist())
        line = Line(number, first, before, text, start + len(before), bounds, speaker, id, time, tuple(warnings))
        lines.append(replace(line, mentions=tuple(_mention(mention, line) for mention in mentions)))
        number, first, start = number + 1, first + len(line), line.end
    return lines, (number, first, start)


def _mention_fields(mention: Mention, line: Line) -> list[Any]:
    first, end = mention.tokens
    others = [[other.entity, other.confidence] for other in mention.runners_up]
    text = [mention.text] if mention.end > line.end else []  # it goes on in the next sentence
    return [
        first - line.first,
        end - line.first,
        mention.entity,
        mention.new,
        mention.confidence,
        mention.mention_confidence,
        *([others, *text] if others or text else []),
    ]


def _mention(saved: Sequence[Any], line: Line) -> Mention:
    first, end, entity, new, confidence, mention_confidence, *rest = saved
    start = line.bounds[2 * first]
    text = rest[1] if len(rest) > 1 else line.text[start : line.bounds[2 * end - 1]]
    return Mention(
        start=line.start + start,
        end=line.start + start + len(text),
        text=text,
        tokens=(line.first + first, line.first + end),
        sentence=line.number,
        entity=entity,
        confidence=confidence,
        mention_confidence=mention_confidence,
        new=new,
        runners_up=tuple(RunnerUp(*other) for other in (rest[0] if rest else ())),
    )


def _row_fields(row: EntityRow) -> list[Any]:
    numbers = [row.count, row.latest, row.sentence, row.first, row.speaker, row.pronouns]
    people = [row.i_of, row.i_turn, row.you_by, row.you_turn]
    contents = [sorted(content) for content in row.contents]
    names = [sorted(row.names), row.genders, row.opened]
    quoted = [row.i_quoted, row.you_quoted, row.told, row.tells]
    return [*numbers, *people, sorted(row.strings), sorted(row.heads), contents, *names, *quoted]


def _row(saved: Sequence[Any]) -> EntityRow:
    strings, heads, contents, *rest = saved[10:]
    names = [frozenset(rest[0]), *rest[1:]] if rest else []  # format 1 has none, and 2 no quotations
    values = [*saved[:10], frozenset(strings), frozenset(heads), tuple(map(frozenset, contents)), *names]
    return EntityRow(*values)


def _live_fields(entity: LiveEntity) -> list[Any]:
    name = None if entity.name is None else [entity.name.text, int(entity.name.kind), entity.name.opens]
    rest = [entity.given_name, entity.given_type, entity.introduced]
    return [entity.id, name, entity.count, entity.latest, *rest]


def _live(saved: Sequence[Any]) -> LiveEntity:
    id, name, *rest = saved
    return LiveEntity(id, None if name is None else Name(name[0], Kind(name[1]), *name[2:]), *rest)
