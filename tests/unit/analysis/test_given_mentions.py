"""A model that is told where the mentions are."""

from __future__ import annotations

import pytest

from incoref.analysis.given_mentions import linked, told_mentions
from incoref.analysis.systems import AnswerSystem, ModelSystem, Options
from incoref.evaluation.metrics import token_clusters
from tiny_models import TinyModels, random_document


@pytest.mark.parametrize("setting", ["sent-inc", "k=3", "part-inc"])
@pytest.mark.parametrize("seed", range(3))
def test_told_what_it_finds_itself_a_model_answers_the_same(tiny: TinyModels, seed: int, setting: str) -> None:
    system = ModelSystem(tiny.model, setting, Options(scheme="all"))
    document = random_document(9, seed)
    own = system.clusters(document)
    spans = [(first, end - 1) for cluster in own for first, end in cluster]
    assert sorted(map(sorted, linked(system, document, spans))) == sorted(map(sorted, own))


def test_all_annotated_mentions_are_in_the_answer(tiny: TinyModels) -> None:
    told = told_mentions(ModelSystem(tiny.model))
    document = random_document(9, 1)
    assert told is not None
    found = {span for cluster in told.clusters(document) for span in cluster}
    assert found <= {span for cluster in token_clusters(document) for span in cluster}
    assert len(found) > 5


def test_another_systems_answers_stay_as_they_are(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert told_mentions(AnswerSystem(tmp_path_factory.mktemp("answers"))) is None
