"""The component in pipelines of spaCy: what it fills, where it keeps it, and that it works in other processes."""

from __future__ import annotations

import pickle
import shutil
import threading
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from incoref.errors import IncorefError
from incoref.model.folder import Model
from incoref.model.subwords import Utterance
from incoref.resolver import Resolver
from rule_model import RuleModel
from tiny_models import TinyModels

spacy = pytest.importorskip("spacy", reason="needs the package 'spacy' (extra 'spacy')")
DocBin = pytest.importorskip("spacy.tokens").DocBin

TEXT = "Anna met Carl. \n\nShe saw the dog, and it left. Carl's dog was old."
TEXTS = [TEXT, "", "  ", "He.", *(f"Anna saw {number} dogs. They left her." for number in range(5))]


def pipeline(model: Path, *before: str, **config: Any) -> Any:
    nlp = spacy.blank("en")
    for name in before:
        nlp.add_pipe(name)
    nlp.add_pipe("incoref", config={"model": str(model), **config})
    return nlp


@pytest.fixture
def nlp(tiny: TinyModels) -> Any:
    """A pipeline with sentences of spaCy's and a model that decides by rules."""
    made = pipeline(tiny.fp32, "sentencizer")
    return by_rules(made, tiny)


def by_rules(nlp: Any, tiny: TinyModels) -> Any:
    component = nlp.get_pipe("incoref")
    component.resolver.model = RuleModel.like(tiny.model)
    return nlp


def clusters(doc: Any) -> dict[str, list[str]]:
    return {key: [span.text for span in group] for key, group in doc.spans.items()}


def test_what_a_document_gets(nlp: Any) -> None:
    doc = nlp(TEXT)
    assert clusters(doc) == {
        "coref_clusters_1": ["Carl", "She", "Carl"],
        "coref_clusters_2": ["the dog", "it"],
    }
    carl, dog = doc._.coref_entities
    assert (carl.id, carl.name, dog.id, dog.name) == ("1", "Carl", "2", "the dog")
    assert doc._.coref_resolved == "Anna met Carl. \n\nCarl saw the dog, and the dog left. Carl's dog was old."
    for entity in (carl, dog):
        for mention, span in zip(entity.mentions, doc.spans[f"coref_clusters_{entity.id}"], strict=True):
            assert (mention.start, mention.end, mention.tokens) == (
                span.start_char,
                span.end_char,
                (span.start, span.end),
            )
            assert doc.text[mention.start : mention.end] == mention.text == span.text
            assert list(doc.sents)[mention.sentence].start <= span.start
            assert (mention.confidence, mention.mention_confidence) == (0.75, 0.5)
            assert (span.label_, span.id_) == (entity.type, entity.id)
            assert span._.coref_entity == entity
    assert [mention.new for mention in carl.mentions] == [True, False, False]
    assert doc[1:2]._.coref_entity is None


def test_singletons_on_request(tiny: TinyModels) -> None:
    nlp = by_rules(pipeline(tiny.fp32, "sentencizer", singletons=True), tiny)
    assert clusters(nlp("Anna met Carl."))["coref_clusters_1"] == ["Anna"]


def test_sentences_are_spacys_or_else_ours(tiny: TinyModels) -> None:
    text = "Dr. Berta left. She was late"
    spacys, ours = (by_rules(pipeline(tiny.fp32, *before), tiny) for before in (["sentencizer"], []))
    for nlp in (spacys, ours):
        nlp.get_pipe("incoref")._singletons = True
    found = {mention.text: mention.sentence for e in ours(text)._.coref_entities for mention in e.mentions}
    assert found == {"Dr.": 0, "Berta": 0, "She": 1}
    assert not ours(text).has_annotation("SENT_START")
    doc = spacys.make_doc(text)
    for token in doc:
        token.is_sent_start = token.text in ("Dr.", "left", "She")
    found = {
        mention.text: mention.sentence
        for e in spacys.get_pipe("incoref")(doc)._.coref_entities
        for mention in e.mentions
    }
    assert found == {"Dr.": 0, "Berta": 0, "She": 2}


def test_words_are_spacys(tiny: TinyModels) -> None:
    from spacy.tokens import Doc

    nlp = by_rules(pipeline(tiny.fp32, singletons=True), tiny)
    doc = nlp.get_pipe("incoref")(Doc(nlp.vocab, ["Hong", "Kong", "-Is", "land"], [True, False, False, False]))
    assert [span.text for group in doc.spans.values() for span in group] == ["Hong", "Kong"]


