"""``incoref label``: labels texts with a model, for training another one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli._console import INTERRUPTED, note
from incoref.cli.model import Corpora, Format, Scheme, Threads

if TYPE_CHECKING:
    from incoref.learning.labelling import Labelled


def register(app: typer.Typer) -> None:
    app.command()(label)


def label(
    corpus: Corpora,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="The folder for the labelled texts.")],
    format: Format = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="MODEL",
            help="Model folder or name. Several decide together, by the mean of their scores.",
        ),
    ] = None,
    scheme: Scheme = None,
    longest: Annotated[
        int | None,
        typer.Option(
            "--longest",
            min=1,
            help="Read texts in parts of up to N words, and join entities of different parts by name.",
        ),
    ] = None,
    threads: Threads = 1,
) -> None:
    """Label texts with the decisions of one or more models and their probabilities, to train a smaller model on.

    Writes shards of JSON lines to OUT. incoref train takes OUT as a corpus and learns the model's probabilities, not
    only its choices. Existing annotation in the texts is ignored. After an interrupt or a kill, run the same command
    again to continue.

    Example: incoref label articles.jsonl -o labelled/ -m en-base --scheme ontonotes
    """
    from incoref import corpora
    from incoref.cli._data_sources import check_file
    from incoref.learning.ensemble import Ensemble
    from incoref.learning.labelling import label_into
    from incoref.model.folder import Model

    for path in corpus:
        check_file(path)
    documents = (document for path in corpus for document in corpora.read(path, format))
    models = [Model.load(folder, threads) for folder in model] if model else [Model.load(threads=threads)]
    ensemble = Ensemble(models)
    started = time.monotonic()

    def tell(done: Labelled) -> None:
        note(f"{done.documents:,} documents, {done.tokens:,} words, {time.monotonic() - started:,.0f} s")

    try:
        done = label_into(output, ensemble, documents, scheme, longest, tell)
    except KeyboardInterrupt:
        note("interrupted; run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None
    print(f"{output}: {done.documents:,} documents, {done.tokens:,} words, {done.mentions:,} mentions")
    if done.left_out:
        note(f"{done.left_out:,} documents left out: a sentence in them is too long for the model to read at once")
