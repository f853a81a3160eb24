"""``incoref corpus prepare``: prepares the user's own copies of licensed corpora as the paper did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli._console import note
from incoref.cli._tables import print_table
from incoref.cli.corpora import corpus
from incoref.errors import IncorefError

if TYPE_CHECKING:
    from incoref.corpora import Statistics
    from incoref.types import Document

prepare = typer.Typer(help="Prepare OntoNotes and CODI-CRAC as the paper did.", no_args_is_help=True)
Release = Annotated[Path, typer.Argument(metavar="DIR", help="The unpacked release.")]
Target = Annotated[Path, typer.Argument(metavar="OUT", help="The folder to create.")]


def register(app: typer.Typer) -> None:
    corpus.add_typer(prepare, name="prepare")


@prepare.command("ontonotes")
def ontonotes(release: Release, out: Target) -> None:
    """Extract the official English splits of OntoNotes 5 from the CoNLL-2012 files of the LDC release.

    Creates OUT/train, OUT/dev and OUT/test, with one file per document.

    Example: incoref corpus prepare ontonotes conll-2012 corpora/ontonotes
    """
    from incoref.corpora import prepare as preparing

    counted = {}
    for split, paths in preparing.ontonotes_files(release).items():
        counted[split] = _write(preparing.ontonotes(paths), out / split)
    _print(counted)
    for split, statistics in counted.items():
        if statistics.documents != preparing.OFFICIAL[split]:
            note(
                f"note: {split} has {statistics.documents} documents, but the official split has "
                f"{preparing.OFFICIAL[split]:,}; scores are comparable only on the same documents"
            )


@prepare.command("codi-crac")
def codi_crac(folder: Release, out: Target) -> None:
    """Extract the dialogues of CODI-CRAC from CONLL-UA files: genre tc, no singletons, no split antecedents.

    Creates a folder in OUT for each file, with one file per document.

    Example: incoref corpus prepare codi-crac codi-crac-2021 corpora/codi-crac
    """
    from incoref.corpora import prepare as preparing

    counted: dict[str, Statistics] = {}
    for path in preparing.codi_crac_files(folder):
        name = path.stem.lower()
        if name in counted:
            raise IncorefError(f"{path}: two files have this name; prepare them separately")
        counted[name] = _write(preparing.codi_crac(path), out / name)
    _print(counted)


def _write(documents: Iterable[Document], folder: Path) -> Statistics:
    """Write a folder with one file per document, and count what was written."""
    from incoref import corpora

    total = corpora.Statistics()

    def counting() -> Iterator[Document]:
        nonlocal total
        for document in documents:
            total += corpora.statistics([document])
            yield document

    corpora.write(counting(), f"{folder}/", "conll-2012")
    return total


def _print(counted: dict[str, Statistics]) -> None:
    rows = [["", "documents", "sentences", "tokens", "mentions", "clusters"]]
    for name, of in counted.items():
        figures = (of.documents, of.sentences, of.tokens, of.mentions, of.clusters)
        rows.append([name, *(f"{figure:,}" for figure in figures)])
    print_table(rows)