def test_a_second_run_replaces_the_first(nlp: Any) -> None:
    doc = nlp(TEXT)
    component = nlp.get_pipe("incoref")
    doc.spans["mine"] = [doc[0:1]]
    before = clusters(doc)
    doc.spans["coref_clusters_9"] = [doc[0:2]]
    assert clusters(component(doc)) == before


def test_groups_can_be_edited(nlp: Any) -> None:
    doc = nlp(TEXT)
    doc.spans["coref_clusters_1"].append(doc[0:1])
    assert [mention.text for mention in doc._.coref_entities[0].mentions][-1] == "Anna"
    assert doc[0:1]._.coref_entity.id == "1"
    del doc.spans["coref_clusters_2"]
    assert [entity.name for entity in doc._.coref_entities] == ["Carl"]


def test_batches_and_processes_give_what_one_document_at_a_time_gives(tiny: TinyModels) -> None:
    nlp = pipeline(tiny.int8, "sentencizer", singletons=True)
    expected = [nlp(text) for text in TEXTS]
    assert any(doc.spans for doc in expected)
    for options in ({"batch_size": 3}, {"n_process": 2, "batch_size": 2}):
        found = list(nlp.pipe(TEXTS, **options))
        assert [doc.text for doc in found] == TEXTS
        assert [clusters(doc) for doc in found] == [clusters(doc) for doc in expected]
        assert [doc._.coref_entities for doc in found] == [doc._.coref_entities for doc in expected]
        assert [doc._.coref_resolved for doc in found] == [doc._.coref_resolved for doc in expected]


def test_processes_that_share_nothing_can_run_it(tiny: TinyModels) -> None:
    """Where processes are not forked, the pipeline is pickled."""
    nlp = pipeline(tiny.int8, "sentencizer", singletons=True)
    twin = pickle.loads(pickle.dumps(nlp.get_pipe("incoref")))
    doc = nlp.make_doc(TEXT)
    assert clusters(twin(nlp.get_pipe("sentencizer")(doc))) == clusters(nlp(TEXT))


def test_documents_keep_it_in_a_docbin_and_as_bytes(nlp: Any) -> None:
    doc = nlp(TEXT)
    stored = DocBin(docs=[doc]).to_bytes()
    vocabulary = spacy.blank("en").vocab
    for twin in (
        next(iter(DocBin().from_bytes(stored).get_docs(vocabulary))),
        spacy.tokens.Doc(vocabulary).from_bytes(doc.to_bytes()),
    ):
        assert clusters(twin) == clusters(doc)
        assert twin._.coref_entities == doc._.coref_entities
        assert twin._.coref_resolved == doc._.coref_resolved


def test_a_pipeline_on_disk_takes_its_model_along(tiny: TinyModels, tmp_path: Path) -> None:
    shutil.copytree(tiny.int8, tmp_path / "model")
    nlp = pipeline(tmp_path / "model", "sentencizer", singletons=True, setting="k=2")
    expected = clusters(nlp(TEXT))
    nlp.to_disk(tmp_path / "pipeline")
    shutil.rmtree(tmp_path / "model")
    loaded = spacy.load(tmp_path / "pipeline")
    assert clusters(loaded(TEXT)) == expected
    assert loaded.get_pipe_config("incoref")["setting"] == "k=2"


def test_the_packaged_model_stays_in_the_package(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("incoref")
    nlp.to_disk(tmp_path)
    assert not (tmp_path / "incoref").exists()
    doc = spacy.load(tmp_path)("Anna called Ben. She asked him to bring her notes.")
    assert clusters(doc) == {"coref_clusters_1": ["Anna", "She", "her"], "coref_clusters_2": ["Ben", "him"]}
    assert doc._.coref_resolved == "Anna called Ben. Anna asked Ben to bring Anna's notes."


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"scheme": "none"}, "the model knows no scheme 'none'"),
        ({"setting": "k=0"}, "no setting 'k=0'"),
        ({"eviction": "all"}, "no eviction policy 'all'"),
        ({"max_entities": 0}, "max_entities is 0"),
    ],
)
def test_wrong_options_are_told_at_once(tiny: TinyModels, config: dict[str, Any], message: str) -> None:
    with pytest.raises(IncorefError, match=message):
        pipeline(tiny.fp32, **config)


def test_a_missing_model_is_told_when_it_is_needed(tmp_path: Path) -> None:
    nlp = pipeline(tmp_path / "nowhere")
    with pytest.raises(IncorefError, match="no such model folder"):
        nlp("Anna left.")


