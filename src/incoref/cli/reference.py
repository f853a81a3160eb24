"""Commands for the authors' programs: check our implementations against their outputs, import checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from incoref.cli._extras import need_training
from incoref.errors import IncorefError


def register(app: typer.Typer) -> None:
    """Add the commands to the tool."""
    app.command("check-reference")(check_reference)
    app.command("import-checkpoint")(import_checkpoint)


def check_reference(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A folder with config.json, model.safetensors, documents.json and expected.json, or a folder of "
            "such folders.",
        ),
    ],
) -> None:
    """Compare our implementations with the published programs' outputs, number by number."""
    need_training("Checking against reference outputs")
    from incoref.learning.check_reference import read_reference
    from incoref.learning.reference_outputs import TOLERANCE

    folders = (
        [folder] if (folder / "config.json").is_file() else sorted(p.parent for p in folder.rglob("config.json"))
    )
    if not folders:
        raise IncorefError(f"{folder}: no reference outputs found; a folder of them has a config.json.")
    failed = 0
    for each in folders:
        rows = read_reference(each).check()
        width = max(len(each.name), *(len(row.quantity) for row in rows))
        print(f"{each.name:{width}}  largest difference  in document  in single precision")
        for row in rows:
            failed += not row.passed
            verdict = "" if row.passed else "  DIFFERENT"
            single = "-" if row.single is None else f"{row.single:.1e}"
            print(f"{row.quantity:{width}}  {row.largest:18.1e}  {row.document:11}  {single:>19}{verdict}")
        print()
    if failed:
        raise IncorefError(f"{failed} of the quantities above differ by more than {TOLERANCE:g}.")


def import_checkpoint(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A checkpoint of the authors' program (model_*.bin).", dir_okay=False),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The model folder to create.", file_okay=False)],
    setting: Annotated[
        Literal["sent-inc", "k-sentence", "part-inc"], typer.Option(help="Encoder setting that it was trained with.")
    ] = "sent-inc",
    k: Annotated[int, typer.Option(help="Sentences read at a time in the k-sentence setting.", min=1)] = 1,
    cache: Annotated[int, typer.Option(help="Cached tokens before a sentence in the sent-inc setting.", min=1)] = 384,
    window: Annotated[int, typer.Option(help="Active and cached tokens in the k-sentence setting.", min=1)] = 512,
) -> None:
    """Convert a checkpoint of the authors' program to a model folder."""
    need_training("Importing a checkpoint")
    from incoref.learning.paper import checkpoint as paper_checkpoint
    from incoref.learning.paper.config import Setting

    if out.exists() and any(out.iterdir()):
        raise IncorefError(f"{out}: the folder is not empty; name another one or remove it first.")
    model = paper_checkpoint.import_checkpoint(
        file, setting=Setting(setting), k=k, window=window, cache=cache if setting == "sent-inc" else None
    )
    paper_checkpoint.save_paper_model(out, model)
    size = sum(parameter.numel() for parameter in model.parameters())
    print(f"{out}: {size / 1e6:.1f}M parameters, {model.config.setting}, reference mode")
