"""``incoref report``: runs a list of analyses and writes them as one page and one Markdown file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incoref.cli._analysing import COMMAND
from incoref.cli._console import note


def register(app: typer.Typer) -> None:
    app.command()(report)


def report(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.toml", help="The analyses; see docs/analyses.md.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the report and the results it is built from.")
    ] = (Path("report")),
    markdown: Annotated[
        Path | None,
        typer.Option(
            "--markdown",
            help="Path of the Markdown; plots go to a folder of the same name. Default: OUT/report.md.",
        ),
    ] = None,
) -> None:
    """Run a list of analyses and write one report: a self-contained HTML page, and Markdown.

    Results are cached in OUT, so an interrupted report resumes.

    Example: incoref report configs/results.toml --out results --markdown docs/results.md
    """
    from incoref.analysis.report import done, html_report, markdown_report, read_plan
    from incoref.corpora.files import write_data

    plan = read_plan(config)
    analyses = []
    for planned in plan.analyses:
        print(f"== {planned.title}", flush=True)
        _run([*planned.words[1:], "--out", str(out), "--name", planned.name], planned.command)
        analyses.append(done(planned, out))
        print()
    written = {out / "report.html": html_report(plan, analyses).encode()}
    if markdown is None:
        written[out / "report.md"] = markdown_report(plan, analyses).encode()
    else:
        folder = markdown.with_suffix("")
        written[markdown] = markdown_report(plan, analyses, f"{folder.name}/").encode()
        plots = [each.plot.with_suffix(".png") for each in analyses if each.plot is not None]
        written |= {folder / plot.name: plot.read_bytes() for plot in plots}
    for path, content in written.items():
        write_data(path, content)
    note("written: " + ", ".join(map(str, written)))


def _run(words: list[str], command: str) -> None:
    """Run an analysis as its own command would."""
    from incoref.cli.analyse import analyse

    token = COMMAND.set(command)
    try:
        status = typer.main.get_command(analyse).main(words, prog_name="incoref analyse", standalone_mode=False)
    finally:
        COMMAND.reset(token)
    if status:
        raise typer.Exit(status)
