"""A session as bytes: versioned, validated, without code, and exact: a restored session continues unchanged.

Layout: eight bytes of magic, the version (16 bits), a digest of it and of the rest (16 bytes), then a safetensors
container with the entities' mean vectors and type scores, the encoder's window as token ids, and ``state``:
compressed JSON with everything else. Everything that follows from these is recomputed: keys and values, and the
entities' part of the scorer's hidden layer.
"""

from __future__ import annotations

import hashlib
import json
import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from incoref.errors import IncorefError
from incoref.model.clusterer import EntityMemory
from incoref.model.encoders import EncoderState
from incoref.model.features import EntityState, EntityStates, QuotationState, Quoted, facts_of
from incoref.model.features.count import COUNT
from incoref.model.folder import Model, ModelState
from incoref.model.step import ReadingState
from incoref.options import SessionOptions
from incoref.session.names import Kind, Name
from incoref.session.save_checks import check_fields, compressed, conforms, decompressed
from incoref.session.state import SessionState
from incoref.session.transcript import EvictedEntity, Line, LiveEntity, Log
from incoref.session.transcript_parts import live_views
from incoref.text import Pending, Splitter
from incoref.text.language import NO_EVIDENCE, Evidence
from incoref.types import Mention, RunnerUp

VERSION = 4
_OLDEST = 4

_MAGIC = b"incoref\0"
_HEADER = struct.Struct("<8sH16s")


@dataclass(frozen=True, slots=True)
class Saved:
    """The content of a save, validated as far as possible without a model."""

    tensors: Mapping[str, npt.NDArray[Any]]
    fields: Mapping[str, Any]


def save(model: Model, options: SessionOptions, splitter: Splitter, state: SessionState) -> bytes:
    """Save a session's state, and what must be the same when it continues."""
    reading, encoder, memory = state.model.reading, state.model.encoder, state.memory
    fields = {
        "model": {"name": model.config.name, "fingerprint": model.fingerprint},
        "splitter": type(splitter).__name__,
        "options": asdict(options),
        "reading": [reading.tokens, reading.sentences, reading.turn, reading.speaker],
        "quotations": astuple(reading.quotations),
        "window": {"lengths": [len(block) for block in encoder.blocks], "opened": encoder.opened},
        "mentions": memory.states.mentions,
        "participants": memory.participants,
        "fields": [field.name for field in memory.states.fields],
        "states": [[field.to_json(row[field]) for field in memory.states.fields] for row in memory.states.rows()],
        "live": [_live_fields(entity) for entity in state.live],
        "views": [view_fields(view) for view in live_views(model, state, range(len(state.live)))],
        "evicted": [[e.id, e.name, e.type, e.speaker, e.sentence] for e in state.evicted],
        "next_id": state.next_id,
        "start": _start_fields(state),
        "lines": [line_fields(line) for line in state.lines],
        "waiting": [line_fields(line) for line in state.waiting],
        "open": "".join(state.open_text),
        "pending": state.pending.to_json(),
        "speaker": state.speaker,
        "flushed": state.flushed,
        "language": state.language,
    }
    text = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    tensors: dict[str, npt.NDArray[Any]] = {
        "means": np.ascontiguousarray(memory.means),
        "types": np.ascontiguousarray(memory.type_scores),
        "window": np.concatenate([np.zeros(0, np.int64), *encoder.blocks]).astype(np.int32),
        "state": np.frombuffer(compressed(text), np.uint8),
    }
    payload = write_tensors(tensors)
    return _HEADER.pack(_MAGIC, VERSION, _digest(payload)) + payload


def unpack(data: bytes) -> Saved:
    """Read a save; raises ``IncorefError`` if it is damaged or isn't a save."""
    if len(data) < _HEADER.size or not data.startswith(_MAGIC):
        raise IncorefError("this is not a saved session: it doesn't start like one")
    _, version, digest = _HEADER.unpack_from(data)
    if version > VERSION:
        raise IncorefError(
            f"the session was saved in format {version}, this incoref reads up to {VERSION}: upgrade it"
        )
    if version < _OLDEST:
        raise IncorefError(f"the session was saved in format {version}, which this incoref no longer reads")
    payload = bytes(data[_HEADER.size :])
    if _digest(payload, version) != digest:
        raise IncorefError("the saved session is damaged or cut off: its checksum is wrong")
    try:
        tensors = read_tensors(payload)
        text = decompressed(tensors["state"].tobytes()).decode("utf-8", "surrogatepass")
        return Saved(tensors, check_fields(json.loads(text)))
    except Exception as error:  # safetensors raises an exception class without a public base
        raise _unreadable(error) from error


def restore(model: Model, data: bytes, splitter: Splitter) -> tuple[SessionOptions, SessionState]:
    """The options and the state of a saved session."""
    saved = unpack(data)
    try:
        _check_same(model, splitter, saved)
        options = options_of(saved)
        model.classes(options.scheme, options.genre)
        return options, _state(model, saved)
    except IncorefError:
        raise
    except Exception as error:  # any failure that a forged save can cause
        raise _unreadable(error) from error


def options_of(saved: Saved) -> SessionOptions:
    """The options that a session was saved with."""
    options = SessionOptions(**saved.fields["options"])
    conforms(options, SessionOptions, "options")
    return options


def _unreadable(error: Exception) -> IncorefError:
    return IncorefError(f"the saved session can't be read: {error!r:.200}")


def _digest(payload: bytes, version: int = VERSION) -> bytes:
    return hashlib.blake2b(payload, digest_size=16, salt=bytes([version])).digest()


