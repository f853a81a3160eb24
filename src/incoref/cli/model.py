"""Commands that run a model on annotated files (evaluate, predict), check one (selftest) and export one (export)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli._extras import need_training
from incoref.errors import IncorefError

if TYPE_CHECKING:
    from incoref.analysis.paper_systems import BaselineSystem, PaperSystem
    from incoref.types import Document

Corpora = Annotated[list[Path], typer.Argument(metavar="CORPUS...", help="Files or directories.", show_default=False)]
Format = Annotated[str | None, typer.Option("--from", help="Format of the corpora. Default: detected from content.")]
Documents = Annotated[
    Path | None, typer.Option("--documents", help="A file listing the ids of the documents to use. Default: all.")
]
ModelFolder = Annotated[
    Path | None,
    typer.Option("--model", "-m", help="A model folder or the name of an installed model. Default: the shipped one."),
]
Setting = Annotated[
    str | None,
    typer.Option(
        "--setting",
        help="Sentences read at a time: sent-inc (one), k=N (N) or part-inc (as many as fit in a window). Default: "
        "what the model was trained for.",
        show_default=False,
    ),
]
Scheme = Annotated[str | None, typer.Option("--scheme", help="Annotation scheme. Default: the model's first.")]
Genre = Annotated[str, typer.Option("--genre", help="Genre of all documents, as the model names it.")]
Threads = Annotated[int, typer.Option("--threads", min=1, help="Encoder threads.")]


def register(app: typer.Typer) -> None:
    for command in (evaluate, predict, selftest, export):
        app.command()(command)


def evaluate(
    corpus: Corpora,
    format: Format = None,
    documents: Documents = None,
    model: ModelFolder = None,
    setting: Setting = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    drop_singletons: Annotated[
        bool, typer.Option("--drop-singletons", help="Drop entities with one mention from key and response.")
    ] = False,
    threads: Threads = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run a model on annotated documents and score its output against their annotation.

    Makes the same predictions as incoref resolve and incoref predict, with the same limit on remembered entities.

    Example: incoref evaluate ontogum/dev --scheme ontonotes --drop-singletons
    """
    from incoref.cli.score import TITLES, print_tables
    from incoref.evaluation.metrics import Scorer
    from incoref.resolver import load

    learned = _learned_system(model, setting, scheme, genre)
    if learned is not None:
        _evaluate_learned(learned, read_documents(corpus, format, documents), drop_singletons, as_json)
        return
    resolver = load(model, threads=threads)
    scorer = Scorer(drop_singletons=drop_singletons)
    tokens, seconds = 0, 0.0
    for document in _with_progress(read_documents(corpus, format, documents), "evaluating"):
        started = time.perf_counter()
        predicted = resolver.resolve(document, singletons=True, scheme=scheme, genre=genre, setting=setting)
        seconds += time.perf_counter() - started
        tokens += len(document.tokens)
        scorer.add_documents(document, predicted)
    result = scorer.result()
    about = {
        "scheme": scheme or resolver.model.config.names.schemes[0],
        "setting": setting or resolver.model.setting,
        "model": resolver.model.config.name,
        "tokens_per_second": round(tokens / seconds, 1) if seconds else 0.0,
    }
    if as_json:
        print(json.dumps({**result.to_json(), **about}, ensure_ascii=False, indent=2))
    else:
        print_tables(result, {}, list(TITLES))
        print(f"tokens: {tokens}")
        for name, value in about.items():
            print(f"{name.replace('_', ' ')}: {value}")


def predict(
    corpus: Corpora,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="A file, or a directory (existing, or ending in a slash)."),
    ],
    format: Format = None,
    to: Annotated[str | None, typer.Option("--to", help="Format of OUT. Default: inferred from its suffix.")] = None,
    documents: Documents = None,
    model: ModelFolder = None,
    setting: Setting = None,
    scheme: Scheme = None,
    genre: Genre = "unknown",
    singletons: Annotated[
        bool, typer.Option("--singletons/--no-singletons", help="Include entities with one mention or not.")
    ] = True,
    threads: Threads = 1,
) -> None:
    """Find the entities in tokenised documents and write them in any format that convert writes.

    Keeps the files' tokens, sentences and speakers.

    Example: incoref predict ontogum/dev -o predicted.conllu
    """
    from incoref.cli.corpora import write_documents
    from incoref.resolver import load

    learned = _learned_system(model, setting, scheme, genre)
    if learned is not None:
        read = _with_progress(read_documents(corpus, format, documents), "predicting")
        write_documents((_predicted(learned, document, singletons) for document in read), output, to)
        return
    resolver = load(model, threads=threads)

    def predicted() -> Iterator[Document]:
        for document in _with_progress(read_documents(corpus, format, documents), "predicting"):
            yield resolver.resolve(document, singletons=singletons, scheme=scheme, genre=genre, setting=setting)

    write_documents(predicted(), output, to)


