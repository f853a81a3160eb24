"""``incoref report``: runs a list of analyses and writes them as one page and one Markdown file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from incoref.cli._analysing import COMMAND
from incoref.cli._console import note
from incoref.errors import IncorefError


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
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="NAME",
            help="Run only this analysis and put its section into the Markdown that is there; repeatable.",
        ),
    ] = None,
) -> None:
    """Run a list of analyses and write one report: a self-contained HTML page, and Markdown.

    Results are cached in OUT, so an interrupted report resumes. With --only, the Markdown's sections of all other
    analyses stay as they are, and no HTML page is written.

    Example: incoref report configs/results.toml --out results --markdown docs/results.md
    """
    from incoref.analysis.report import done, html_report, markdown_report, read_plan, with_sections
    from incoref.corpora.files import write_data

    plan = read_plan(config)
    place = markdown or out / "report.md"
    chosen = plan.named(only) if only else plan.analyses
    before = _text_of(place) if only else ""
    analyses = []
    for planned in chosen:
        print(f"== {planned.title}", flush=True)
        _run([*planned.words[1:], "--out", str(out), "--name", planned.name], planned.command)
        analyses.append(done(planned, out))
        print()
    folder = place.with_suffix("")
    plots = f"{folder.name}/" if markdown is not None else ""
    if only:
        written = {place: with_sections(before, plan, analyses, plots).encode()}
    else:
        written = {
            out / "report.html": html_report(plan, analyses).encode(),
            place: markdown_report(plan, analyses, plots).encode(),
        }
    if markdown is not None:
        pictures = [each.plot.with_suffix(".png") for each in analyses if each.plot is not None]
        written |= {folder / picture.name: picture.read_bytes() for picture in pictures}
    for path, content in written.items():
        write_data(path, content)
    note("written: " + ", ".join(map(str, written)))


def _text_of(markdown: Path) -> str:
    """A report that is to be changed."""
    try:
        return markdown.read_text(encoding="utf-8")
    except OSError as error:
        raise IncorefError(f"{markdown}: {error.strerror or error}; make the whole report first") from error


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
