"""``incoref analyse``: what a model gets right and wrong. Each command prints tables and writes JSON and plots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli._analysing import (
    DEFAULT_OUT,
    Again,
    BesidePaper,
    DropSingletons,
    Limit,
    Name,
    Out,
    Systems,
    documents_of,
    finish,
    result_cache,
)
from incoref.cli._extras import need_training
from incoref.cli.analyse_training import ablate, k_curve
from incoref.cli.model import Corpora, Documents, Format, Genre, Scheme, Threads
from incoref.errors import IncorefError

if TYPE_CHECKING:
    from incoref.analysis.systems import ModelSystem, System

analyse = typer.Typer(
    help="Analyse what models get right and wrong: tables, JSON and plots. Interrupted analyses resume.",
    no_args_is_help=True,
)
analyse.command("k-curve")(k_curve)
analyse.command("ablate")(ablate)
OneSystem = Annotated[
    str, typer.Option("--system", "-s", help="A model folder or 'default', optionally with @k=N or @part-inc.")
]


def register(app: typer.Typer) -> None:
    app.add_typer(analyse, name="analyse")


@analyse.command("scores")
def scores(
    corpus: Corpora,
    system: Systems = None,
    format: Format = None,
    documents: Documents = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    drop_singletons: DropSingletons = False,
    paper: BesidePaper = False,
    threads: Threads = 1,
    limit: Limit = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
) -> None:
    """Score any number of systems on the same documents, in the columns of the paper's main table.

    Example: incoref analyse scores ontogum/dev -s default -s default@k=20 -s default@part-inc --drop-singletons
    """
    from incoref.analysis.scores import scores as run

    texts = documents_of(corpus, format, documents, limit)
    systems = _systems(system or ["default"], scheme, genre, threads)
    with result_cache(out, again) as cache:
        findings = run(texts, systems, cache, drop_singletons=drop_singletons, beside_paper=paper)
    finish(findings, cache, out, name)


@analyse.command("compare")
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A system, as for --system of incoref analyse scores.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another system, or the same one in another setting.")],
    corpus: Corpora,
    format: Format = None,
    documents: Documents = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    drop_singletons: DropSingletons = False,
    samples: Annotated[int, typer.Option("--samples", min=100, help="Bootstrap samples.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.")] = 1,
    threads: Threads = 1,
    limit: Limit = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
) -> None:
    """Compare two models or settings on the same documents, with confidence intervals.

    Example: incoref analyse compare default default@k=20 ontogum/dev --drop-singletons
    """
    from incoref.analysis.scores import compare as run

    texts = documents_of(corpus, format, documents, limit)
    one, other = _systems([a, b], scheme, genre, threads)
    with result_cache(out, again) as cache:
        findings = run(texts, one, other, cache, drop_singletons=drop_singletons, samples=samples, seed=seed)
    finish(findings, cache, out, name)


@analyse.command("errors")
def errors(
    corpus: Corpora,
    system: OneSystem = "default",
    format: Format = None,
    documents: Documents = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    drop_singletons: DropSingletons = False,
    worst: Annotated[int, typer.Option("--worst", min=1, help="Number of documents on the page, worst first.")] = 20,
    threads: Threads = 1,
    limit: Limit = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
) -> None:
    """Count missing and extra mentions and divided and conflated entities, by kind, distance and genre.

    NAME-worst.html shows the worst documents with key and response side by side.

    Example: incoref analyse errors ontogum/dev --drop-singletons
    """
    from incoref.analysis.errors import errors as run

    texts = documents_of(corpus, format, documents, limit)
    [chosen] = _systems([system], scheme, genre, threads)
    with result_cache(out, again) as cache:
        findings = run(texts, chosen, cache, drop_singletons=drop_singletons, worst=worst)
    finish(findings, cache, out, name)


@analyse.command("partition")
def partition(
    corpus: Corpora,
    system: Systems = None,
    size: Annotated[
        list[int] | None, typer.Option("--size", "-p", min=1, help="Sentences per segment. Repeatable.")
    ] = None,
    format: Format = None,
    documents: Documents = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    paper: BesidePaper = False,
    threads: Threads = 1,
    limit: Limit = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
) -> None:
    """Score recall within segments of p sentences, which shows where links are lost.

    Without --system, runs the default model with k = 1, 4 and 20.

    Example: incoref analyse partition ontogum/dev -s default@k=1 -s default@k=4 --paper
    """
    from incoref.analysis.partition import SIZES
    from incoref.analysis.partition import partition as run

    texts = documents_of(corpus, format, documents, limit)
    systems = _systems(system or ["default@k=1", "default@k=4", "default@k=20"], scheme, genre, threads)
    with result_cache(out, again) as cache:
        findings = run(texts, systems, cache, sizes=size or SIZES, beside_paper=paper)
    finish(findings, cache, out, name)


@analyse.command("over-time")
def over_time(
    corpus: Corpora,
    system: Systems = None,
    lookahead: Annotated[
        list[int] | None,
        typer.Option("--lookahead", min=0, help="Sentences of lookahead; 0 skips this table. Repeatable."),
    ] = None,
    format: Format = None,
    documents: Documents = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    drop_singletons: DropSingletons = False,
    threads: Threads = 1,
    limit: Limit = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
) -> None:
    """Score the output after every sentence, and count what 1, 2 or 4 sentences of lookahead would change.

    Example: incoref analyse over-time ontogum/dev -s default -s default@k=4 --drop-singletons
    """
    from incoref.analysis.over_time import LOOKAHEADS
    from incoref.analysis.over_time import over_time as run

    texts = documents_of(corpus, format, documents, limit)
    systems = _systems(system or ["default"], scheme, genre, threads)
    ahead = [number for number in (LOOKAHEADS if lookahead is None else lookahead) if number]
    with result_cache(out, again) as cache:
        findings = run(texts, systems, cache, drop_singletons=drop_singletons, lookaheads=ahead)
    finish(findings, cache, out, name)


@analyse.command("bias")
def bias(
    gap: Annotated[list[Path] | None, typer.Option("--gap", help="A GAP TSV file. Repeatable.")] = None,
    winobias: Annotated[Path | None, typer.Option("--winobias", help="The WinoBias folder.")] = None,
    winogender: Annotated[Path | None, typer.Option("--winogender", help="The Winogender folder.")] = None,
    system: OneSystem = "default",
    scheme: Scheme = None,
    genre: Genre = "unknown",
    card: Annotated[
        Path | None, typer.Option("--card", help="A model card in which to replace or add the section on bias.")
    ] = None,
    threads: Threads = 1,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Use only the first N texts of each file.")
    ] = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
) -> None:
    """Measure whether pronouns of one gender are linked better than others, on GAP, WinoBias and Winogender.

    Also writes NAME-card.md, a section for a model card.

    Example: incoref analyse bias --gap gap-development.tsv --winobias winobias --winogender winogender
    """
    from incoref.analysis.bias import BiasData
    from incoref.analysis.bias import bias as run
    from incoref.outputs.model_card import put_into_card

    [chosen] = _systems([system], scheme, genre, threads)
    with result_cache(out, again) as cache:
        findings = run(BiasData(tuple(gap or ()), winobias, winogender), chosen, cache, limit=limit)
    finish(findings, cache, out, name)
    if card is not None:
        put_into_card(card, findings.pages["card.md"])


@analyse.command("speed")
def speed(
    corpus: Corpora,
    system: OneSystem = "default",
    stream: Annotated[
        int,
        typer.Option(
            "--stream", min=0, help="Length in tokens of the stream on which memory is measured; 0 skips it."
        ),
    ] = 20_000,
    format: Format = None,
    documents: Documents = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    threads: Threads = 1,
    limit: Limit = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
) -> None:
    """Measure tokens per second, latency by length, memory over a stream, and how work grows with text length.

    Measurements are cached per machine; --again repeats them.

    Example: incoref analyse speed ontogum/dev
    """
    from incoref.analysis.speed import speed as run

    texts = documents_of(corpus, format, documents, limit)
    chosen = _model_system(system, scheme, genre, threads)
    with result_cache(out, again) as cache:
        findings = run(texts, chosen, cache, stream=stream)
    finish(findings, cache, out, name)


@analyse.command("incrementalise")
def incrementalise(
    corpus: Corpora,
    function: Annotated[
        str | None,
        typer.Option(
            "--function", help="MODULE:FUNCTION that takes a document and returns a document or token clusters."
        ),
    ] = None,
    command: Annotated[
        str | None, typer.Option("--command", help="A program that reads CoNLL-2012 and writes it with its clusters.")
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", "-s", help="A system: a model folder, or a run's best/.")
    ] = None,
    beside: Annotated[
        list[str] | None, typer.Option("--beside", help="Another system to add to the table. Repeatable.")
    ] = None,
    format: Format = None,
    documents: Documents = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    drop_singletons: DropSingletons = False,
    threads: Threads = 1,
    limit: Limit = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
) -> None:
    """Run a whole-document resolver on growing prefixes, sentence by sentence: its cost and its score.

    What is kept belongs to the resolver's name; when the resolver itself has changed, say --again.

    Example: incoref analyse incrementalise ontogum/dev --function theirs:resolve --beside default --drop-singletons
    """
    from incoref.analysis.incrementalise import command_resolver, prefix_resolver, python_resolver
    from incoref.analysis.incrementalise import incrementalise as run

    if sum(given is not None for given in (function, command, system)) != 1:
        raise IncorefError("name one resolver: --system NAME, --function MODULE:FUNCTION or --command 'PROGRAM …'")
    if function is not None:
        resolver, title = python_resolver(function), function
    elif command is not None:
        resolver, title = command_resolver(command), command
    else:
        [chosen] = _systems([system or ""], scheme, genre, threads)
        resolver, title = prefix_resolver(chosen), chosen.name
    texts = documents_of(corpus, format, documents, limit)
    ours = _systems(beside or [], scheme, genre, threads)
    with result_cache(out, again) as cache:
        findings = run(texts, resolver, title, cache, drop_singletons=drop_singletons, beside=ours)
    finish(findings, cache, out, name)


@analyse.command("protocols")
def protocols(
    corpus: Corpora,
    system: Systems = None,
    format: Format = None,
    documents: Documents = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    singletons_from: Annotated[
        Path | None,
        typer.Option(
            "--singletons-from",
            help="Another annotation of the same texts, whose other mentions count as singletons.",
        ),
    ] = None,
    incremental_limit: Annotated[
        list[str] | None,
        typer.Option(
            "--incremental-limit",
            metavar="SYSTEM=N",
            help="A name under --system: sentence by sentence, it reads the N shortest documents only; repeatable.",
        ),
    ] = None,
    threads: Threads = 1,
    limit: Limit = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
) -> None:
    """Compare systems on whole documents and sentence by sentence: scores, work, growth of work, speed, memory.

    Example: incoref analyse protocols ontogum/dev -s "Sent-Inc: default" -s "c2f: runs/c2f/best"
    """
    from incoref.analysis.protocols import protocols as run
    from incoref.analysis.systems import Options

    texts = documents_of(corpus, format, documents, limit)
    if singletons_from is not None:
        need_training("Adding singletons")
        from incoref.learning.data.sources import all_with_singletons

        texts = all_with_singletons(texts, singletons_from, format)
    limits = dict(_limit(given) for given in incremental_limit or ())
    with result_cache(out, again) as cache:
        findings = run(texts, system or ["default"], Options(scheme, genre, threads), cache, limits)
    finish(findings, cache, out, name)


def _limit(given: str) -> tuple[str, int]:
    name, _, count = given.rpartition("=")
    if not (name and count.isdecimal()):
        raise IncorefError(f"--incremental-limit '{given}': write it as SYSTEM=N, with N at least 0")
    return name, int(count)


def _systems(names: list[str], scheme: str | None, genre: str, threads: int) -> list[System]:
    from incoref.analysis.system_names import systems_named
    from incoref.analysis.systems import Options

    return systems_named(names, Options(scheme, genre, threads))


def _model_system(name: str, scheme: str | None, genre: str, threads: int) -> ModelSystem:
    from incoref.analysis.systems import ModelSystem

    [system] = _systems([name], scheme, genre, threads)
    if not isinstance(system, ModelSystem):
        raise IncorefError(f"{name}: not a model folder; speed can't be measured from output files")
    return system
