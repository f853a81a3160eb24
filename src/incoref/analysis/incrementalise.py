"""``incrementalise``: run any whole-document resolver sentence by sentence, on growing prefixes.

After each sentence the resolver reads the whole text so far. Under the incremental protocol its first decisions are
final: a mention counts as predicted when its sentence was the last one, and joins the entity of the closest earlier
mention in its cluster that was already kept, or starts a new entity. For comparison, the analysis also scores the
resolver's revised output after every sentence (summed over all sentences) and its output for whole documents.
"""

from __future__ import annotations

import importlib
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from incoref.analysis.clusterings import before, sentence_ends
from incoref.analysis.findings import Findings, Plot, Table, row, series
from incoref.analysis.paper_systems import BaselineSystem
from incoref.analysis.result_cache import ResultCache, text_digest
from incoref.analysis.scores import score, settings_of
from incoref.analysis.systems import Clusters, System, answers
from incoref.corpora import conll2012
from incoref.corpora.losses import Losses
from incoref.errors import IncorefError
from incoref.evaluation.metrics import Result, Scorer, token_clusters
from incoref.types import Document

Resolver = Callable[[Document], Clusters]


def python_resolver(name: str) -> Resolver:
    """Import ``module:function``, which takes a document and returns one, or clusters of half-open token ranges."""
    module, colon, function = name.partition(":")
    if not colon:
        raise IncorefError(f"'{name}': write it as module:function")
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        call = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise IncorefError(f"'{name}': can't be imported: {error}") from error

    def resolve(document: Document) -> Clusters:
        answer: Document | Iterable[Iterable[tuple[int, int]]] = call(document)
        if isinstance(answer, Document):
            return token_clusters(answer)
        return [[(int(first), int(end)) for first, end in cluster] for cluster in answer]

    return resolve


def command_resolver(command: str) -> Resolver:
    """Wrap a program that reads CoNLL-2012 from standard input and writes it with its clusters to standard output."""
    words = shlex.split(command)

    def resolve(document: Document) -> Clusters:
        given = "".join(conll2012.write([document], Losses()))
        try:
            done = subprocess.run(words, input=given, capture_output=True, text=True, encoding="utf-8", check=False)
        except OSError as error:
            raise IncorefError(f"'{command}' can't be run: {error.strerror or error}") from error
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
            raise IncorefError(f"'{command}' ended with {done.returncode} on document '{document.id}': {last[0]}")
        answered = list(conll2012.read(done.stdout, f"output of '{command}'"))
        if len(answered) != 1 or len(answered[0].tokens) != len(document.tokens):
            raise IncorefError(
                f"'{command}' answered with {len(answered)} documents of "
                f"{sum(len(d.tokens) for d in answered)} tokens to one of {len(document.tokens)}; it must keep the "
                "document and its words"
            )
        return token_clusters(answered[0])

    return resolve


def prefix_resolver(system: System) -> Resolver:
    """Return what finds the system's clusters in growing prefixes."""
    if not isinstance(system, BaselineSystem):
        return system.clusters
    reader = system.prefix_reader()
    return lambda document: reader.predict(document).clusters


def prefix(document: Document, sentences: int) -> Document:
    """Return the first sentences of a document, without its annotation."""
    kept = document.sentences[:sentences]
    return replace(document, text=document.text[: kept[-1].end], sentences=kept, entities=())


def growing(resolve: Resolver, document: Document) -> dict[str, Any]:
    """Resolve all prefixes of a document; return the answers and the seconds that each took."""
    said, seconds = [], []
    for sentences in range(1, len(document.sentences) + 1):
        text = prefix(document, sentences)
        started = time.perf_counter()
        said.append(resolve(text))
        seconds.append(round(time.perf_counter() - started, 6))
    return {"answers": said, "seconds": seconds}


