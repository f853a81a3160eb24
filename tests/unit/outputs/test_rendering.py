"""Documents in every format that ``incoref resolve`` writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from incoref import corpora
from incoref.outputs.formats import MANY_IN_ONE, SUFFIXES, OutputFormat, format_of
from incoref.outputs.rendering import brat_files, rendered
from incoref.resolver import Resolver
from incoref.types import Document


@pytest.fixture(scope="module")
def document(rule_resolver: Resolver) -> Document:
    resolved = rule_resolver.resolve("Anna met Carl. Anna saw the dog.\n\nThe dog saw Carl.", id="a/b.txt")
    entities = (
        replace(entity, type="person", mentions=tuple(replace(mention, type="person") for mention in entity.mentions))
        for entity in resolved.entities
    )
    return replace(resolved, entities=tuple(entities))


def test_text(document: Document) -> None:
    marked = "[Anna]₁ met [Carl]₂. [Anna]₁ saw [the dog]₃.\n\n[The dog]₃ saw [Carl]₂.\n"
    table = "1\tAnna\tperson\tAnna · Anna\n2\tCarl\tperson\tCarl · Carl\n3\tthe dog\tperson\tthe dog · The dog\n"
    assert rendered(document, OutputFormat.TEXT) == f"{marked}\n{table}"
    assert rendered(replace(document, entities=()), OutputFormat.TEXT) == document.text + "\n"


def test_json(document: Document) -> None:
    single, line = (rendered(document, format) for format in (OutputFormat.JSON, OutputFormat.JSONL))
    assert json.loads(line) == {"id": "a/b.txt", **json.loads(single)}
    assert single.count("\n") == line.count("\n") == 1


def test_resolved() -> None:
    assert rendered(Document("d", "Anna left.\n\n", ()), OutputFormat.RESOLVED) == "Anna left.\n"


def test_a_page_is_named_after_the_file(document: Document) -> None:
    assert "<title>b.txt</title>" in rendered(document, OutputFormat.HTML)


@pytest.mark.parametrize("format", sorted(MANY_IN_ONE - {OutputFormat.JSONL}))
def test_what_corpora_read_back(document: Document, format: OutputFormat, tmp_path: Path) -> None:
    path = tmp_path / f"d{SUFFIXES[format]}"
    other = replace(document, id="c.txt")
    path.write_text(rendered(document, format) + rendered(other, format), encoding="utf-8")
    found = list(corpora.read(path))
    assert [d.id for d in found] == ["a/b.txt", "c.txt"]
    for read in found:
        assert [[m.tokens for m in e.mentions] for e in read.entities] == [
            [m.tokens for m in e.mentions] for e in document.entities
        ]
    if format is not OutputFormat.CONLL:
        assert {mention.type for mention in found[0].mentions} == {"person"}


def test_brat(document: Document) -> None:
    files = dict(brat_files([("b", document)]))
    assert sorted(files) == ["annotation.conf", "b.ann", "b.txt"]
    assert files["b.txt"] == document.text
    assert "T1\tperson 0 4\tAnna\n" in files["b.ann"]


def test_names_of_files_tell_the_format() -> None:
    assert format_of("story.HTML") is OutputFormat.HTML
    assert format_of("x.conllu") is OutputFormat.CONLLU
    assert format_of("x.txt") is OutputFormat.TEXT
    assert format_of("story") is None
