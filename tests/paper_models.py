"""Tiny random paper models and documents, and folders of reference outputs made from them."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from incoref.learning.paper.authors_names import authors_weights, gradients
from incoref.learning.paper.chunks import plan
from incoref.learning.paper.config import Mode, PaperConfig, Setting
from incoref.learning.paper.definition import run
from incoref.learning.paper.document import PaperDocument, number_entities, stretches
from incoref.learning.paper.model import PaperModel
from incoref.model import transitions
from incoref.model.transitions import Action

CLS, SEP, VOCABULARY = 3, 4, 40
XLNET = {"vocab_size": VOCABULARY, "d_model": 12, "n_layer": 2, "n_head": 3, "d_inner": 16, "dropout": 0.0}


def tiny_config(mode: Mode, setting: Setting, **fields: Any) -> PaperConfig:
    sizes: dict[str, Any] = {
        "stack_size": 7,
        "history_size": 5,
        "action_size": 5 if mode is Mode.REFERENCE else 4,
        "feature_size": 3,
        "detector_hidden": 11,
        "clusterer_hidden": 9,
        "dropout": 0.0,
        "max_width": 5,
        "max_speakers": 3,
        "max_count": 4,
        "max_distance": 4,
        "action_weights": (0.5, 3.0, 2.0, 20.0),
        "xlnet": XLNET,
    }
    return PaperConfig(mode=mode, setting=setting, **(sizes | fields))


def tiny_model(config: PaperConfig, seed: int = 0) -> PaperModel:
    """Create a model with weights large enough for every part to matter."""
    torch.manual_seed(seed)
    model = PaperModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model.eval()


def random_document(seed: int, config: PaperConfig, sentences: int, longest: int = 7) -> PaperDocument:
    """Create random sentences between ``<cls>`` and ``<sep>``, with a random legal action sequence as gold."""
    chance = random.Random(seed)
    words = [
        (CLS, *(chance.randrange(5, VOCABULARY) for _ in range(chance.randint(1, longest))), SEP)
        for _ in range(sentences)
    ]
    speakers = [[1, *[chance.randint(2, 6)] * (len(sentence) - 2), 1] for sentence in words]
    buffer = None
    if not config.reference:
        buffer = tuple(tuple(range(1, len(sentence) - 1)) for sentence in words)
        speakers = [speaker[1:-1] for speaker in speakers]
    document = PaperDocument(tuple(words), tuple(map(tuple, speakers)), chance.randrange(len(config.genres)), buffer)
    actions: list[Action] = []
    for batch in plan(document.lengths, config):
        for chunk in document.chunk_lengths(batch):
            for length in stretches(chunk, config):
                actions += _random_walk(chance, length)
    mentions = sum(action in (Action.POP, Action.PEEK) for action in actions)
    entities = [chance.randrange(max(1, mentions // 2)) for _ in range(mentions)]
    return replace(document, actions=tuple(actions), entity_of=number_entities(entities))


def _random_walk(chance: random.Random, length: int) -> list[Action]:
    state = transitions.start(length)
    while not state.finished:
        state = transitions.apply(state, chance.choice(transitions.legal(state)))
    return list(state.actions)


def write_reference_folder(folder: Path, config: PaperConfig, documents: list[PaperDocument], seed: int = 0) -> None:
    """Write a folder in the layout of the reference outputs, with the output of our step-by-step definition."""
    model = tiny_model(config, seed)
    folder.mkdir(parents=True)
    save_file(
        {name: value.contiguous() for name, value in authors_weights(model).items()}, folder / "model.safetensors"
    )
    _write(folder / "config.json", _described(config))
    _write(folder / "documents.json", [_document(document) for document in documents])
    _write(folder / "expected.json", [_outputs(model.double(), document) for document in documents])


def _described(config: PaperConfig) -> dict[str, Any]:
    memory = {Setting.SENT_INC: config.cache, Setting.K_SENTENCE: config.window, Setting.PART_INC: 0}
    part_inc = config.setting is Setting.PART_INC
    return {
        "setting": "part-inc-segments" if part_inc else config.setting.value,
        "k": config.k if config.setting is Setting.K_SENTENCE else 0,
        "mem_len": memory[config.setting],
        "dropout_rate": config.dropout,
        "stack_hidden_size": config.stack_size,
        "action_hist_hidden_size": config.history_size,
        "feature_emb_size": config.feature_size,
        "genres": list(config.genres),
        "max_span_width": config.max_width,
        "max_num_speakers": config.max_speakers,
        "use_speaker_embeds": config.use_speakers,
        "ffnn_size": config.detector_hidden,
        "ffnn_depth": 1,
        "new_cell_threshold": config.new_score,
        "max_mention_distance": config.max_distance,
        "max_entity_count": config.max_count,
        "mem_ffnn_size": config.clusterer_hidden,
        "mem_ffnn_depth": 1,
        "xlnet": config.xlnet,
    }


def _document(document: PaperDocument) -> dict[str, Any]:
    stack: list[int] = []
    mentions, token = [], 0
    for action in document.actions:
        if action is Action.ADVANCE:
            token += 1
        elif action is Action.PUSH:
            stack.append(token)
        else:
            mentions.append([stack[-1] if action is Action.PEEK else stack.pop(), token])
    return {
        "sentences": document.sentences,
        "speakers": document.speakers,
        "genre": document.genre,
        "gold_actions": [int(action) for action in document.actions],
        "gold_mentions": mentions,
        "gold_clusters": document.entity_of,
    }


def _outputs(model: PaperModel, document: PaperDocument) -> dict[str, Any]:
    with torch.no_grad():
        free = run(model, document, gold=False)
    model.zero_grad()
    forced = run(model, document, gold=True)
    loss = torch.stack([part.total for part in forced.losses]).sum()
    loss.backward()
    return {
        "free_running": {
            "action_logits": _with_nulls(free.action_scores),
            "actions": [int(action) for action in free.actions],
            "coref_scores": [scores.tolist() for scores in free.cluster_scores],
            "coref_actions": free.choices,
            "clusters": [spans for spans in free.clusters if len(spans) > 1],
            "all_clusters": free.clusters,
        },
        "teacher_forced": {
            "action_logits": _with_nulls(forced.action_scores),
            "coref_scores": [scores.tolist() for scores in forced.cluster_scores],
            "loss": loss.item(),
            "grad_norms": {name: gradient.norm().item() for name, gradient in gradients(model).items()},
        },
    }


def _with_nulls(scores: list[torch.Tensor]) -> list[list[float | None]]:
    return [[None if value == -torch.inf else value for value in row.tolist()] for row in scores]


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
