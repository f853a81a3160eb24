"""``over-time``: how good the output is while the text is still arriving, and what lookahead would change.

After every sentence, the output so far is scored against the annotation of the text so far. A system that reads k
sentences per block has output only for complete blocks until the text ends.

Lookahead: from the state before a sentence, the model reads the sentence in one block with the next 1, 2 or 4
sentences, and its decisions about the sentence's mentions are compared with those without lookahead. A mention found
both ways is linked differently if the two runs choose different entities.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from incoref.analysis.clusterings import before, sentence_ends
from incoref.analysis.findings import Findings, Plot, Row, Series, Table, row, series
from incoref.analysis.result_cache import ResultCache, text_digest
from incoref.analysis.scores import settings_of
from incoref.analysis.systems import Clusters, ModelSystem, System, answers
from incoref.evaluation.metrics import Scorer, token_clusters
from incoref.model.folder import Model, ModelState
from incoref.model.step import FoundMention
from incoref.model.subwords import Utterance, utterances_of
from incoref.options import block_size
from incoref.types import Document

LOOKAHEADS = (1, 2, 4)
_TENTHS = 10
_FEWEST = 2
"""Minimum number of documents that reach a position for it to be plotted."""


def answered_until(system: System, document: Document) -> list[int]:
    """Return, for each sentence, the number of tokens with output once it has been read."""
    ends = sentence_ends(document)
    if not isinstance(system, ModelSystem) or not ends:
        return ends
    blocks = system.model.blocks(utterances_of(document), block_size(system.setting))
    given = [0, *accumulate(sum(len(utterance.words) for utterance, _ in block) for block in blocks)]
    return [*(max(place for place in given if place <= end) for end in ends[:-1]), ends[-1]]


def partial_scores(
    documents: Sequence[Document],
    predictions: Sequence[Clusters],
    until: Sequence[Sequence[int]],
    drop_singletons: bool,
) -> tuple[list[tuple[float, int]], list[float]]:
    """CoNLL F1 after each sentence (with the number of documents that long) and after each tenth of a document."""
    longest = max(len(document.sentences) for document in documents)
    positions = [Scorer(drop_singletons=drop_singletons) for _ in range(longest)]
    tenths = [Scorer(drop_singletons=drop_singletons) for _ in range(_TENTHS)]
    for document, clusters, given in zip(documents, predictions, until, strict=True):
        gold, ends = token_clusters(document), sentence_ends(document)
        last_of = [max(1, round(len(ends) * (tenth + 1) / _TENTHS)) - 1 for tenth in range(_TENTHS)]
        for sentence, end in enumerate(ends):
            one = Scorer(drop_singletons=drop_singletons)
            one.add(before(gold, end), before(clusters, given[sentence]))
            positions[sentence].merge(one)
            for tenth, last in enumerate(last_of):
                if sentence == last:
                    tenths[tenth].merge(one)
    by_position = [(scorer.result().conll_f1, scorer.documents) for scorer in positions]
    return by_position, [scorer.result().conll_f1 for scorer in tenths]


def lookahead_changes(system: ModelSystem, sentences: int, document: Document) -> dict[str, int]:
    """Count how often mentions are found or linked differently with lookahead of ``sentences``."""
    model, options = system.model, system.options
    classes = model.classes(options.scheme, options.genre)
    utterances = list(utterances_of(document))
    state = model.start()
    counts = {"same": 0, "different": 0, "only_without": 0, "only_with": 0}
    for number, utterance in enumerate(utterances):
        speaker = utterances[number - 1].speaker if number else None
        known = len(state.reading.memory)
        after, alone = _mentions_of(model, [utterance], speaker, state, classes)
        ahead = utterances[number : number + 1 + sentences]
        _, together = _mentions_of(model, ahead, speaker, state, classes)
        one, other = _choices(alone, known), _choices(together, known)
        for span in one.keys() | other.keys():
            if span not in other:
                counts["only_without"] += 1
            elif span not in one:
                counts["only_with"] += 1
            else:
                counts["same" if one[span] == other[span] else "different"] += 1
        state = after
    return counts


def _mentions_of(
    model: Model, ahead: Sequence[Utterance], speaker: str | None, state: ModelState, classes: dict[str, int]
) -> tuple[ModelState, list[FoundMention]]:
    """Read some sentences in one block; return the state afterwards and the mentions in the first sentence."""
    end = state.reading.tokens + len(ahead[0].words)
    mentions: list[FoundMention] = []
    for block in model.blocks(ahead, len(ahead), speaker):
        if state.reading.tokens >= end and ahead[0].words:
            break
        state, result = model.step(block, state, classes)
        mentions += result.mentions
    return state, [mention for mention in mentions if mention.last < end]


def _choices(mentions: Sequence[FoundMention], known: int) -> dict[tuple[int, int], tuple[int, ...]]:
    """Map each mention to its entity: a known entity's number, or the first mention of a new one."""
    first: dict[int, tuple[int, int]] = {}
    choices: dict[tuple[int, int], tuple[int, ...]] = {}
    for mention in sorted(mentions, key=lambda each: (each.first, each.last)):
        span = mention.first, mention.last
        new = first.setdefault(mention.entity, span)
        choices[span] = new if mention.entity >= known else (mention.entity,)
    return choices


