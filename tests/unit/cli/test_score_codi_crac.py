"""``incoref score`` on CONLL-UA gives the figures of the Universal Anaphora scorer (those here: commit f4adb45)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from typer.testing import CliRunner

from incoref import corpora
from incoref.cli import app
from incoref.corpora.unannotated import without_annotation
from incoref.types import Document, Entity

METRICS = ("muc", "b3", "ceafe", "ceafm", "lea", "blanc")
KEY = """# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC IDENTITY BRIDGING DEIXIS REFERENCE
# newdoc id = small/one
# turn_id = t1
# speaker = Ann
1   My    _  _  _  _  _  _  _  _  (EntityID=1|MarkableID=m1|Min=2(EntityID=2|MarkableID=m2|Min=1|ElementOf=4)  _  _  _
2   cat   _  _  _  _  _  _  _  _  )                                                                            _  _  _
3   ate   _  _  _  _  _  _  _  _  _                                                                            _  _  _
4   it    _  _  _  _  _  _  _  _  (EntityID=3-Pseudo|MarkableID=m3|Min=4)                                      _  _  _

5   I     _  _  _  _  _  _  _  _  (EntityID=2|MarkableID=m4|Min=5)                                             _  _  _
6   hit   _  _  _  _  _  _  _  _  _                                                                            _  _  _
7   the   _  _  _  _  _  _  _  _  (EntityID=1|MarkableID=m5|Min=8|ElementOf=4                                  _  _  _
8   cat   _  _  _  _  _  _  _  _  )                                                                            _  _  _
9   so    _  _  _  _  _  _  _  _  _                                                                            _  _  _
10  we    _  _  _  _  _  _  _  _  (EntityID=4|MarkableID=m6|Min=10)                                            _  _  _
11  fled  _  _  _  _  _  _  _  _  _                                                                            _  _  _
"""
RESPONSE = """# newdoc id = small/one
1   My    _  _  _  _  _  _  _  _  (EntityID=1|MarkableID=m1(EntityID=2|MarkableID=m2)
2   cat   _  _  _  _  _  _  _  _  )
3   ate   _  _  _  _  _  _  _  _  _
4   it    _  _  _  _  _  _  _  _  (EntityID=1|MarkableID=m3)

5   I     _  _  _  _  _  _  _  _  (EntityID=2|MarkableID=m4)
6   hit   _  _  _  _  _  _  _  _  _
7   the   _  _  _  _  _  _  _  _  (EntityID=2|MarkableID=m5(EntityID=1|MarkableID=m8
8   cat   _  _  _  _  _  _  _  _  ))
9   so    _  _  _  _  _  _  _  _  _
10  we    _  _  _  _  _  _  _  _  (EntityID=2|MarkableID=m6)
11  fled  _  _  _  _  _  _  _  _  _
"""
SMALL = {
    "muc": [50.0, 40.0, 44.4444],
    "b3": [80.0, 40.4762, 53.7549],
    "ceafe": [48.8889, 73.3333, 58.6667],
    "ceafm": [80.0, 57.1429, 66.6667],
    "lea": [40.0, 23.8095, 29.8507],
    "blanc": [43.75, 18.0556, 24.0909],
}
LIGHT = {
    "muc": [60.3235, 95.2667, 73.8712],
    "b3": [51.1087, 96.6288, 66.856],
    "ceafe": [65.016, 90.8322, 75.7859],
    "ceafm": [64.6409, 97.1591, 77.6323],
    "lea": [45.351, 90.0132, 60.3142],
    "blanc": [43.8245, 99.1757, 60.7876],
}


def figures(key: Path, response: Path) -> tuple[dict[str, list[float]], str]:
    ran = CliRunner().invoke(app, ["score", str(key), str(response), "--json"])
    assert ran.exit_code == 0, ran.output
    result = json.loads(ran.stdout)
    return {
        name: [round(result[name][part], 4) for part in ("recall", "precision", "f1")] for name in METRICS
    }, ran.stderr


def test_a_span_in_two_entities_split_antecedents_and_markables_that_do_not_refer(tmp_path: Path) -> None:
    key, response = tmp_path / "key.CONLLUA", tmp_path / "response.CONLLUA"
    key.write_text(KEY)
    response.write_text(RESPONSE)
    found, notes = figures(key, response)
    assert found == SMALL
    assert "non-referring markables left out of the key: 1" in notes
    assert "split antecedents left out of the key: 1" in notes
    assert "more than once in the response: 1; each counts every time" in notes


def answer(document: Document) -> Document:
    """A system that misses every third mention and mistakes entities whose number ends in 3 for the one before."""
    entities: dict[str, list[object]] = {}
    for number, mention in enumerate(document.mentions):
        if number % 3:
            id = mention.entity[:-1] + "2" if mention.entity.endswith("3") else mention.entity
            entities.setdefault(id, []).append(replace(mention, entity=id, attributes=()))
    mentions = {id: tuple(sorted(group, key=lambda m: m.tokens)) for id, group in entities.items()}  # type: ignore[attr-defined]
    return replace(without_annotation(document), entities=tuple(Entity(id, group) for id, group in mentions.items()))


def test_a_distributed_key(shared: Path, tmp_path: Path) -> None:
    key = shared / "corpora" / "codi-crac" / "light_train.2022.CONLLUA"
    response = tmp_path / "answer.conllua"
    assert corpora.write(map(answer, corpora.read(key)), response) == []
    found, notes = figures(key, response)
    assert found == LIGHT
    assert "non-referring markables left out of the key: 468" in notes
    assert "left out of the response" not in notes


def test_speakers_hold_for_whole_turns_in_distributed_files(shared: Path) -> None:
    documents = list(corpora.read(shared / "corpora" / "codi-crac"))
    unspoken = [s for d in documents for s in d.sentences if s.speaker is None]
    assert len(documents) == 41
    assert len(unspoken) == 20
    assert all(("setting", "") in sentence.attributes for sentence in unspoken)
