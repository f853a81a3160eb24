"""Checks our implementation number by number against what the authors' program computed.

A folder of reference outputs holds ``config.json``, ``model.safetensors`` (under the authors' names),
``documents.json`` and ``expected.json``. The step-by-step definition is compared with these, free running and teacher
forced; then the two quicker ways with the definition: encoding with cached keys and values, and the vectorised loss,
which is compared in double precision.

Through a long action history with random weights, the last digit of a number can grow until it changes an action, and
the last digit is a matter of the order of additions, which processors choose differently. So the definition is
computed in double precision too: where that differs from single precision by more than the tolerance, nobody's
numbers in single precision can be told from the right ones more closely than that.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from incoref.errors import FormatError
from incoref.learning.paper.authors_names import NEW_SCORE, gradients, load_authors_weights
from incoref.learning.paper.batches import paper_batches
from incoref.learning.paper.checkpoint import read_json, read_weights
from incoref.learning.paper.chunks import plan
from incoref.learning.paper.config import XLNET_BASE, Mode, PaperConfig, Setting
from incoref.learning.paper.definition import Reader, Recurrence, Run, run
from incoref.learning.paper.document import PaperDocument, number_entities
from incoref.learning.paper.model import PaperModel
from incoref.learning.paper.xlnet_cache import CachedReader
from incoref.model.transitions import Action

TOLERANCE = 1e-4
_ROUNDINGS = 10
"""So many times the rounding of our own numbers the authors' may differ, as theirs were rounded in another order."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The largest difference of one quantity over all documents; infinite where shapes or choices differ."""

    quantity: str
    largest: float = 0.0
    document: int = 0
    """Number of the document with the largest, from 0."""
    rounding: float = 0.0
    """By how much this quantity of the document differs between single and double precision."""

    @property
    def passed(self) -> bool:
        return self.largest <= max(TOLERANCE, _ROUNDINGS * self.rounding)

    def worse(self, other: Difference) -> Difference:
        return max(self, other, key=lambda found: (not found.passed, found.largest))


def check_reference(folder: Path) -> list[Difference]:
    """The largest difference of every quantity in a folder of reference outputs."""
    model = read_reference_model(folder)
    documents = read_reference_documents(folder, model.config)
    path = folder / "expected.json"
    expected = read_json(path)
    if not isinstance(expected, list) or len(documents) != len(expected):
        count = len(expected) if isinstance(expected, list) else "no list of"
        raise FormatError(f"{count} outputs for {len(documents)} documents", path=path)
    for number, outputs in enumerate(expected):
        if fault := _fault_of_outputs(outputs):
            raise FormatError(f"outputs of document {number}: {fault}", path=path)
    worst: dict[str, Difference] = {}
    for number, (document, outputs) in enumerate(zip(documents, expected, strict=True)):
        for quantity, largest, rounding in _differences(model, document, outputs):
            found = Difference(quantity, largest, number, rounding)
            worst[quantity] = worst.get(quantity, found).worse(found)
    return list(worst.values())


def read_reference_model(folder: Path) -> PaperModel:
    """The model of a folder of reference outputs, in reference mode."""
    weights = read_weights(folder / "model.safetensors")
    described = read_json(folder / "config.json")
    if NEW_SCORE in weights:
        described["new_cell_threshold"] = float(weights[NEW_SCORE])
    model = PaperModel(_config(described, folder / "config.json"))
    load_authors_weights(model, weights)
    return model.eval()


def _config(described: Mapping[str, Any], path: Path) -> PaperConfig:
    try:
        if described["ffnn_depth"] != 1 or described["mem_ffnn_depth"] != 1:
            raise FormatError("scorers with other than one hidden layer are not the paper's", path=path)
        name = described["setting"]
        setting = Setting.PART_INC if name == "part-inc-segments" else Setting(name)
        sent_inc = setting is Setting.SENT_INC
        return PaperConfig(
            mode=Mode.REFERENCE,
            setting=setting,
            k=described["k"] or 1,
            window=described["mem_len"] if setting is Setting.K_SENTENCE else 512,
            cache=described["mem_len"] if sent_inc else None,
            stack_size=described["stack_hidden_size"],
            history_size=described["action_hist_hidden_size"],
            feature_size=described["feature_emb_size"],
            detector_hidden=described["ffnn_size"],
            clusterer_hidden=described["mem_ffnn_size"],
            dropout=described["dropout_rate"],
            genres=tuple(described["genres"]),
            max_width=described["max_span_width"],
            max_speakers=described["max_num_speakers"],
            use_speakers=described["use_speaker_embeds"],
            max_count=described["max_entity_count"],
            max_distance=described["max_mention_distance"],
            new_score=described["new_cell_threshold"],
            xlnet=described["xlnet"],
        )
    except KeyError as error:
        raise FormatError(f"the field {error} is missing", path=path) from error
    except (ValueError, TypeError) as error:
        raise FormatError(str(error), path=path) from error


