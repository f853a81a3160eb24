"""``incoref analyse``: what a model does well and badly. Each command prints, writes JSON and plots."""

from __future__ import annotations

from typing import Annotated

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
    keeping,
)
from incoref.cli.model import Corpora, Documents, Format, Genre, Scheme, Threads

analyse = typer.Typer(
    help="See what models do well and badly: tables, JSON and plots. A repeated call goes on where it stopped.",
    no_args_is_help=True,
)


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
    from incoref.analysis.systems import Options, systems_named

    texts = documents_of(corpus, format, documents, limit)
    systems = systems_named(system or ["default"], Options(scheme, genre, threads))
    with keeping(out, again) as keeper:
        found = run(texts, systems, keeper, drop_singletons=drop_singletons, beside_paper=paper)
    finish(found, out, name)


@analyse.command("compare")
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A system: see --system of incoref analyse scores.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one, or another setting of it.")],
    corpus: Corpora,
    format: Format = None,
    documents: Documents = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    drop_singletons: DropSingletons = False,
    samples: Annotated[int, typer.Option("--samples", min=100, help="Samples of the bootstrap.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap.")] = 1,
    threads: Threads = 1,
    limit: Limit = None,
    out: Out = DEFAULT_OUT,
    name: Name = None,
    again: Again = False,
) -> None:
    """Compare two models or settings on the same documents, with how sure the difference is.

    Example: incoref analyse compare default default@k=20 ontogum/dev --drop-singletons
    """
    from incoref.analysis.scores import compare as run
    from incoref.analysis.systems import Options, systems_named

    texts = documents_of(corpus, format, documents, limit)
    one, other = systems_named([a, b], Options(scheme, genre, threads))
    with keeping(out, again) as keeper:
        found = run(texts, one, other, keeper, drop_singletons=drop_singletons, samples=samples, seed=seed)
    finish(found, out, name)
