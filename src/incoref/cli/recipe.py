"""``incoref recipe``: does everything that a model is made of: labelling, training runs, exports, evaluations."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incoref.cli._console import note
from incoref.cli._extras import need_training
from incoref.cli.train import INTERRUPTED, stop_on_signal

if TYPE_CHECKING:
    from incoref.learning.recipe import Cook, EvaluateStep


def register(app: typer.Typer) -> None:
    app.command()(recipe)


def recipe(
    path: Annotated[Path, typer.Argument(metavar="RECIPE.toml", help="The recipe; see recipes/.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the runs. Default: runs/ and the recipe's name.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="Configuration of all runs, instead of the one that the recipe names."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show the steps and which are done, without running any.")
    ] = False,
) -> None:
    """Rebuild a model: label texts, train runs, export them, and evaluate the exports, in order.

    After an interrupt, run the same command again: it skips finished steps and resumes the current one. The scores of
    an evaluated export are written to its MODEL_CARD.md.

    Example: incoref recipe recipes/en.toml --out runs/en
    """
    need_training("Making a model")
    from incoref.cli._data_sources import check_paths
    from incoref.cli._training_display import display
    from incoref.learning.config import Configuration
    from incoref.learning.recipe import Cook, Recipe
    from incoref.learning.train.trainer import Stopped

    chosen = Recipe.load(path)
    if config is not None:
        chosen = chosen.model_copy(update={"config": config})
    folder = out or Path("runs") / path.stem
    cook = Cook(chosen, folder)
    if plan:
        for state in cook.states():
            print(f"{'done' if state.done else '–':5} {state.step.title}")
        return
    check_paths(Configuration.load(chosen.config, chosen.settings), chosen.config)
    try:
        with display() as report, stop_on_signal() as stop:
            cook.make(
                lambda step: print(step.title, flush=True),
                report,
                stop,
                lambda done: note(f"{done.documents:,} documents, {done.tokens:,} words"),
            )
    except Stopped:
        again = shlex.join(["incoref", *sys.argv[1:]])
        print(f"incoref: stopped and saved; continue with: {again}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    for step in chosen.steps:
        if step.evaluate is not None:
            _write_scores(cook, step.evaluate, folder / step.evaluate.name / "MODEL_CARD.md", path)


def _write_scores(cook: Cook, step: EvaluateStep, card: Path, recipe: Path) -> None:
    from incoref.outputs.model_card import put_into_card, table_lines

    rows = []
    for corpus in step.corpora:
        scores = cook.scores(step)[corpus.title]
        singletons = "dropped" if corpus.drop_singletons else "kept"
        figures = [f"{scores[name]['f1']:.1f}" for name in ("muc", "b3", "ceafe", "mentions")]
        rows.append([corpus.title, f"`{corpus.scheme}`", singletons, *figures, f"**{scores['conll_f1']:.1f}**"])
    heading = ("Data", "Scheme", "Singletons", "MUC", "B³", "CEAFφ4", "Mentions", "CoNLL F1")
    lines = [
        "## Scores",
        "",
        "F1 in percent; greedy, one sentence at a time, genre unknown. Computed by "
        f"`incoref recipe {recipe.as_posix()}`.",
        "",
        *table_lines(heading, rows),
    ]
    if not card.exists():
        card.write_text(f"# {step.name}\n", encoding="utf-8")
    put_into_card(card, "\n".join(lines) + "\n")
    print("\n".join(lines[4:]))