def read_reference_documents(folder: Path, config: PaperConfig) -> list[PaperDocument]:
    """The documents of a folder of reference outputs, with their gold derivations."""
    path = folder / "documents.json"
    joined = read_json(folder / "config.json")["setting"] == "part-inc"
    found = []
    for number, described in enumerate(read_json(path)):
        try:
            sentences, speakers = described["sentences"], described["speakers"]
            entity = {
                tuple(span): of
                for span, of in zip(described["gold_mentions"], described["gold_clusters"], strict=True)
            }
            if joined:
                sentences, speakers = [_joined(sentences)], [_joined(speakers)]
            actions = tuple(Action(code) for code in described["gold_actions"])
            document = PaperDocument(
                sentences=tuple(map(tuple, sentences)),
                speakers=tuple(map(tuple, speakers)),
                genre=described["genre"],
                actions=actions,
                entity_of=number_entities([entity[span] for span in _mentions(actions)]),
                name=str(number),
            )
            _check_numbers(document, config)
            paper_batches(document, config)  # replays the actions
            found.append(document)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise FormatError(f"document {number} is not complete or not derivable: {error!r}", path=path) from error
    return found


def _check_numbers(document: PaperDocument, config: PaperConfig) -> None:
    """Sub-words that the encoder knows, a speaker for each, a genre of the list."""
    words = config.xlnet.get("vocab_size", XLNET_BASE["vocab_size"])
    if not all(0 <= word < words for sentence in document.sentences for word in sentence):
        raise ValueError(f"a sub-word that is none of the encoder's {words}")
    if document.buffer_lengths != document.lengths:
        raise ValueError("speakers do not match the sub-words")
    if not all(speaker > 0 for of_sentence in document.speakers for speaker in of_sentence):
        raise ValueError("a speaker below 1")
    if not 0 <= document.genre < len(config.genres):
        raise ValueError(f"genre {document.genre} of {len(config.genres)}")


_OUTPUTS = {
    "free_running": {"action_logits", "actions", "coref_scores", "coref_actions", "clusters", "all_clusters"},
    "teacher_forced": {"action_logits", "coref_scores", "loss", "grad_norms"},
}
_TABLES = ("action_logits", "coref_scores")


def _fault_of_outputs(outputs: Any) -> str | None:
    """What of the program's outputs for a document is missing or not of its kind."""
    for part, names in _OUTPUTS.items():
        values = outputs.get(part) if isinstance(outputs, dict) else None
        if not isinstance(values, dict) or not names <= values.keys():
            return f"{part} must have {', '.join(sorted(names))}"
        for name in _TABLES:
            if not _is_table(values[name]):
                return f"{name} of {part} must be a list of lists of numbers"
    forced = outputs["teacher_forced"]
    norms = forced["grad_norms"]
    if not isinstance(norms, dict) or not _are_numbers([forced["loss"], *norms.values()]):
        return "loss must be a number and grad_norms an object of numbers"
    return None


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, list) and _are_numbers(row) for row in value)


def _are_numbers(values: Sequence[Any]) -> bool:
    """Numbers, or null for those that there are none of."""
    return all(value is None or isinstance(value, int | float) for value in values)


def _joined(rows: Iterable[Sequence[int]]) -> list[int]:
    return [value for row in rows for value in row]


def _mentions(actions: Iterable[Action]) -> Iterable[tuple[int, int]]:
    """The mentions of a derivation, in its order; knows nothing of which actions are legal."""
    token, stack = 0, []
    for action in actions:
        if action is Action.ADVANCE:
            token += 1
        elif action is Action.PUSH:
            stack.append(token)
        else:
            yield stack[-1], token
            if action is Action.POP:
                stack.pop()


def _differences(
    model: PaperModel, document: PaperDocument, expected: Mapping[str, Any]
) -> Iterable[tuple[str, float, float]]:
    """Of every quantity, how far it is from the wanted value, and how far single precision is from double."""
    exact = copy.deepcopy(model).double()
    found, unrounded = _outputs(model, document), _outputs(exact, document)
    roundings = dict(_compared(found, unrounded))
    # Where rounding decides an action or a choice, all that follows is another text; nothing else is without bound.
    decided_by_rounding = any(roundings[f"free running: {what}"] for what in ("actions", "clustering choices"))
    for quantity, rounding in roundings.items():
        if decided_by_rounding and quantity.startswith("free running"):
            roundings[quantity] = math.inf
        elif math.isinf(rounding):
            roundings[quantity] = 0.0
    for quantity, largest in _compared(found, expected):
        yield quantity, largest, roundings[quantity]
    with torch.inference_mode():
        cached = _vectors(model, document, CachedReader(model.encoder))
        plain = _vectors(model, document, Recurrence(model.encoder))
    yield "cached keys and values against recurrence: vectors", tensor_difference(cached, plain), 0.0
    wanted_gradients = gradients(exact)
    exact.zero_grad()
    total = 0.0
    for part in exact.losses(document):
        part.total.backward()
        total += part.total.item()
    loss = difference(total, unrounded["teacher_forced"]["loss"])
    yield "vectorised against step by step: loss", loss, 0.0
    yield "vectorised against step by step: gradients", tensor_difference(gradients(exact), wanted_gradients), 0.0