def over_time(
    documents: Sequence[Document],
    systems: Sequence[System],
    cache: ResultCache,
    *,
    drop_singletons: bool = False,
    lookaheads: Sequence[int] = LOOKAHEADS,
) -> Findings:
    by_position: list[Series] = []
    by_tenth: list[Series] = []
    rows: list[Row] = []
    shown = [2**power for power in range(12)]
    longest = max(len(document.sentences) for document in documents)
    shown = [place for place in shown if place <= longest]
    values: dict[str, Any] = {"by_sentence": {}, "by_tenth": {}, "lookahead": {}}
    for system in systems:
        predictions = answers(system, documents, cache)
        until = [answered_until(system, document) for document in documents]
        positions, tenths = partial_scores(documents, predictions, until, drop_singletons)
        values["by_sentence"][system.name], values["by_tenth"][system.name] = positions, tenths
        long_enough = [
            place for place, (_, count) in enumerate(positions, 1) if count >= min(_FEWEST, len(documents))
        ]
        by_position.append(series(system.name, long_enough, [positions[place - 1][0] for place in long_enough]))
        percents = [100 * (tenth + 1) / _TENTHS for tenth in range(_TENTHS)]
        by_tenth.append(series(system.name, percents, tenths))
        rows.append(row(system.name, *(positions[place - 1][0] for place in shown), tenths[-1]))
    counts = [sum(len(document.sentences) >= place for document in documents) for place in shown]
    rows.append(row("documents so long", *counts, len(documents)))
    tables = [Table("CoNLL F1 by number of sentences read", ("system", *map(str, shown), "the end"), tuple(rows))]
    plots = [
        Plot("While the text is arriving", "sentences read", "CoNLL F1 so far", tuple(by_position)),
        Plot("By part of the document", "% of the sentences read", "CoNLL F1 so far", tuple(by_tenth)),
    ]
    model = next((system for system in systems if isinstance(system, ModelSystem)), None)
    if model is not None and lookaheads:
        table, values["lookahead"] = _lookahead_table(documents, model, cache, lookaheads)
        tables.append(table)
    return Findings(
        "over-time",
        "While the text is still coming",
        tuple(tables),
        tuple(plots),
        {**settings_of(documents, systems, drop_singletons), "lookaheads": list(lookaheads)},
        values,
    )


def _lookahead_table(
    documents: Sequence[Document], system: ModelSystem, cache: ResultCache, lookaheads: Sequence[int]
) -> tuple[Table, dict[str, dict[str, int]]]:
    rows, values = [], {}
    for sentences in lookaheads:
        each = cache.each(
            f"looking {sentences} sentence{'s' if sentences > 1 else ''} ahead",
            documents,
            lambda document: (system.digest, text_digest(document)),
            partial(lookahead_changes, system, sentences),
        )
        total = {name: sum(counts[name] for counts in each) for name in each[0]}
        both = total["same"] + total["different"]
        without = both + total["only_without"]
        rows.append(
            row(
                f"{sentences}",
                both,
                total["different"],
                100 * total["different"] / both if both else None,
                100 * total["only_without"] / without if without else None,
                100 * total["only_with"] / (both + total["only_with"]) if both + total["only_with"] else None,
            )
        )
        values[str(sentences)] = total
    columns = ("sentences ahead", "mentions", "linked differently", "%", "% lost", "% gained")
    note = f"{system.model.config.name}, sentence by sentence. Lost: found only without lookahead; gained: only with."
    return Table("What lookahead would change", columns, tuple(rows), note), values
