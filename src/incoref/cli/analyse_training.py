"""Analyses that can train models: ``incoref analyse k-curve`` and ``ablate``. Models are kept with the results."""

from __future__ import annotations

from collections.abc import Callable
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
    documents_of,
    finish,
    result_cache,
)
from incoref.cli._extras import need_training
from incoref.cli.model import Corpora, Documents, Format, Genre, Scheme, Threads
from incoref.errors import IncorefError

if TYPE_CHECKING:
    from incoref.analysis.result_cache import ResultCache
    from incoref.analysis.systems import Options, System
    from incoref.analysis.training import Models

Resume = Annotated[
    bool, typer.Option("--resume", hidden=True, help="No longer needed: half-trained models are always resumed.")
]
TrainSettings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Override a setting of the configuration. Repeatable."),
]


def k_curve(
    corpus: Corpora,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system", "-s", help="A model folder or 'default': one model, evaluated at every k. Repeatable."
        ),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option("--train", metavar="CONFIG.toml", help="Train one model per k from this configuration."),
    ] = None,
    settings: TrainSettings = None,
    k: Annotated[list[int] | None, typer.Option("--k", min=1, help="Sentences read at a time. Repeatable.")] = None,
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
    resume: Resume = False,
) -> None:
    """Plot coreference and mention scores against k, the number of sentences read at a time.

    Without --k: 1, 4, 8, 12, 16, 20, 24. Without --system and --train: the default model at every k.

    Example: incoref analyse k-curve ontogum/dev -s default --train configs/default-en.toml --k 1 --k 4 --k 20
    """
    from incoref.analysis.k_curve import KS, trained_for
    from incoref.analysis.k_curve import k_curve as run
    from incoref.analysis.system_names import system_named
    from incoref.analysis.systems import Options
    from incoref.model.folder import Model

    texts = documents_of(corpus, format, documents, limit)
    options = Options(scheme, genre, threads)
    loaded: dict[Path | None, Model] = {}

    def at_every_k(place: str) -> Callable[[int], System]:
        if "@" in place:
            raise IncorefError(f"'{place}': give the model without a setting; this analysis varies k itself")
        return lambda number: system_named(f"{place}@k={number}", options, loaded)

    ways = [(place, at_every_k(place)) for place in system or ([] if train else ["default"])]
    with result_cache(out, again) as cache:
        if train is not None:
            ways.append(("trained for k", trained_for(_models(train, out, cache, options, settings))))
        findings = run(texts, ways, cache, ks=k or KS, drop_singletons=drop_singletons, beside_paper=paper)
    finish(findings, cache, out, name)


def ablate(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="The full configuration.")],
    corpus: Corpora,
    variant: Annotated[
        list[str] | None,
        typer.Option("--variant", help="Name and settings: 'no genre: training.genre_dropout=1.0'. Repeatable."),
    ] = None,
    variants: Annotated[
        Path | None, typer.Option("--variants", help="A TOML file of variants: name = \\[settings].")
    ] = None,
    settings: TrainSettings = None,
    seed: Annotated[
        list[int] | None, typer.Option("--seed", help="Training seed. Repeatable. Default: 1, 2, 3.")
    ] = None,
    format: Format = None,
    documents: Documents = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    drop_singletons: DropSingletons = False,
    samples: Annotated[int, typer.Option("--samples", min=100, help="Bootstrap samples.")] = 10_000,
    paper: BesidePaper = False,
    threads: Threads = 1,
    limit: Limit = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
    resume: Resume = False,
) -> None:
    """Train variants of a configuration with the same seeds and compare each with the full configuration.

    Example: incoref analyse ablate default-en.toml ontogum/dev --variant "no genre: training.genre_dropout=1.0"
    """
    from incoref.analysis.ablate import ablate as run
    from incoref.analysis.ablate import read_variants, variant_named
    from incoref.analysis.systems import Options

    named = read_variants(variants) if variants else {}
    named.update(variant_named(text) for text in variant or ())
    if not named:
        raise IncorefError("nothing to compare with: name variants with --variant or --variants")
    texts = documents_of(corpus, format, documents, limit)
    with result_cache(out, again) as cache:
        findings = run(
            texts,
            _models(config, out, cache, Options(scheme, genre, threads), settings),
            named,
            cache,
            seeds=seed or (1, 2, 3),
            drop_singletons=drop_singletons,
            samples=samples,
            beside_paper=paper,
        )
    finish(findings, cache, out, name)


def _models(config: Path, out: Path, cache: ResultCache, options: Options, settings: list[str] | None) -> Models:
    """Models trained by ``incoref train``, in subfolders of the output folder."""
    need_training("Training")
    from incoref.analysis.training import Models
    from incoref.cli.train import train

    def run(file: Path, folder: Path, changed: list[str]) -> None:
        train(file, folder, resume=True, settings=changed)

    return Models(config, out / "models", run, cache, options, settings or ())
