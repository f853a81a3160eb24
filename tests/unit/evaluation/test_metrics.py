"""The scorer on examples that can be checked by hand."""

from __future__ import annotations

import pytest

from incoref import Document, Entity, IncorefError, Mention, Sentence, Token
from incoref.evaluation.metrics import METRICS, Clusters, Result, Scorer, token_clusters


def scored(key: Clusters, response: Clusters, *, drop_singletons: bool = False) -> Result:
    scorer = Scorer(drop_singletons=drop_singletons)
    scorer.add(key, response)
    return scorer.result()


def document(id: str, words: str, clusters: list[list[tuple[int, int]]]) -> Document:
    tokens, offset = [], 0
    for word in words.split():
        tokens.append(Token(word, offset, offset + len(word)))
        offset += len(word) + 1
    entities = []
    for number, spans in enumerate(clusters):
        mentions = tuple(
            Mention(tokens[first].start, tokens[end - 1].end, "", (first, end), 0, str(number))
            for first, end in spans
        )
        entities.append(Entity(str(number), mentions))
    return Document(id, words, (Sentence(0, len(words), tuple(tokens)),), tuple(entities))


def test_an_entity_split_in_two() -> None:
    result = scored(["abcd"], ["ab", "cd"])
    assert result.muc[:2] == pytest.approx((100 * 2 / 3, 100))
    assert result.b3[:2] == pytest.approx((50, 100))
    assert result.ceafm[:2] == pytest.approx((50, 50))
    assert result.ceafe[:2] == pytest.approx((100 * 2 / 3, 100 / 3))
    assert result.lea[:2] == pytest.approx((100 * 2 / 6, 100))
    assert result.blanc == pytest.approx((100 * 2 / 6, 100, 50))
    assert result.mentions == pytest.approx((100, 100, 100))
    assert result.conll_f1 == pytest.approx((result.muc.f1 + result.b3.f1 + result.ceafe.f1) / 3)


def test_missing_and_spurious_mentions() -> None:
    result = scored(["abc"], ["abx"])
    assert result.mentions == pytest.approx((100 * 2 / 3,) * 3)
    assert result.muc == pytest.approx((50, 50, 50))
    assert result.b3 == pytest.approx((100 * 4 / 9,) * 3)
    assert result.lea == pytest.approx((100 / 3,) * 3)


def test_lea_matches_singletons_only_with_singletons() -> None:
    assert scored(["a", "bc"], ["a", "bc"]).lea == pytest.approx((100, 100, 100))
    assert scored(["a", "bc"], ["ax", "bc"]).lea[:2] == pytest.approx((100 * 2 / 3, 50))


def test_blanc_uses_the_kinds_of_pairs_in_the_key() -> None:
    assert scored(["a", "b", "c"], ["ab", "c"]).blanc[:2] == pytest.approx((100 * 2 / 3, 100))
    assert scored(["abc"], ["ab", "c"]).blanc[:2] == pytest.approx((100 / 3, 100))
    assert scored(["a"], ["a"]).blanc == (0, 0, 0)


def test_nothing_to_score() -> None:
    result = Scorer().result()
    assert result.documents == 0
    assert result.conll_f1 == 0
    assert scored([], ["ab"]).conll_f1 == 0
    assert scored(["ab"], []).conll_f1 == 0


def test_counts_are_summed_before_division() -> None:
    scorer = Scorer()
    scorer.add(["abcd"], ["abcd"])
    scorer.add(["ab"], [])
    assert scorer.result().muc.recall == pytest.approx(100 * 3 / 4)
    assert scorer.result().documents == 2


def test_a_repeated_key_mention_counts_once() -> None:
    scorer = Scorer()
    scorer.add(["aab", "ac"], ["ab", "c"])
    assert scorer.repeated_in_key == 2
    assert scorer.repeated_in_response == 0
    assert scorer.result().mentions == pytest.approx((100, 100, 100))
    assert scorer.result().b3 == pytest.approx((100, 100, 100))


def test_a_singleton_doesnt_take_a_mention_from_an_entity_when_singletons_are_dropped() -> None:
    assert scored(["a", "ab"], ["ab"], drop_singletons=True).conll_f1 == pytest.approx(100)


def test_json() -> None:
    data = scored(["ab"], ["ab"]).to_json()
    assert list(data) == ["muc", "b3", "ceafm", "ceafe", "blanc", "lea", "mentions", "conll_f1", "documents"]
    assert data["lea"] == {"recall": 100.0, "precision": 100.0, "f1": 100.0}
    assert data["conll_f1"] == pytest.approx(100)
    assert tuple(data)[: len(METRICS)] == METRICS


def test_documents_are_compared_by_token_ranges() -> None:
    key = document("d", "Auto workers ended their strike", [[(0, 2), (3, 4)], [(3, 5)]])
    assert token_clusters(key) == [[(0, 2), (3, 4)], [(3, 5)]]
    scorer = Scorer(drop_singletons=True)
    scorer.add_documents(key, document("d", "Auto workers ended their strike", [[(0, 2), (3, 4)]]))
    assert scorer.result().conll_f1 == pytest.approx(100)


def test_documents_of_different_length_are_refused() -> None:
    with pytest.raises(IncorefError, match="'d' has 2 tokens in the key and 3 in the response"):
        Scorer().add_documents(document("d", "a b", []), document("d", "a b c", []))


def test_scorers_that_treat_singletons_differently_are_not_merged() -> None:
    with pytest.raises(IncorefError, match="different options"):
        Scorer().merge(Scorer(drop_singletons=True))
