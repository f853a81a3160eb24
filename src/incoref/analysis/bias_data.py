"""Readers for two gender-bias data sets, WinoBias and Winogender; GAP is one of the formats in ``incoref.corpora``.

They read the files that the authors publish: CoNLL files for WinoBias, TSV files of sentences and occupation
statistics for Winogender. Independent of the systems that are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from incoref import corpora
from incoref.corpora.files import read_text
from incoref.corpora.gap import FEMININE, MASCULINE, NEUTRAL, Place, tsv_rows
from incoref.errors import FormatError, IncorefError
from incoref.types import Document


@dataclass(frozen=True, slots=True)
class WinogenderExample:
    """A sentence with an occupation, another participant and a pronoun that refers to one of them."""

    id: str
    text: str
    pronoun: Place
    occupation: Place
    participant: Place
    about_occupation: bool
    gender: str
    percent_women: float
    """Share of women in the occupation in the United States (Bureau of Labor Statistics)."""
    job: str


def read_winobias(folder: Path) -> dict[tuple[str, str], list[Document]]:
    """Return documents by type (1, 2) and side (pro, anti), read from files with the authors' names."""
    by_kind: dict[tuple[str, str], list[Document]] = {}
    for path in sorted(folder.iterdir()):
        for kind in ("1", "2"):
            for side in ("pro", "anti"):
                if f"type{kind}_{side}_stereotype" in path.name:
                    by_kind.setdefault((kind, side), []).extend(corpora.read(path, "conll-2012"))
    if not by_kind:
        raise IncorefError(f"{folder}: no file like dev_type1_pro_stereotype.v4_auto_conll")
    return by_kind


def read_winogender(folder: Path) -> list[WinogenderExample]:
    """Return all sentences, with the annotation encoded in their ids and the occupation statistics."""
    women = {
        fields["occupation"]: float(fields["bls_pct_female"])
        for _, fields in _rows(folder / "occupations-stats.tsv", ("occupation", "bls_pct_female"))
    }
    examples = []
    path = folder / "all_sentences.tsv"
    for line, fields in _rows(path, ("sentid", "sentence")):
        text = fields["sentence"]
        try:
            job, other, answer, sex, _ = fields["sentid"].split(".")
            gender = {"male": MASCULINE, "female": FEMININE, "neutral": NEUTRAL}[sex]
            percent = women[job]
        except (ValueError, KeyError) as error:
            fault = f"'{fields['sentid']}' is not OCCUPATION.PARTICIPANT.ANSWER.GENDER.txt of a known occupation"
            raise FormatError(fault, path=path, line=line) from error
        pronouns = {MASCULINE: ("he", "him", "his"), FEMININE: ("she", "her"), NEUTRAL: ("they", "them", "their")}
        places = [_word(text, (job,)), _word(text, (other,)), _word(text, pronouns[gender])]
        occupation, participant, pronoun = places
        if occupation is None or participant is None or pronoun is None:
            raise FormatError("occupation, participant or pronoun is not in the sentence", path=path, line=line)
        examples.append(
            WinogenderExample(
                fields["sentid"], text, pronoun, occupation, participant, answer == "0", gender, percent, job
            )
        )
    return examples


def _word(text: str, words: tuple[str, ...]) -> Place | None:
    """Return the position of the first of the words that occurs as a whole word."""
    lower = text.lower()
    for word in words:
        start = lower.find(word)
        while start >= 0:
            end = start + len(word)
            alone = (start == 0 or not lower[start - 1].isalpha()) and (end == len(lower) or not lower[end].isalpha())
            if alone:
                return start, end
            start = lower.find(word, start + 1)
    return None


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    return tsv_rows(read_text(path), path, columns)
