"""Check our implementation of the paper's model number by number against the output of the authors' program.

A folder of reference outputs contains ``config.json``, ``model.safetensors`` (with the authors' names),
``documents.json`` and ``expected.json``. The step-by-step definition is compared with these, free-running and
teacher-forced; then the two optimised paths, encoding with cached keys and values and the vectorised loss, are
compared with the definition. Everything runs in double precision, like the program that made the outputs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from incoref.errors import FormatError
from incoref.learning.paper.authors_names import NEW_SCORE, gradients, load_authors_weights
from incoref.learning.paper.batches import paper_batches
from incoref.learning.paper.chunks import plan
from incoref.learning.paper.config import XLNET_BASE, Mode, PaperConfig, Setting
from incoref.learning.paper.definition import Reader, Recurrence, run
from incoref.learning.paper.document import PaperDocument, number_entities
from incoref.learning.paper.model import PaperModel
from incoref.learning.paper.xlnet_cache import CachedReader
from incoref.learning.reference_outputs import (
    Difference,
    Reference,
    difference,
    numbers,
    read_json,
    read_outputs,
    read_weights,
    tensor_difference,
)
from incoref.model.transitions import EFFECTS, Action


def read_reference(folder: Path) -> Reference:
    """Read a folder of reference outputs of the authors' program."""
    model = read_reference_model(folder)
    documents = read_reference_documents(folder, model.config)
    path = folder / "expected.json"
    exact = copy.deepcopy(model).double()
    return Reference(
        expected=read_outputs(path, len(documents)),
        double=lambda number: _outputs(exact, documents[number]),
        single=lambda number: _outputs(model, documents[number]),
        path=path,
        own=lambda: _quick_ways(exact, documents),
    )


def read_reference_model(folder: Path) -> PaperModel:
    """Load the model in a folder of reference outputs, in reference mode."""
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
    """Read the documents in a folder of reference outputs, with their gold derivations."""
    path = folder / "documents.json"
    joined = read_json(folder / "config.json")["setting"] == "part-inc"
    documents = []
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
            documents.append(document)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise FormatError(f"document {number} is not complete or not derivable: {error!r}", path=path) from error
    return documents


def _check_numbers(document: PaperDocument, config: PaperConfig) -> None:
    """Check that every sub-word is in the vocabulary and has a speaker, and that the genre is known."""
    words = config.xlnet.get("vocab_size", XLNET_BASE["vocab_size"])
    if not all(0 <= word < words for sentence in document.sentences for word in sentence):
        raise ValueError(f"a sub-word that is none of the encoder's {words}")
    if document.buffer_lengths != document.lengths:
        raise ValueError("speakers do not match the sub-words")
    if not all(speaker > 0 for of_sentence in document.speakers for speaker in of_sentence):
        raise ValueError("a speaker below 1")
    if not 0 <= document.genre < len(config.genres):
        raise ValueError(f"genre {document.genre} of {len(config.genres)}")


def _joined(rows: Iterable[Sequence[int]]) -> list[int]:
    return [value for row in rows for value in row]


def _mentions(actions: Iterable[Action]) -> Iterable[tuple[int, int]]:
    """Yield the mentions of a derivation in order, without checking that its actions are legal."""
    token = 0
    stack: list[int] = []
    for action in actions:
        effect = EFFECTS[action]
        if effect.emits:
            yield stack[-1], token
        if effect.pops:
            stack.pop()
        if effect.pushes:
            stack.append(token)
        token += effect.advances


def _quick_ways(model: PaperModel, documents: Sequence[PaperDocument]) -> list[Difference]:
    """Return the largest differences between the optimised paths and the definition."""
    furthest = {"cached keys and values: vectors": 0.0, "vectorised: loss": 0.0, "vectorised: gradients": 0.0}
    worst = dict.fromkeys(furthest, 0)
    for number, document in enumerate(documents):
        with torch.inference_mode():
            cached = _vectors(model, document, CachedReader(model.encoder))
            plain = _vectors(model, document, Recurrence(model.encoder))
        loss = _outputs(model, document)["teacher_forced"]["loss"]
        wanted = {name: gradient.clone() for name, gradient in gradients(model).items()}
        model.zero_grad()
        total = 0.0
        for part in model.losses(document):
            part.total.backward()
            total += part.total.item()
        apart = (
            tensor_difference(cached, plain),
            difference(total, loss),
            tensor_difference(gradients(model), wanted),
        )
        for quantity, largest in zip(furthest, apart, strict=True):
            if largest > furthest[quantity]:
                furthest[quantity], worst[quantity] = largest, number
    return [
        Difference(f"{quantity}, against the definition", furthest[quantity], worst[quantity])
        for quantity in furthest
    ]


def _outputs(model: PaperModel, document: PaperDocument) -> dict[str, dict[str, Any]]:
    """Return the definition's outputs in the format of ``expected.json``; the gradients stay in the model."""
    with torch.inference_mode():
        free = run(model, document, gold=False)
    kept = [[list(span) for span in spans] for spans in free.clusters]
    model.zero_grad()
    forced = run(model, document, gold=True)
    loss = torch.stack([loss.total for loss in forced.losses]).sum()
    loss.backward()
    return {
        "free_running": {
            "action_logits": numbers(torch.stack(free.action_scores)),
            "actions": [int(action) for action in free.actions],
            "coref_scores": [scores.tolist() for scores in free.cluster_scores],
            "coref_actions": free.choices,
            "clusters": [spans for spans in kept if len(spans) > 1],
            "all_clusters": kept,
        },
        "teacher_forced": {
            "action_logits": numbers(torch.stack(forced.action_scores)),
            "coref_scores": [scores.tolist() for scores in forced.cluster_scores],
            "loss": loss.item(),
            "grad_norms": {name: gradient.norm().item() for name, gradient in gradients(model).items()},
        },
    }


def _vectors(model: PaperModel, document: PaperDocument, reader: Reader) -> dict[str, Tensor]:
    """Return all encoder vectors of a document, read piece by piece."""
    pieces = [piece for batch in plan(document.lengths, model.config) for piece in batch.pieces]
    read = [reader.encode(torch.tensor(document.ids_of(piece.first, piece.end)), piece.cache) for piece in pieces]
    return {"vectors": torch.cat(read)}