def _check_same(model: Model, splitter: Splitter, saved: Saved) -> None:
    made_with = saved.fields["model"]
    if made_with["fingerprint"] != model.fingerprint:
        raise IncorefError(
            f"the session was saved with another model, '{made_with['name']}': "
            f"this one is '{model.config.name}' in {model.folder}, with other files"
        )
    if saved.fields["splitter"] != type(splitter).__name__:
        raise IncorefError(
            f"the session was saved with a {saved.fields['splitter']}, not a {type(splitter).__name__}: "
            "give restore() the same splitter"
        )


def _state(model: Model, saved: Saved) -> SessionState:
    fields = saved.fields
    tokens, sentences, turn, speaker = fields["reading"]
    latest, *rest = fields["quotations"]
    quotations = QuotationState(Quoted(*latest), *rest)
    conforms(quotations, QuotationState, "quotations")
    live = tuple(_live(entity) for entity in fields["live"])
    conforms(live, tuple[LiveEntity, ...], "live")
    reading = ReadingState(_memory(model, saved, len(live)), tokens, sentences, turn, speaker, quotations)
    lines, place = lines_of(fields["lines"], tuple(fields["start"]))
    waiting, (number, first, start) = lines_of(fields["waiting"], place)
    return SessionState(
        model=ModelState(reading, _window(model, saved)),
        live=live,
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
        language=_evidence(fields.get("language", NO_EVIDENCE)),
    )


def _evidence(counts: Sequence[int] | None) -> Evidence | None:
    return None if counts is None else Evidence(*counts)


def _memory(model: Model, saved: Saved, entities: int) -> EntityMemory:
    fields, clusters = saved.fields, model.heads.clusters
    means, types = saved.tensors["means"], saved.tensors["types"]
    if (means.shape, types.shape) != ((entities, clusters.size), (entities, clusters.types)):
        raise ValueError(f"it has vectors of the shape {means.shape} for {entities} entities")
    if means.dtype != np.float32 or types.dtype != np.float32:
        raise ValueError(f"its vectors are {means.dtype} and {types.dtype}")
    if not (np.isfinite(means).all() and np.isfinite(types).all()):
        raise ValueError("its vectors have values that are no numbers")
    rows = _entity_states(fields["fields"], fields["states"])
    if len(rows) != entities or any(row[COUNT] < 0 for row in rows):
        raise ValueError(f"it has the states of {len(rows)} entities, not of {entities}")
    states = EntityStates.of(rows, fields["mentions"])
    counts = np.array([row[COUNT] for row in rows], np.int64)
    memory = clusters.restored(means, counts, types, states, fields["participants"])
    for words in (("I",), ("Anna", "Kern"), ("the", "man")):  # fail here rather than at the next mention
        memory.states.classes(facts_of(words, 0, 0, 0, "Anna"))
    return memory


def _window(model: Model, saved: Saved) -> EncoderState:
    lengths, opened, ids = *(saved.fields["window"][name] for name in ("lengths", "opened")), saved.tensors["window"]
    if min(lengths, default=1) < 1 or sum(lengths) != ids.size or sum(lengths) > model.config.window.size:
        raise ValueError("window: its blocks are not of the right lengths")
    if ids.dtype != np.int32 or ids.ndim != 1 or not 0 <= opened <= max(1, len(lengths)):
        raise ValueError("window: it can't be read again like this")
    blocks = np.split(ids.astype(np.int64), np.cumsum(lengths)[:-1]) if lengths else []
    return model.encoder.rebuilt(blocks, opened)


Place = tuple[int, int, int]
"""Sentence number, number of its first token, and offset of the text before it."""


def _start_fields(state: SessionState) -> Place:
    """The position of the first kept sentence."""
    first = next(iter((*state.lines, *state.waiting)), None)
    if first is None:
        return state.sentences, state.tokens, state.open_start
    return first.number, first.first, first.start - len(first.before)


def line_fields(line: Line) -> list[Any]:
    gaps = np.diff(np.array(line.bounds, np.int64), prepend=0).tolist()
    mentions = [_mention_fields(mention, line) for mention in line.mentions]
    return [line.before, line.text, gaps, line.speaker, line.id, line.time, list(line.warnings), mentions]


def lines_of(saved: Iterable[Sequence[Any]], place: Place) -> tuple[list[Line], Place]:
    """Consecutive sentences from a position on, and the position after the last."""
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
    text = [mention.text] if mention.end > line.end else []  # the mention continues in the next sentence
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


def _entity_states(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[EntityState]:
    """The feature states of entities, saved as one list of values per entity in the order of the fields' names."""
    fields = {field.name: field for field in EntityStates().fields}
    if sorted(names) != sorted(fields):
        odd = sorted(set(names) ^ set(fields))
        raise ValueError(f"it was saved by a version with other features ({', '.join(odd)})")
    return [
        EntityState({fields[name]: fields[name].from_json(value) for name, value in zip(names, row, strict=True)})
        for row in rows
    ]


def view_fields(view: EvictedEntity) -> list[Any]:
    """The part of an entity that doesn't depend on the model."""
    return [view.id, view.name, view.type, view.speaker]


def _live_fields(entity: LiveEntity) -> list[Any]:
    name = None if entity.name is None else [entity.name.text, int(entity.name.kind), entity.name.opens]
    rest = [entity.given_name, entity.given_type, entity.introduced]
    return [entity.id, name, entity.count, entity.latest, *rest]


def _live(saved: Sequence[Any]) -> LiveEntity:
    id, name, *rest = saved
    return LiveEntity(id, None if name is None else Name(name[0], Kind(name[1]), *name[2:]), *rest)