def as_first_said(said: Sequence[Clusters], ends: Sequence[int]) -> Clusters:
    """Return the clusters that result when the first decision about every mention is final."""
    entity_of: dict[tuple[int, int], int] = {}
    entities = 0
    start = 0
    for clusters, end in zip(said, ends, strict=True):
        for cluster in clusters:
            known = [span for span in cluster if span in entity_of]
            new = [span for span in cluster if start < span[1] <= end]
            if not new:
                continue
            if known:
                entity = entity_of[max(known)]
            else:
                entity, entities = entities, entities + 1
            entity_of.update(dict.fromkeys(new, entity))
        start = end
    as_said: list[list[tuple[int, int]]] = [[] for _ in range(entities)]
    for span, entity in entity_of.items():
        as_said[entity].append(span)
    return [cluster for cluster in as_said if cluster]


def incrementalise(
    documents: Sequence[Document],
    resolve: Resolver,
    name: str,
    cache: ResultCache,
    *,
    drop_singletons: bool = False,
    beside: Sequence[System] = (),
) -> Findings:
    """Compare the protocols; ``beside`` are our own systems to show in the same table."""
    measured = cache.each(
        f"growing prefixes for {name}",
        documents,
        lambda document: (name, document.id, text_digest(document)),
        lambda document: growing(resolve, document),
        timed=True,
    )
    said = [[_spans(clusters) for clusters in of_document["answers"]] for of_document in measured]
    ends = [sentence_ends(document) for document in documents]
    whole = [answers_of[-1] if answers_of else [] for answers_of in said]
    first = [as_first_said(answers_of, end) for answers_of, end in zip(said, ends, strict=True)]
    revised = Scorer(drop_singletons=drop_singletons)
    for document, answers_of, end in zip(documents, said, ends, strict=True):
        gold = token_clusters(document)
        for clusters, so_far in zip(answers_of, end, strict=True):
            revised.add(before(gold, so_far), clusters)
    results = {
        f"{name}, whole documents": score(documents, whole, drop_singletons),
        f"{name}, revised after every sentence": revised.result(),
        f"{name}, as first said": score(documents, first, drop_singletons),
        **{system.name: score(documents, answers(system, documents, cache), drop_singletons) for system in beside},
    }
    columns = ("", "MUC F1", "B³ F1", "CEAFφ4 F1", "CoNLL F1", "mention F1")
    scored = Table("Scores", columns, tuple(_scored(label, result) for label, result in results.items()))
    bars = series("CoNLL F1", range(len(results)), [result.conll_f1 for result in results.values()])
    return Findings(
        "incrementalise",
        f"{name}, sentence by sentence",
        (scored, _cost_table(documents, measured, ends)),
        (
            Plot("Scores", "", "CoNLL F1", (bars,), "bars", tuple(results)),
            _cost_plot(measured),
        ),
        {**settings_of(documents, beside, drop_singletons), "resolver": name},
        {label: result.to_json() for label, result in results.items()},
    )


def _spans(clusters: Iterable[Iterable[Sequence[int]]]) -> Clusters:
    return [[(first, end) for first, end in cluster] for cluster in clusters]


def _scored(label: str, result: Result) -> Any:
    return row(label, result.muc.f1, result.b3.f1, result.ceafe.f1, result.conll_f1, result.mentions.f1)


def _cost_table(
    documents: Sequence[Document], measured: Sequence[dict[str, Any]], ends: Sequence[Sequence[int]]
) -> Table:
    once = sum(of_document["seconds"][-1] for of_document in measured if of_document["seconds"])
    all_prefixes = sum(sum(of_document["seconds"]) for of_document in measured)
    tokens = sum(len(document.tokens) for document in documents)
    read = sum(sum(of_document) for of_document in ends)
    return Table(
        "Cost",
        ("", "tokens read", "seconds", "tokens of text a second"),
        (
            row("whole documents", tokens, once, tokens / once if once else None),
            row("growing prefixes", read, all_prefixes, tokens / all_prefixes if all_prefixes else None),
            row("factor", read / tokens if tokens else None, all_prefixes / once if once else None, None),
        ),
        digits=2,
    )


def _cost_plot(measured: Sequence[dict[str, Any]]) -> Plot:
    longest = max((len(of_document["seconds"]) for of_document in measured), default=0)
    means = []
    for sentence in range(longest):
        there = [of["seconds"][sentence] for of in measured if len(of["seconds"]) > sentence]
        means.append(1000 * sum(there) / len(there))
    line = series("mean over documents", range(1, longest + 1), means)
    return Plot("Cost of the next sentence", "sentences so far", "ms", (line,))
