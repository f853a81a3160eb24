"""``bias``: whether a system links pronouns of one gender better than those of another.

Exact definitions. A predicted mention *matches* a given span of text if the two are equal, or if the mention contains
the span and its head word lies within it ("the chief developer" matches "developer"). A pronoun is *linked* to a span
if some predicted entity contains mentions that match both.

- GAP: each of an example's two names is one yes-or-no question. F1 of "yes" over all questions, over those about
  masculine pronouns and over those about feminine ones (an unlinked pronoun costs nothing if neither name is right);
  bias = feminine F1 / masculine F1, as in the data set's own scorer. Each example is resolved separately, from raw
  text, with its context.
- WinoBias: CoNLL F1 of each file as its authors score it (without singletons), pro- and anti-stereotypical, for types
  1 and 2, with their mean and difference; also the share of documents in which an annotated link of the pronoun is
  found.
- Winogender: share of sentences in which the pronoun is linked to its referent and not to the other person, by
  gender. The same for "gotcha" sentences, in which the right answer goes against the majority gender of the
  occupation: a minority-gender pronoun refers to the occupation, or a majority-gender pronoun to the participant.
  Finally, over occupations, Pearson's correlation between the percentage of women and how much more often "she" is
  linked to the occupation than "he".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from incoref.analysis.bias_data import WinogenderExample, read_winobias, read_winogender
from incoref.analysis.findings import Findings, Plot, Table, row, series
from incoref.analysis.result_cache import ResultCache
from incoref.analysis.scores import score
from incoref.analysis.systems import Clusters, System, answers
from incoref.corpora import plain
from incoref.corpora.gap import FEMININE, MASCULINE, NEUTRAL, GapExample, Place, read_gap
from incoref.errors import IncorefError
from incoref.evaluation.metrics import token_clusters
from incoref.outputs.model_card import table_lines
from incoref.text.english import PRONOUNS, head_of
from incoref.types import Document

SECTION = "## Bias"


@dataclass(frozen=True, slots=True)
class BiasData:
    """Paths of the data sets; each is optional."""

    gap: tuple[Path, ...] = ()
    winobias: Path | None = None
    winogender: Path | None = None


class _Answer:
    """The entities that a system found in a text, looked up by position."""

    def __init__(self, document: Document, clusters: Clusters) -> None:
        self._document = document
        self._mentions = [
            (self._characters(span), self._head(span), number)
            for number, cluster in enumerate(clusters)
            for span in cluster
        ]

    def _characters(self, span: tuple[int, int]) -> Place:
        tokens = self._document.tokens
        return tokens[span[0]].start, tokens[span[1] - 1].end

    def _head(self, span: tuple[int, int]) -> Place:
        tokens = self._document.tokens[span[0] : span[1]]
        head = tokens[head_of([token.text.lower() for token in tokens])]
        return head.start, head.end

    def entities(self, place: Place) -> set[int]:
        """Return the entities with a mention that matches a span of text."""
        return {
            entity
            for (start, end), (head_start, head_end), entity in self._mentions
            if (start, end) == place
            or (start <= place[0] and place[1] <= end and place[0] <= head_start and head_end <= place[1])
        }

    def linked(self, one: Place, other: Place) -> bool:
        return bool(self.entities(one) & self.entities(other))


def _asked(
    what: str,
    system: System,
    texts: Sequence[tuple[str, str]],
    ask: Callable[[int, _Answer], Any],
    cache: ResultCache,
) -> list[Any]:
    """Apply ``ask`` to the answer for each text; ``texts`` holds (id, text) pairs."""

    def compute(number: int) -> Any:
        [document] = plain.read(texts[number][1], texts[number][0])
        return ask(number, _Answer(document, system.clusters(document)))

    return cache.each(what, range(len(texts)), lambda number: (system.digest, *texts[number]), compute)


def gap(examples: Sequence[GapExample], system: System, cache: ResultCache) -> dict[str, dict[str, float]]:
    """Return recall, precision and F1 for all, masculine and feminine pronouns."""

    def ask(number: int, answer: _Answer) -> list[bool]:
        example = examples[number]
        return [answer.linked(example.pronoun, name) for name in example.names]

    texts = [(example.id, example.text) for example in examples]
    said = _asked(f"GAP with {system.name}", system, texts, ask, cache)
    by_group = {}
    for group in ("all", MASCULINE, FEMININE):
        pairs = [
            (right, yes)
            for example, answer in zip(examples, said, strict=True)
            if group in ("all", example.gender)
            for right, yes in zip(example.coreferent, answer, strict=True)
        ]
        both = sum(right and yes for right, yes in pairs)
        recall = _ratio(both, sum(right for right, _ in pairs))
        precision = _ratio(both, sum(yes for _, yes in pairs))
        f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
        by_group[group] = {"recall": recall, "precision": precision, "f1": f1, "questions": float(len(pairs))}
    return by_group


def winobias(
    sides: dict[tuple[str, str], list[Document]], system: System, cache: ResultCache
) -> dict[str, dict[str, float]]:
    """Return CoNLL F1 and the share of links found, by type and side."""
    by_side = {}
    for (kind, side), documents in sorted(sides.items(), key=lambda item: (item[0][0], item[0][1] == "anti")):
        clusters = answers(system, documents, cache)
        linked = [_link_found(document, of_text) for document, of_text in zip(documents, clusters, strict=True)]
        by_side[f"type {kind} {side}"] = {
            "conll_f1": score(documents, clusters, drop_singletons=True).conll_f1,
            "links": _ratio(sum(linked), len(linked)),
            "documents": float(len(documents)),
        }
    return by_side


def _link_found(document: Document, clusters: Clusters) -> bool:
    """Whether some annotated pronoun is linked to another mention of its entity."""
    answer = _Answer(document, clusters)
    places = {mention.tokens: (mention.start, mention.end) for mention in document.mentions}
    for cluster in token_clusters(document):
        for pronoun in cluster:
            if document.text[slice(*places[pronoun])].lower() in PRONOUNS:
                others = [places[span] for span in cluster if span != pronoun]
                if any(answer.linked(places[pronoun], other) for other in others):
                    return True
    return False


def winogender(
    examples: Sequence[WinogenderExample], system: System, cache: ResultCache
) -> tuple[dict[str, dict[str, float]], float | None]:
    """Return the accuracy by gender and the correlation over occupations."""

    def ask(number: int, answer: _Answer) -> list[bool]:
        example = examples[number]
        return [answer.linked(example.pronoun, place) for place in (example.occupation, example.participant)]

    texts = [(example.id, example.text) for example in examples]
    said = _asked(f"Winogender with {system.name}", system, texts, ask, cache)
    groups: dict[str, list[bool]] = defaultdict(list)
    by_job: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for example, (occupation, participant) in zip(examples, said, strict=True):
        right = (occupation, participant) == (example.about_occupation, not example.about_occupation)
        groups[example.gender].append(right)
        if example.gender != NEUTRAL:
            groups[f"{example.gender} {'gotcha' if is_gotcha(example) else 'other'}"].append(right)
            by_job[example.job][example.gender].append(occupation)
    women = {example.job: example.percent_women for example in examples}
    jobs = [job for job, said_of in by_job.items() if len(said_of) == 2]
    more = [_ratio(sum(by_job[j][FEMININE]), len(by_job[j][FEMININE])) for j in jobs]
    less = [_ratio(sum(by_job[j][MASCULINE]), len(by_job[j][MASCULINE])) for j in jobs]
    difference = np.array(more) - np.array(less)
    correlation = None
    if len(jobs) > 2 and difference.std() > 0:
        correlation = float(np.corrcoef(difference, [women[job] for job in jobs])[0, 1])
    by_group = {
        group: {"accuracy": _ratio(sum(rights), len(rights)), "sentences": float(len(rights))}
        for group, rights in sorted(groups.items())
    }
    return by_group, correlation


def is_gotcha(example: WinogenderExample) -> bool:
    """Whether the right answer goes against the majority gender of the occupation."""
    majority = FEMININE if example.percent_women > 50 else MASCULINE
    return (example.gender == majority) != example.about_occupation


def _ratio(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def bias(data: BiasData, system: System, cache: ResultCache, *, limit: int | None = None) -> Findings:
    """Evaluate on every data set given; ``limit`` keeps only the first texts of each file."""
    if not (data.gap or data.winobias or data.winogender):
        raise IncorefError("name at least one data set: --gap, --winobias or --winogender")
    tables: list[Table] = []
    plots: list[Plot] = []
    values: dict[str, Any] = {}
    if data.gap:
        examples = [example for path in data.gap for example in read_gap(path)[:limit]]
        by_gender = gap(examples, system, cache)
        ratio = by_gender[FEMININE]["f1"] / by_gender[MASCULINE]["f1"] if by_gender[MASCULINE]["f1"] else None
        values["gap"] = {**by_gender, "bias": ratio}
        rows = [
            row(name, int(of["questions"]), of["recall"], of["precision"], of["f1"]) for name, of in by_gender.items()
        ]
        rows.append(row("feminine / masculine", None, None, None, None if ratio is None else f"{ratio:.3f}"))
        tables.append(Table("GAP", ("pronouns", "questions", "recall", "precision", "F1"), tuple(rows)))
        plots.append(_bars("GAP", "F1", {name: of["f1"] for name, of in by_gender.items()}))
    if data.winobias:
        sides = {key: documents[:limit] for key, documents in read_winobias(data.winobias).items()}
        by_side = winobias(sides, system, cache)
        values["winobias"] = by_side
        tables.append(_winobias_table(by_side))
        plots.append(_bars("WinoBias", "CoNLL F1", {name: of["conll_f1"] for name, of in by_side.items()}))
    if data.winogender:
        sentences = read_winogender(data.winogender)[:limit]
        by_group, correlation = winogender(sentences, system, cache)
        values["winogender"] = {**by_group, "correlation": correlation}
        rows = [row(name, int(of["sentences"]), of["accuracy"]) for name, of in by_group.items()]
        said = "–" if correlation is None else f"{correlation:.2f}"
        note = f"Correlation with the percentage of women in the occupation: {said}."
        tables.append(Table("Winogender", ("pronouns", "sentences", "% right"), tuple(rows), note))
        plots.append(_bars("Winogender", "% right", {name: of["accuracy"] for name, of in by_group.items()}))
    return Findings(
        "bias",
        f"Gender bias of {system.name}",
        tuple(tables),
        tuple(plots),
        {"systems": {system.name: system.digest}, "limit": limit, "data": sorted(values)},
        values,
        {"card.md": card_section(tables, system.name)},
    )


def _winobias_table(by_side: dict[str, dict[str, float]]) -> Table:
    rows = [row(name, int(of["documents"]), of["conll_f1"], of["links"]) for name, of in by_side.items()]
    for kind in ("1", "2"):
        pro, anti = by_side.get(f"type {kind} pro"), by_side.get(f"type {kind} anti")
        if pro and anti:
            means = [(pro[name] + anti[name]) / 2 for name in ("conll_f1", "links")]
            rows.append(row(f"type {kind} mean", None, *means))
            rows.append(row(f"type {kind} pro − anti", None, *(pro[n] - anti[n] for n in ("conll_f1", "links"))))
    return Table("WinoBias", ("sentences", "documents", "CoNLL F1", "% links found"), tuple(rows))


def _bars(title: str, label: str, figures: dict[str, float]) -> Plot:
    bars = series(label, range(len(figures)), list(figures.values()))
    return Plot(title, "", label, (bars,), "bars", tuple(figures))


def card_section(tables: Sequence[Table], name: str) -> str:
    """Return a Markdown section for a model card."""
    parts = [SECTION, "", f"Measured with `incoref analyse bias`, {name}; docs/analyses.md defines the metrics."]
    for table in tables:
        heading, *rows = table.texts()
        parts += ["", f"### {table.title}", "", *table_lines(heading, rows)]
        parts += ["", table.note] if table.note else []
    return "\n".join(parts) + "\n"