def _outputs(model: PaperModel, document: PaperDocument) -> dict[str, dict[str, Any]]:
    """What the definition computes, as ``expected.json`` has it; the gradients stay in the model."""
    with torch.inference_mode():
        free = run(model, document, gold=False)
    kept = [[list(span) for span in spans] for spans in free.clusters]
    model.zero_grad()
    forced = run(model, document, gold=True)
    loss = torch.stack([loss.total for loss in forced.losses]).sum()
    loss.backward()
    return {
        "free_running": {
            "action_logits": _action_scores(free),
            "actions": [int(action) for action in free.actions],
            "coref_scores": _cluster_scores(free),
            "coref_actions": free.choices,
            "clusters": [spans for spans in kept if len(spans) > 1],
            "all_clusters": kept,
        },
        "teacher_forced": {
            "action_logits": _action_scores(forced),
            "coref_scores": _cluster_scores(forced),
            "loss": loss.item(),
            "grad_norms": {name: gradient.norm().item() for name, gradient in gradients(model).items()},
        },
    }


def _compared(outputs: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterable[tuple[str, float]]:
    """The largest difference of every quantity."""
    found, wanted = outputs["free_running"], expected["free_running"]
    yield "free running: action logits", table_difference(found["action_logits"], wanted["action_logits"])
    yield "free running: actions", _same(found["actions"], wanted["actions"])
    yield "free running: clustering scores", table_difference(found["coref_scores"], wanted["coref_scores"])
    yield "free running: clustering choices", _same(found["coref_actions"], wanted["coref_actions"])
    yield "free running: clusters", _same(found["clusters"], wanted["clusters"])
    yield "free running: clusters and singletons", _same(found["all_clusters"], wanted["all_clusters"])
    found, wanted = outputs["teacher_forced"], expected["teacher_forced"]
    yield "teacher forced: action logits", table_difference(found["action_logits"], wanted["action_logits"])
    yield "teacher forced: clustering scores", table_difference(found["coref_scores"], wanted["coref_scores"])
    yield "teacher forced: loss", difference(found["loss"], wanted["loss"])
    yield "teacher forced: gradient norms", _gradient_difference(found["grad_norms"], wanted["grad_norms"])


def _vectors(model: PaperModel, document: PaperDocument, reader: Reader) -> dict[str, Tensor]:
    """All encoder vectors of a document, read piece by piece."""
    pieces = [piece for batch in plan(document.lengths, model.config) for piece in batch.pieces]
    read = [reader.read(torch.tensor(document.ids_of(piece.first, piece.end)), piece.cache) for piece in pieces]
    return {"vectors": torch.cat(read)}


def difference(found: float | None, wanted: float | None) -> float:
    """Absolute, or relative where the wanted value is larger than 1; infinite where only one is there."""
    if found is None or wanted is None:
        return 0.0 if found is wanted else math.inf
    apart = abs(found - wanted) / max(1.0, abs(wanted))
    return math.inf if math.isnan(apart) else apart


def table_difference(found: Sequence[Sequence[float | None]], wanted: Sequence[Sequence[float | None]]) -> float:
    """The largest difference of two tables; infinite where their shapes differ."""
    if [len(row) for row in found] != [len(row) for row in wanted]:
        return math.inf
    pairs = zip(_flat(found), _flat(wanted), strict=True)
    return max((difference(a, b) for a, b in pairs), default=0.0)


def _flat(table: Sequence[Sequence[float | None]]) -> list[float | None]:
    return [value for row in table for value in row]


def _same(found: object, wanted: object) -> float:
    return 0.0 if found == wanted else math.inf


def _gradient_difference(found: Mapping[str, float], wanted: Mapping[str, float | None]) -> float:
    """Over all norms; a parameter without gradient counts as 0 on either side."""
    return max(difference(found.get(name, 0.0), wanted.get(name) or 0.0) for name in found.keys() | wanted.keys())


def tensor_difference(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> float:
    """Over all elements; a tensor that is only on one side counts as 0 on the other."""
    largest = 0.0
    for name in found.keys() | wanted.keys():
        one = found.get(name, torch.zeros(()))
        other = wanted.get(name, torch.zeros(()))
        apart = ((one - other).abs() / other.abs().clamp(min=1)).max().item()
        largest = math.inf if math.isnan(apart) else max(largest, apart)
    return largest


def _action_scores(found: Run) -> list[list[float | None]]:
    return [
        [None if math.isinf(score) else score for score in row] for row in torch.stack(found.action_scores).tolist()
    ]


def _cluster_scores(found: Run) -> list[list[float]]:
    return [scores.tolist() for scores in found.cluster_scores]
