"""``incoref score``: scores a response against a key."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incoref.cli._tables import print_table
from incoref.errors import IncorefError

if TYPE_CHECKING:
    from incoref.evaluation.metrics import Result
    from incoref.types import Document

CONLL = "conll"
"""The metric name for the mean F1 of MUC, B³ and CEAFφ4."""

TITLES = {
    "muc": "MUC",
    "b3": "B³",
    "ceafm": "CEAFm",
    "ceafe": "CEAFφ4",
    "blanc": "BLANC",
    "lea": "LEA",
    "mentions": "mentions",
    CONLL: "CoNLL",
}


def register(app: typer.Typer) -> None:
    app.command("score")(score)


def score(
    key: Annotated[Path, typer.Argument(metavar="KEY", help="The gold annotation: a file or a directory.")],
    response: Annotated[Path, typer.Argument(metavar="RESPONSE", help="A system's output: a file or a directory.")],
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", "-m", help=f"Print only this metric. Repeatable. One of: {', '.join(TITLES)}."),
    ] = None,
    drop_singletons: Annotated[
        bool, typer.Option("--drop-singletons", help="Drop entities with one mention from key and response.")
    ] = False,
    per_document: Annotated[
        bool, typer.Option("--per-document", help="Also score each document separately.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score a response against a key, document by document, matched by id.

    Prints recall, precision and F1 in percent over all documents. Formats are detected from content and may differ.
    Non-referring markables and split antecedents of CONLL-UA files are left out and counted.
    """
    from incoref.evaluation.metrics import Scorer

    wanted = _wanted(metric)
    keys, responses = _documents(key, response)
    # CODI-CRAC's scorer counts a mention in every entity that lists it.
    keep_repeated = any(_has_markables(document) for document in keys.values())
    total = Scorer(drop_singletons=drop_singletons, keep_repeated=keep_repeated)
    single: dict[str, Result] = {}
    left_out: Counter[tuple[str, str]] = Counter()
    for id, key_document in keys.items():
        response_document = responses[id]
        left_out.update({("key", what): count for what, count in _left_out(key_document).items()})
        left_out.update({("response", what): count for what, count in _left_out(response_document).items()})
        scorer = Scorer(drop_singletons=drop_singletons, keep_repeated=keep_repeated)
        scorer.add_documents(key_document, response_document)
        total.merge(scorer)
        if per_document:
            single[key_document.id] = scorer.result()
    for side, repeated in (("key", total.repeated_in_key), ("response", total.repeated_in_response)):
        if repeated:
            print(
                f"incoref: note: mentions listed more than once in the {side}: {repeated}; each counts "
                + ("every time, as in the Universal Anaphora scorer" if keep_repeated else "where it comes first"),
                file=sys.stderr,
            )
    for (side, what), count in left_out.items():
        print(f"incoref: note: {what} left out of the {side}: {count}", file=sys.stderr)
    if as_json:
        shown = _as_json(total.result(), wanted)
        if per_document:
            shown["per_document"] = {id: _as_json(result, wanted) for id, result in single.items()}
        print(json.dumps(shown, ensure_ascii=False, indent=2))
    else:
        print_tables(total.result(), single, wanted)


def _wanted(metrics: list[str] | None) -> list[str]:
    unknown = [name for name in metrics or () if name not in TITLES]
    if unknown:
        raise IncorefError(f"unknown metric {unknown[0]!r}; choose from {', '.join(TITLES)}")
    return [name for name in TITLES if not metrics or name in metrics]


def _documents(key: Path, response: Path) -> tuple[dict[str, Document], dict[str, Document]]:
    """The documents of both sides by id, checked to be the same on both."""
    keys, responses = _by_id(key), _by_id(response)
    for here, where, there in ((keys, response, responses), (responses, key, keys)):
        missing = [id for id in here if id not in there]
        if missing:
            listed = ", ".join(repr(id) for id in missing[:3]) + (", …" if len(missing) > 3 else "")
            raise IncorefError(
                f"{where}: {len(missing)} of {len(here)} documents are missing, which the other side has: {listed}. "
                "Key and response need the same documents under the same ids"
            )
    return keys, responses


def _has_markables(document: Document) -> bool:
    """Whether a document comes from CONLL-UA, the only format with markables."""
    from incoref.corpora.conllua import MARKABLE

    return any(name == MARKABLE for mention in document.mentions for name, _ in mention.attributes)


def _by_id(path: Path) -> dict[str, Document]:
    from incoref.corpora import read

    documents: dict[str, Document] = {}
    for document in read(path):
        if document.id in documents:
            raise IncorefError(f"{path}: there are two documents with the id {document.id!r}; ids must be unique")
        documents[document.id] = document
    return documents


def _left_out(document: Document) -> dict[str, int]:
    """Counts of CONLL-UA annotation that identity scoring ignores."""
    from incoref.corpora.conllua import NON_REFERRING, SPLIT_ANTECEDENT

    non_referring = len(dict(document.attributes).get(NON_REFERRING, "").split())
    plurals = {
        plural
        for mention in document.mentions
        for name, value in mention.attributes
        if name == SPLIT_ANTECEDENT
        for plural in value.split(",")
    }
    counts = {"non-referring markables": non_referring, "split antecedents": len(plurals)}
    return {what: count for what, count in counts.items() if count}


def _as_json(result: Result, wanted: list[str]) -> dict[str, Any]:
    hidden = {name for name in TITLES if name not in wanted}
    if CONLL in hidden:
        hidden.add("conll_f1")
    return {name: value for name, value in result.to_json().items() if name not in hidden}


def print_tables(total: Result, single: Mapping[str, Result], wanted: Sequence[str]) -> None:
    """Print the figures of each document in ``single``, then those of all documents."""
    if single:
        titles = [TITLES[name] for name in wanted]
        print_table(
            [
                ["F1", *titles],
                *([id, *(f"{_row(result, name)[2]:.2f}" for name in wanted)] for id, result in single.items()),
            ]
        )
        print()
    print_table(
        [
            ["", "recall", "precision", "F1"],
            *([TITLES[name], *(f"{figure:.2f}" for figure in _row(total, name))] for name in wanted),
        ]
    )
    print(f"documents: {total.documents}")


def _row(result: Result, name: str) -> tuple[float, float, float]:
    if name == CONLL:
        return result.conll_recall, result.conll_precision, result.conll_f1
    figures: tuple[float, float, float] = getattr(result, name)
    return figures
