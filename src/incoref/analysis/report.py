"""Combine many analyses into one report, as a self-contained HTML page and as Markdown.

A configuration lists the analyses with their commands. Each analysis writes its findings as usual; the report
combines them with the machines, versions, dates and the commands to reproduce them, and marks quoted rows. This
module does not run the commands.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from incoref.analysis import paper
from incoref.analysis.findings import Findings, Table, row
from incoref.errors import IncorefError

QUOTED = "†"
_MEASURED = "How it was measured"
_LEGEND = (
    f"{QUOTED} quoted from: {{source}}. Everything else was measured; dashed curves and hatched bars are quoted."
)
_STYLE = """
:root { color-scheme: light; --ink: #1c1d20; --quiet: #5b6068; --line: #d9dce1; --raised: #f5f6f8; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1.25rem 4rem; color: var(--ink); background: #fff;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
p { margin: .5rem 0; max-width: 60rem; }
.quiet, .note { color: var(--quiet); font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 2px solid var(--ink); vertical-align: bottom; }
tr.quoted { color: var(--quiet); background: var(--raised); font-style: italic; }
img { max-width: 100%; height: auto; margin-top: 1rem; }
pre { background: var(--raised); padding: .6rem .8rem; border-radius: .4rem; overflow-x: auto; font-size: .85rem; }
nav ul { padding-left: 1.2rem; }
"""


@dataclass(frozen=True, slots=True)
class Planned:
    """An analysis to include in a report."""

    name: str
    title: str
    text: str
    words: tuple[str, ...]
    """The command without ``incoref``: ``analyse``, its subcommand and arguments."""

    @property
    def command(self) -> str:
        return shlex.join(["incoref", *self.words])


@dataclass(frozen=True, slots=True)
class Plan:
    title: str
    text: str
    analyses: tuple[Planned, ...]

    def named(self, names: Sequence[str]) -> tuple[Planned, ...]:
        """Return the named analyses, in the order of the plan."""
        known = [planned.name for planned in self.analyses]
        for name in names:
            if name not in known:
                raise IncorefError(f"the report has no analysis '{name}'; it has {', '.join(known)}")
        return tuple(planned for planned in self.analyses if planned.name in names)


@dataclass(frozen=True, slots=True)
class Done:
    """A completed analysis with its findings."""

    planned: Planned
    findings: Findings
    made: dict[str, Any]
    folder: Path

    @property
    def plot(self) -> Path | None:
        return self.folder / f"{self.planned.name}.svg" if self.findings.plots else None


def read_plan(path: Path) -> Plan:
    """Read a report's configuration."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise IncorefError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IncorefError(f"{path}: not TOML: {error}") from error
    entries = table.get("analysis")
    if not isinstance(entries, list) or not entries:
        raise IncorefError(f"{path}: no [[analysis]] in it; each has a name and a command")
    analyses: list[Planned] = []
    for number, entry in enumerate(entries, 1):
        try:
            words = shlex.split(str(entry["command"]))
            name = str(entry["name"])
        except (KeyError, ValueError) as error:
            raise IncorefError(f"{path}: analysis {number}: needs a name and a command: {error}") from error
        if words[:1] == ["incoref"]:
            words = words[1:]
        if words[:1] != ["analyse"] or {"--out", "-o", "--name"} & set(words):
            fault = "the command is incoref analyse …, without --out and --name, which the report sets"
            raise IncorefError(f"{path}: analysis '{name}': {fault}")
        if name in (planned.name for planned in analyses):
            raise IncorefError(f"{path}: two analyses are called '{name}'")
        title, text = str(entry.get("title", name)), str(entry.get("text", ""))
        analyses.append(Planned(name, title, text.strip(), tuple(words)))
    return Plan(str(table.get("title", "Report")), str(table.get("text", "")).strip(), tuple(analyses))


def done(planned: Planned, folder: Path) -> Done:
    """Load the output of an analysis."""
    data = json.loads((folder / f"{planned.name}.json").read_text(encoding="utf-8"))
    return Done(planned, Findings.from_json(data), data["made"], folder)


def html_report(plan: Plan, analyses: Sequence[Done]) -> str:
    """Return the HTML page, with its plots embedded."""
    listed = "".join(
        f'<li><a href="#{escape(each.planned.name)}">{escape(each.planned.title)}</a></li>' for each in analyses
    )
    sections = "\n".join(map(_html_section, analyses))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(plan.title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(plan.title)}</h1>
{_paragraphs(plan.text)}
<p class="quiet">{escape(_legend(analyses))}</p>
<nav><ul>{listed}</ul></nav>
{sections}
<h2>{_MEASURED}</h2>
{_html_table(_machines(analyses))}
</body>
</html>
"""


def _html_section(each: Done) -> str:
    parts = [
        f'<h2 id="{escape(each.planned.name)}">{escape(each.planned.title)}</h2>',
        _paragraphs(each.planned.text),
    ]
    parts += [_html_table(table) for table in each.findings.tables]
    if each.plot is not None:
        image = base64.b64encode(each.plot.read_bytes()).decode()
        alt = escape("; ".join(plot.title for plot in each.findings.plots))
        parts.append(f'<img alt="Plots: {alt}" src="data:image/svg+xml;base64,{image}">')
    parts.append(f'<p class="quiet">{escape(_data(each))} Measured on {escape(each.made["date"])} with:</p>')
    parts.append(f"<pre>{escape(each.planned.command)}</pre>")
    return "\n".join(parts)


def _paragraphs(text: str) -> str:
    return "\n".join(f"<p>{escape(' '.join(part.split()))}</p>" for part in text.split("\n\n") if part.strip())


def _html_table(table: Table) -> str:
    heading, *rows = table.texts()
    lines = [f"<h3>{escape(table.title)}</h3>", '<div class="wide"><table>']
    lines.append(f"<thead><tr>{''.join(f'<th>{escape(cell)}</th>' for cell in heading)}</tr></thead><tbody>")
    for one, cells in zip(table.rows, rows, strict=True):
        shown = [cells[0] + (f" {QUOTED}" if one.quoted else ""), *cells[1:]]
        kind = ' class="quoted"' if one.quoted else ""
        lines.append(f"<tr{kind}>{''.join(f'<td>{escape(cell)}</td>' for cell in shown)}</tr>")
    lines.append("</tbody></table></div>")
    if table.note:
        lines.append(f'<p class="note">{escape(table.note)}</p>')
    return "\n".join(lines)


def markdown_report(plan: Plan, analyses: Sequence[Done], plots: str = "") -> str:
    """Return the report in Markdown; ``plots`` is the path prefix of its plots."""
    parts = [f"# {plan.title}", plan.text, _legend(analyses)]
    parts += [_markdown_section(each, plots) for each in analyses]
    parts += [f"## {_MEASURED}", markdown_table(_machines(analyses))]
    return _joined(parts)


def _markdown_section(each: Done, plots: str) -> str:
    parts = [f"## {each.planned.title}", each.planned.text]
    for table in each.findings.tables:
        parts += [f"### {table.title}", markdown_table(table), table.note]
    if each.plot is not None:
        titles = "; ".join(plot.title for plot in each.findings.plots)
        parts.append(f"![{titles}]({plots}{each.plot.with_suffix('.png').name})")
    parts += [f"{_data(each)} Measured on {each.made['date']} with:", f"```sh\n{each.planned.command}\n```"]
    return _joined(parts).rstrip()


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def with_sections(report: str, plan: Plan, analyses: Sequence[Done], plots: str = "") -> str:
    """Replace or add the sections of these analyses in a Markdown report, in the plan's order; keep the others."""
    head, *parts = re.split(r"^## ", report, flags=re.MULTILINE)
    sections = {title: f"## {title}\n{rest}".rstrip() for title, _, rest in (part.partition("\n") for part in parts)}
    measured = sections.pop(_MEASURED, "")
    titles = [planned.title for planned in plan.analyses]
    if strange := [title for title in sections if title not in titles]:
        raise IncorefError(f"the report has a section '{strange[0]}', which no analysis of the configuration makes")
    sections |= {each.planned.title: _markdown_section(each, plots) for each in analyses}
    fresh = markdown_table(_machines(analyses)).splitlines()
    rows = {
        line.split("|")[1].strip(): line for line in [*measured.splitlines(), *fresh[2:]] if line.startswith("| ")
    }
    table = [*fresh[:2], *(rows[title] for title in titles if title in rows)]
    kept = [sections[title] for title in titles if title in sections]
    return _joined([head.rstrip(), *kept, f"## {_MEASURED}", "\n".join(table)])


def markdown_table(table: Table) -> str:
    heading, *rows = table.texts()
    lines = [f"| {' | '.join(heading)} |", "|---" + "|---:" * (len(heading) - 1) + "|"]
    for one, cells in zip(table.rows, rows, strict=True):
        safe = [cell.replace("|", "\\|") for cell in cells]
        lines.append(f"| {safe[0]}{f' {QUOTED}' if one.quoted else ''} | {' | '.join(safe[1:])} |")
    return "\n".join(lines)


def _legend(analyses: Sequence[Done]) -> str:
    quoted = any(one.quoted for each in analyses for table in each.findings.tables for one in table.rows)
    return _LEGEND.format(source=paper.figures()["source"]) if quoted else "All figures were measured."


def _data(each: Done) -> str:
    settings = each.findings.settings
    if "tokens" not in settings:
        return ""
    singletons = "left out" if settings.get("drop_singletons") else "included"
    seeds = settings.get("seeds") or ([settings["seed"]] if "seed" in settings else [])
    drawn = f" Seeds: {', '.join(map(str, seeds))}." if seeds else ""
    documents = (
        f"{settings['documents']} documents, {settings['sentences']:,} sentences, {settings['tokens']:,} tokens"
    )
    return f"{documents}; entities with one mention are {singletons}.{drawn}"


def _machines(analyses: Sequence[Done]) -> Table:
    """Return one row per analysis: its date, machine and versions."""
    rows = []
    for each in analyses:
        versions = ", ".join(f"{name} {version}" for name, version in each.made["versions"].items())
        load = each.made.get("load")
        rows.append(row(each.planned.title, each.made["date"], each.made["machine"], load, versions))
    return Table("Machine and versions", ("analysis", "date", "machine", "load", "versions"), tuple(rows))