def test_the_same_as_a_resolver_gives(tiny: TinyModels) -> None:
    """With sentences and words that both find alike."""
    text = "Anna met Carl . He left the city . She saw it ."
    resolver = Resolver(Model.load(tiny.int8))
    doc = pipeline(tiny.int8, singletons=True)(text)
    document = resolver.resolve(text, singletons=True)
    assert [token.text for token in doc] == [token.text for token in document.tokens]
    expected = sorted([(m.start, m.end, m.confidence) for m in e.mentions] for e in document.entities)
    assert sorted([(m.start, m.end, m.confidence) for m in e.mentions] for e in doc._.coref_entities) == expected


def test_a_token_tells_the_entity_of_the_shortest_mention_around_it(nlp: Any) -> None:
    doc = nlp(TEXT)
    assert [(token.text, token._.coref_entity.name) for token in doc if token._.coref_entity] == [
        ("Carl", "Carl"),
        ("She", "Carl"),
        ("the", "the dog"),
        ("dog", "the dog"),
        ("it", "the dog"),
        ("Carl", "Carl"),
    ]
    whole = doc[0:3]
    doc.spans["coref_clusters_2"].append(whole)
    assert doc[2]._.coref_entity.name == "Carl", "the shorter one"
    assert doc[1]._.coref_entity.name == "the dog"


def test_displacy_shows_all_mentions_with_their_entities(nlp: Any) -> None:
    from spacy import displacy

    from incoref.integrations.spacy_component import spans_by_entity

    doc = nlp(TEXT)
    doc.spans["coref"] = spans_by_entity(doc)
    assert [(span.text, span.label_) for span in doc.spans["coref"]] == [
        ("Carl", "1 Carl"),
        ("She", "1 Carl"),
        ("the dog", "2 the dog"),
        ("it", "2 the dog"),
        ("Carl", "1 Carl"),
    ]
    html = displacy.render(doc, style="span", options={"spans_key": "coref"}, jupyter=False)
    assert "1 Carl" in html and "2 the dog" in html


def test_a_pipeline_of_another_language_is_warned_of(tiny: TinyModels) -> None:
    with pytest.warns(UserWarning, match="language is 'de', and incoref's model knows English alone"):
        spacy.blank("de").add_pipe("incoref", config={"model": str(tiny.fp32)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        spacy.blank("xx").add_pipe("incoref", config={"model": str(tiny.fp32)})


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_batches_give_what_single_documents_give(nlp: Any, batch_size: int) -> None:
    found = list(nlp.pipe(TEXTS * 3, batch_size=batch_size))
    assert [doc.text for doc in found] == TEXTS * 3
    assert [clusters(doc) for doc in found] == [clusters(nlp(text)) for text in TEXTS * 3]


def test_batches_are_read_together(nlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several documents are in work at a time, as many as the encoder takes."""
    resolver = nlp.get_pipe("incoref").resolver
    resolve, met = resolver.resolve, threading.Barrier(2, timeout=30)
    monkeypatch.setattr(type(resolver.model.encoder), "readers", 2, raising=False)

    def meeting(*given: Any, **options: Any) -> Any:
        met.wait()  # breaks unless two documents are being resolved
        return resolve(*given, **options)

    monkeypatch.setattr(resolver, "resolve", meeting)
    assert len(list(nlp.pipe(["Anna left."] * 4))) == 4


@pytest.mark.parametrize("readers", [1, 3])
def test_a_document_that_fails_goes_to_the_error_handler(
    nlp: Any, monkeypatch: pytest.MonkeyPatch, readers: int
) -> None:
    """However many documents the machine's encoder can read at once."""
    model = nlp.get_pipe("incoref").resolver.model
    blocks = model.blocks

    def failing(utterances: Iterable[Utterance], *arguments: Any) -> Any:
        sentences = list(utterances)
        if any("Carl" in sentence.words for sentence in sentences):
            raise ValueError("no Carl, please")
        return blocks(sentences, *arguments)

    monkeypatch.setattr(model, "blocks", failing)
    monkeypatch.setattr(model.encoder, "readers", readers)
    with pytest.raises(ValueError, match="no Carl"):
        list(nlp.pipe(TEXTS))
    told: list[tuple[str, list[str], str]] = []
    nlp.set_error_handler(
        lambda name, component, docs, error: told.append((name, [d.text for d in docs], str(error)))
    )
    assert [doc.text for doc in nlp.pipe(["Anna.", "Carl.", "He."])] == ["Anna.", "He."]
    assert told == [("incoref", ["Carl."], "no Carl, please")]
