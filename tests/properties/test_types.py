"""Values and their JSON: there and back without loss, through text."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.types import Attributes, Document, Entity, Mention, RunnerUp, Sentence, Token

names = st.text(max_size=5)
places = st.integers(0, 10**6)
probabilities = st.none() | st.floats(0, 1)
attributes: st.SearchStrategy[Attributes] = st.dictionaries(names, names, max_size=3).map(lambda d: tuple(d.items()))
tokens = st.builds(Token, names, places, places, attributes)
sentences = st.builds(
    Sentence, places, places, st.lists(tokens, max_size=4).map(tuple), st.none() | names, attributes
)
runners_up = st.builds(RunnerUp, st.none() | names, st.floats(0, 1))
mentions = st.builds(
    Mention,
    start=places,
    end=places,
    text=names,
    tokens=st.tuples(places, places),
    sentence=places,
    entity=names,
    type=st.none() | names,
    confidence=probabilities,
    mention_confidence=probabilities,
    attributes=attributes,
    new=st.none() | st.booleans(),
    runners_up=st.lists(runners_up, max_size=2).map(tuple),
)
entities = st.builds(
    Entity,
    id=names,
    mentions=st.lists(mentions, max_size=3).map(tuple),
    name=st.none() | names,
    type=st.none() | names,
    speaker=st.none() | names,
)
documents = st.builds(
    Document,
    id=names,
    text=names,
    sentences=st.lists(sentences, max_size=3).map(tuple),
    entities=st.lists(entities, max_size=3).map(tuple),
    genre=st.none() | names,
    attributes=attributes,
)


@given(sentences | runners_up | mentions | entities | documents)
def test_json_gives_back_the_same_value(value: Any) -> None:
    data = value.to_json()
    assert type(value).from_json(data) == value
    assert type(value).from_json(json.loads(json.dumps(data))) == value


@given(sentences | mentions | entities | documents)
def test_what_is_absent_is_left_out(value: Any) -> None:
    assert not [name for name, field in value.to_json().items() if field is None or field == {}]


@given(documents)
def test_a_document_counts_its_tokens_and_mentions(document: Document) -> None:
    assert len(document.tokens) == sum(len(sentence) for sentence in document.sentences)
    assert len(list(document.mentions)) == sum(len(entity) for entity in document.entities)
    assert document.tokens is document.tokens


@given(sentences | mentions | entities | documents)
def test_values_are_frozen_and_can_be_keys(value: Any) -> None:
    assert hash(value) == hash(type(value).from_json(value.to_json()))
    for field in fields(value):
        with pytest.raises(FrozenInstanceError):
            setattr(value, field.name, None)