def _learned_system(
    model: Path | None, setting: str | None, scheme: str | None, genre: str
) -> PaperSystem | BaselineSystem | None:
    """The system in a folder, if it is the paper's or one that the paper compares with."""
    from incoref.analysis.paper_systems import folder_system

    learned = None if model is None else folder_system(model, str(model))
    if learned is not None:
        need_training("Running a model of this kind")
        given = [
            name
            for name, chosen in (("--setting", setting), ("--scheme", scheme), ("--genre", genre != "unknown"))
            if chosen
        ]
        if given:
            raise IncorefError(f"{model}: this kind of model doesn't take {' or '.join(given)}; leave it out.")
    return learned


def _predicted(system: PaperSystem | BaselineSystem, document: Document, singletons: bool = True) -> Document:
    from incoref.analysis.clusterings import annotated

    kept = [cluster for cluster in system.clusters(document) if singletons or len(cluster) > 1]
    return annotated(document, {str(number): cluster for number, cluster in enumerate(kept, start=1)})


def _evaluate_learned(
    system: PaperSystem | BaselineSystem, documents: list[Document], drop_singletons: bool, as_json: bool
) -> None:
    from incoref.cli.score import TITLES, print_tables
    from incoref.evaluation.metrics import Scorer, token_clusters

    scorer = Scorer(drop_singletons=drop_singletons)
    tokens, seconds = 0, 0.0
    for document in _with_progress(documents, "evaluating"):
        started = time.perf_counter()
        predicted = system.clusters(document)
        seconds += time.perf_counter() - started
        tokens += len(document.tokens)
        scorer.add(token_clusters(document), predicted)
    speed = round(tokens / seconds, 1) if seconds else 0.0
    about = {"model": system.name, "tokens_per_second": speed}
    if as_json:
        print(json.dumps({**scorer.result().to_json(), **about}, ensure_ascii=False, indent=2))
    else:
        print_tables(scorer.result(), {}, list(TITLES))
        print(f"tokens: {tokens}")
        for name, value in about.items():
            print(f"{name.replace('_', ' ')}: {value}")


def selftest(model: ModelFolder = None) -> None:
    """Check that a model predicts on this machine what it predicted when it was exported."""
    from incoref.model import selftest as checking
    from incoref.model.folder import Model

    started = time.perf_counter()
    loaded = Model.load(model)
    ready = time.perf_counter() - started
    texts = checking.check(loaded)
    print(f"{loaded.config.name}: {texts} texts as expected; loaded in {ready:.2f} s")


def export(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="A training run's folder, or a checkpoint in it. The weights of several that started from the same "
            "model are averaged; name that model's folder last to include it.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The model folder to create.")],
    name: Annotated[str, typer.Option("--name", help="The model's name.")] = "incoref-en",
    calibrate: Annotated[
        Path | None,
        typer.Option(
            "--calibrate",
            metavar="CONFIG.toml",
            help="Fit the temperatures of the probabilities on this configuration's development corpora, which need "
            "singletons (see the setting singletons_from).",
        ),
    ] = None,
    fp32: Annotated[bool, typer.Option("--fp32", help="Keep full precision: larger and slower, for tests.")] = False,
) -> None:
    """Export a training run to a model folder that needs no PyTorch.

    Example: incoref export runs/default-en my-model && incoref selftest --model my-model
    """
    need_training("Exporting")
    from incoref.learning.config import Configuration
    from incoref.learning.export.export import export as write

    trained = [run / "best" if (run / "best").is_dir() else run for run in runs]
    development = Configuration.load(calibrate).dev if calibrate else ()
    calibration = write(trained, out, name=name, quantise=not fp32, development=development)
    size = sum(path.stat().st_size for path in out.iterdir()) / 1e6
    print(f"{out}: {size:.1f} MB")
    for what, fit in (("mentions", calibration.mention), ("links", calibration.link)) if calibration else ():
        print(
            f"{what}: temperature {fit.temperature}; calibration error {fit.error_before:.4f} before, "
            f"{fit.error_after:.4f} after, over {fit.decisions} decisions"
        )


def read_documents(paths: list[Path], format: str | None, listed: Path | None) -> list[Document]:
    """The documents in the files, or those that a list names, in its order."""
    from incoref import corpora
    from incoref.cli._data_sources import check_file

    for path in (*paths, *([listed] if listed else ())):
        check_file(path)
    chosen = [document for path in paths for document in corpora.read(path, format)]
    if listed is not None:
        try:
            wanted = dict.fromkeys(listed.read_text(encoding="utf-8").split())
        except (OSError, UnicodeDecodeError) as error:
            raise IncorefError(f"{listed}: the list of documents can't be read: {error}") from error
        by_id = {document.id: document for document in chosen}
        missing = [name for name in wanted if name not in by_id]
        if missing:
            raise IncorefError(f"{listed} lists '{missing[0]}', which none of the files contains")
        chosen = [by_id[name] for name in wanted]
    return chosen


def _with_progress(documents: list[Document], what: str) -> Iterator[Document]:
    """The documents, with a progress bar on a terminal and none in a pipe."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(documents, what, console=console, transient=True, disable=not console.is_terminal)
