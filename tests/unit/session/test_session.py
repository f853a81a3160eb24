"""What a session answers, keeps, takes back and is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from incoref.errors import IncorefError
from incoref.model.features.opened import OPENED
from incoref.model.features.sentences import SENTENCE
from incoref.model.transitions import Action, replay
from incoref.resolver import Resolver
from incoref.session import saving
from incoref.session.advance import HARDLY_ENGLISH
from incoref.session.session import Session
from incoref.session.updates import Message, Update
from incoref.types import Document, RunnerUp, Sentence, Token
from rule_model import CONFIDENCE, MENTION_CONFIDENCE
from tiny_models import random_utterances

TEXT = "Anna met Carl. She saw the dog in Berlin. I said it was the dog of Carl."


def mentions_of(updates: Sequence[Update]) -> list[tuple[str, str]]:
    """Texts of mentions with their entities."""
    return [(mention.text, mention.entity) for update in updates for mention in update.mentions]


@pytest.fixture
def chat(rule_resolver: Resolver) -> Session:
    return rule_resolver.session()


def test_say_answers_every_sentence_at_once(chat: Session) -> None:
    updates = chat.say(TEXT, speaker="Carol", id="m1", time="10:05")
    assert [(update.sentence, update.start, update.text) for update in updates] == [
        (0, 0, "Anna met Carl."),
        (1, 15, "She saw the dog in Berlin."),
        (2, 42, "I said it was the dog of Carl."),
    ]
    assert {(update.speaker, update.id, update.time) for update in updates} == {("Carol", "m1", "10:05")}
    assert all(update.elapsed_ms > 0 for update in updates)
    assert mentions_of(updates) == [
        ("Anna", "1"),
        ("Carl", "2"),
        ("She", "2"),
        ("the dog", "3"),
        ("Berlin", "4"),
        ("I", "5"),
        ("it", "5"),
        ("the dog", "3"),
        ("Carl", "2"),
    ]
    mention = updates[1].mentions[1]
    assert (mention.start, mention.end, mention.tokens, mention.sentence) == (23, 30, (6, 8), 1)
    assert (mention.new, mention.confidence, mention.mention_confidence) == (True, CONFIDENCE, MENTION_CONFIDENCE)
    assert chat.text == TEXT + "\n"
    assert chat.sentences == 3


def test_offsets_go_on_from_one_utterance_to_the_next(chat: Session) -> None:
    chat.say("Anna left.")
    (update,) = chat.say("  Carl, too.")
    assert chat.text == "Anna left.\n  Carl, too.\n"
    assert (update.start, update.end) == (13, 23)


def test_feed_answers_as_soon_as_a_sentence_is_known_to_have_ended(chat: Session) -> None:
    assert chat.feed("Anna met") == []
    assert chat.feed(" Mr.") == []
    assert chat.feed(" Carl.") == []
    (first,) = chat.feed(" She left in ")
    assert first.text == "Anna met Mr. Carl."
    assert chat.feed("May") == []
    (second,) = chat.flush()
    assert second.text == "She left in May"
    assert chat.flush() == []
    assert chat.text == "Anna met Mr. Carl. She left in May"


def test_say_ends_what_is_pending(chat: Session) -> None:
    chat.feed("Anna left", speaker="Anna")
    pending, said = chat.say("Carl, too.", speaker="Carl", id=7)
    assert (pending.text, pending.speaker, pending.id) == ("Anna left", "Anna", None)
    assert (said.text, said.speaker, said.id) == ("Carl, too.", "Carl", 7)
    assert chat.text == "Anna left\nCarl, too.\n"


def test_text_after_a_flush_does_not_stick_to_the_text_before(chat: Session) -> None:
    for piece in ("Anna left", "Carl", " too"):
        chat.feed(piece)
        chat.flush()
    assert chat.text == "Anna left\nCarl too"


def test_another_speaker_ends_what_is_pending(chat: Session) -> None:
    assert chat.feed("Anna left", "Anna") == []
    (update,) = chat.feed("Carl, too.", "Carl")
    assert (update.text, update.speaker) == ("Anna left", "Anna")
    (update,) = chat.flush()
    assert (update.text, update.speaker) == ("Carl, too.", "Carl")
    assert chat.text == "Anna left\nCarl, too."


def test_words_that_are_known_are_taken_as_they_are(chat: Session) -> None:
    (update,) = chat.say_words(["Anna", "met", "Hong Kong", "."], speaker="Carl", id=1, time=2)
    assert update.text == "Anna met Hong Kong ."
    assert (update.speaker, update.id, update.time) == ("Carl", 1, 2)
    (update,) = chat.say_words(["Do", "n't", "!"], text="Don't  !?")
    assert update.text == "Don't  !"
    assert chat.text == "Anna met Hong Kong .\nDon't  !?\n"
    assert [token.text for token in chat.document().tokens[-3:]] == ["Do", "n't", "!"]
    assert chat.say_words([]) == []


@pytest.mark.parametrize(("words", "text"), [(["Anna", "left"], "left Anna"), (["Anna", ""], None)])
def test_words_that_are_not_in_their_text_are_refused(chat: Session, words: list[str], text: str | None) -> None:
    with pytest.raises(IncorefError, match=r"the word .* doesn't occur in the text after character (4|9)"):
        chat.say_words(words, text=text)
    assert chat.text == ""


def test_a_document_keeps_its_own_sentences_words_and_speakers(chat: Session) -> None:
    text = "  Anna left ; Carl stayed .  "
    tokens = [Token(word, text.index(word), text.index(word) + len(word)) for word in text.split()]
    sentences = (
        Sentence(2, 11, tuple(tokens[:2]), "Anna"),
        Sentence(12, 13, (tokens[2],)),
        Sentence(13, 13, ()),
        Sentence(14, 27, tuple(tokens[3:]), "Carl"),
    )
    chat.say("Before .")
    updates = chat.read(Document("d", text, sentences))
    assert [(update.text, update.speaker) for update in updates] == [
        ("Anna left", "Anna"),
        (";", None),
        ("Carl stayed .", "Carl"),
    ]
    assert chat.text == f"Before .\n{text}"
    assert chat.text[updates[-1].start : updates[-1].end] == "Carl stayed ."
    with pytest.raises(IncorefError, match="document 'd': the sentence at 12 is out of order"):
        chat.read(Document("d", text, sentences[::-1]))


def test_entities_have_all_mentions_and_stable_ids(chat: Session) -> None:
    updates = chat.say("She saw Anna. The dog saw it. Anna Kern left. Kern!", "Carol") + chat.say("I left.", "Carol")
    found = [mention for update in updates for mention in update.mentions]
    assert [(e.id, e.name, [m.text for m in e.mentions], e.speaker) for e in chat.entities] == [
        ("1", "She", ["She"], None),
        ("2", "Anna", ["Anna", "Anna"], None),
        ("3", "the dog", ["The dog", "it"], None),
        ("4", "Kern", ["Kern", "Kern"], None),
        ("5", "Carol", ["I"], "Carol"),
    ]
    for entity in chat.entities:
        assert list(entity.mentions) == [mention for mention in found if mention.entity == entity.id]
        assert [mention.new for mention in entity.mentions] == [True] + [False] * (len(entity) - 1)
        assert entity.type in ("person", "place", "thing")


def test_an_introduced_speakers_i_is_that_entity(chat: Session) -> None:
    anna = chat.introduce("Anna Kern", type="place", speaker="anna")
    assert (anna.name, anna.type, anna.speaker, anna.mentions) == ("Anna Kern", "place", "anna", ())
    chat.introduce("the Duke")
    updates = chat.say("I met Carl.", "anna") + chat.say("I am not Anna Kern.", "carl") + chat.say("I left.", "anna")
    assert mentions_of(updates) == [
        ("I", "1"),
        ("Carl", "3"),
        ("I", "4"),
        ("Anna", "5"),
        ("Kern", "6"),
        ("I", "1"),
    ]
    assert updates[0].mentions[0].confidence == updates[2].mentions[0].confidence == 1.0
    assert not updates[0].mentions[0].new
    assert mentions_of(chat.say("He met the Duke.")) == [("He", "1"), ("the Duke", "2")]


def test_who_has_spoken_before_is_introduced_as_the_same(chat: Session) -> None:
    chat.say("I saw Carl.", "anna")
    assert (chat.entities[0].name, chat.entities[0].speaker) == ("anna", "anna")
    after = chat.introduce("Anna Kern", type="person", speaker="anna")
    assert (after.id, after.name, after.type, len(after)) == ("1", "Anna Kern", "person", 1)


def test_renaming_makes_a_name_known(chat: Session) -> None:
    chat.say("Anna met Carl.")
    entity = chat.rename("1", "  Berlin ")
    assert entity.name == "Berlin"
    assert mentions_of(chat.say("Berlin left Carl.")) == [("Berlin", "1"), ("Carl", "2")]
    assert chat.rename(entity, "Zoe").name == "Zoe"


def test_merged_entities_are_one(chat: Session) -> None:
    chat.say("The dog met Carl. Rex met Anna.")
    chat.introduce("Zoe", speaker="zoe")
    rex = chat.merge("1", "3")
    assert (rex.name, [mention.text for mention in rex.mentions]) == ("Rex", ["The dog", "Rex"])
    assert [entity.id for entity in chat.entities] == ["1", "2", "4", "5"]
    assert mentions_of(chat.say("The dog and Rex met Anna. It left.")) == [
        ("The dog", "1"),
        ("Rex", "1"),
        ("Anna", "4"),
        ("It", "4"),
    ]
    chat.merge(chat.entities[1], "5")
    assert mentions_of(chat.say("I left Zoe.", "zoe")) == [("I", "2"), ("Zoe", "2")]
    with pytest.raises(IncorefError, match="no entity '3'"):
        chat.merge("1", "3")
    with pytest.raises(IncorefError, match="with itself"):
        chat.merge("2", "2")


def test_runners_up_follow_a_merge(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(runners_up=5)
    chat.say("Anna met Berta. Carl left. Dora left. Anna saw Dora.")
    before = {mention.text: mention for mention in chat.document(singletons=True).mentions if mention.new}
    assert [other.entity for other in before["Dora"].runners_up] == ["1", "2", "3"]
    chat.merge("1", "3")
    merged = {mention.text: mention for mention in chat.document(singletons=True).mentions if mention.new}
    sum_of_both = sum(other.confidence for other in before["Dora"].runners_up if other.entity in ("1", "3"))
    assert merged["Dora"].runners_up == (RunnerUp("1", sum_of_both), before["Dora"].runners_up[1])
    assert [other.entity for other in merged["Carl"].runners_up] == ["2"], "a mention's own entity is no alternative"
    assert merged["Berta"] == before["Berta"]
    known = {entity.id for entity in chat.entities} | {None}
    assert {other.entity for e in chat.entities for m in e.mentions for other in m.runners_up} <= known


def test_an_introduced_entity_belongs_to_the_sentence_before(chat: Session) -> None:
    chat.say("Anna left.")
    chat.introduce("Zoe")
    chat.say("Carl left.")
    rows = chat._state.memory.states.rows()
    assert [row[SENTENCE] for row in rows] == [0, 0, 1]
    assert rows[2][OPENED], "Carl is the first mention of the second sentence"


def test_evicted_entities_can_be_renamed_and_merged(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(eviction="lru", max_entities=1)
    chat.say("Anna met Berta. Carl met Rex. She left.")
    assert chat.rename("1", "Zoe").name == "Zoe"
    assert [mention.text for mention in chat.merge("1", "2").mentions] == ["Anna", "Berta"]
    merged = chat.merge("3", "4")
    assert (merged.id, merged.name, [m.text for m in merged.mentions]) == ("3", "Rex", ["Carl", "Rex", "She"])
    assert mentions_of(chat.say("Rex left.")) == [("Rex", "3")]
    assert [entity.id for entity in chat.entities] == ["1", "3"]


def test_what_is_forgotten_is_gone_from_state_and_saves(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(runners_up=5, history=1)
    chat.introduce("Zyx Abc", speaker="zyx")
    chat.say("I met Anna.", "zyx")
    chat.say("Zyx met Carl. He met Anna.")
    chat.forget("1")
    chat.forget("3")
    assert [entity.name for entity in chat.entities] == ["Anna", "Carl"]
    assert all(o.entity not in ("1", "3") for e in chat.entities for m in e.mentions for o in m.runners_up)
    assert "zyx" not in json.dumps(saving.unpack(chat.save()).fields).lower()
    with pytest.raises(IncorefError, match="nothing to undo"):
        chat.undo()
    with pytest.raises(IncorefError, match="no entity '1'"):
        chat.forget("1")
    assert mentions_of(chat.say("I met Zyx.", "zyx")) == [("I", "5"), ("Zyx", "6")]


@pytest.mark.parametrize("evicted", [False, True])
def test_the_label_of_a_speaker_is_forgotten_with_the_entity_that_they_are(
    rule_resolver: Resolver, evicted: bool
) -> None:
    chat = rule_resolver.session(**({"eviction": "lru", "max_entities": 1} if evicted else {}))
    chat.say("I met Anna.", "zyx")
    chat.feed("You met Carl", "zyx")
    speaker = next(entity for entity in chat.entities if entity.speaker == "zyx")
    other = chat.say("I left.", "ben")[-1].mentions[0].entity
    chat.forget(speaker)
    assert "zyx" not in json.dumps(saving.unpack(chat.save()).fields)
    assert [sentence.speaker for sentence in chat.document().sentences] == [None, None, "ben"]
    assert chat.say("I left.", "ben")[0].mentions[0].entity == other
    again = chat.say("I left.", "zyx")[0].mentions[0]
    assert again.entity != speaker.id


def test_a_label_stays_while_another_entity_is_that_speaker(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(eviction="lru", max_entities=1)
    chat.say("I met Anna.", "zyx")
    chat.say("Carl left. I left.", "zyx")
    first, second = (entity.id for entity in chat.entities if entity.speaker == "zyx")
    chat.forget(first)
    assert {sentence.speaker for sentence in chat.document().sentences} == {"zyx"}
    chat.forget(second)
    assert {sentence.speaker for sentence in chat.document().sentences} == {None}


@pytest.mark.parametrize("name", ["", "  ", "\u200b"])
def test_a_name_has_a_word(chat: Session, name: str) -> None:
    with pytest.raises(IncorefError, match="can't be a name"):
        chat.introduce(name)


def test_undo_takes_back_the_last_call_and_corrections_since(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(undo=2)
    states = []
    for word in ("Anna", "Berta", "Carl"):
        states.append((chat.text, chat.entities))
        chat.say(f"{word} left .")
        chat.rename(chat.entities[0], "Zoe")
    for expected in states[:0:-1]:
        chat.undo()
        assert (chat.text, chat.entities) == expected
    with pytest.raises(IncorefError, match="nothing to undo: no step is left of the 2 that"):
        chat.undo()


def test_empty_calls_change_nothing(chat: Session) -> None:
    assert chat.feed("") == chat.flush() == []
    with pytest.raises(IncorefError, match="nothing to undo"):
        chat.undo()


def test_a_failure_changes_nothing(chat: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    chat.feed("Anna met Carl")
    before = chat.save()
    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="out of memory"):
        patched.setattr(type(chat._model), "step", _fail)
        chat.say("She left .")
    assert chat.save() == before
    assert len(chat.say("She left .")) == 2


def _fail(*_: object) -> None:
    raise RuntimeError("out of memory")


def test_evicted_entities_are_named_and_keep_their_mentions(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(eviction="lru", max_entities=2)
    updates = chat.say("Anna met Carl. Rex saw Anna. I met Carl.", "zoe")
    assert [update.evicted for update in updates] == [(), ("2",), ("1", "3")]
    assert mentions_of(updates)[-1] == ("Carl", "5")
    assert len(chat._state.memory) == len(chat._state.memory.means) == len(chat._state.memory.states) == 2
    chat.say("Berta met Emil.")
    assert [(e.id, e.name, len(e), e.speaker) for e in chat.entities] == [
        ("1", "Anna", 2, None),
        ("2", "Carl", 1, None),
        ("3", "Rex", 1, None),
        ("4", "zoe", 1, "zoe"),
        ("5", "Carl", 1, None),
        ("6", "Berta", 1, None),
        ("7", "Emil", 1, None),
    ]
    assert all(entity.type for entity in chat.entities)


def test_introduced_entities_are_not_evicted(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(eviction="lru", max_entities=2)
    chat.introduce("Anna")
    chat.say("Berta met Carl. Emil met Rex. Anna left.")
    assert mentions_of(chat.say("Anna left.")) == [("Anna", "1")]


def test_history_bounds_the_transcript(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(history=2, eviction="lru", max_entities=3)
    for number in range(150):
        chat.say(f"Anna met M{number}.")
    assert chat.text == "Anna met M148.\nAnna met M149.\n"
    assert len(chat.document().sentences) == 2
    assert chat.document().text == chat.text
    assert [(e.name, len(e)) for e in chat.entities] == [("Anna", 2), ("M148", 1), ("M149", 1)]
    for entity in chat.entities:
        for mention in entity.mentions:
            assert chat.text[mention.start - chat.text_start : mention.end - chat.text_start] == mention.text
    assert len(chat._state.evicted) == 2
    assert len(chat.save()) < 3000


def test_blocks_of_several_sentences_are_answered_together(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(setting="k=2")
    assert chat.feed("Anna met Carl. She left. ") == []
    assert len(chat.feed("He stayed. ")) == 2
    assert len(chat.feed("They slept. It rained. The")) == 2
    assert [update.text for update in chat.flush()] == ["It rained.", "The"]
    assert len(chat.say("Anna met Carl. She left. He stayed.")) == 3


def test_a_window_of_sentences_is_answered_when_it_is_full(rule_resolver: Resolver) -> None:
    chat = rule_resolver.session(setting="part-inc")
    updates = chat.feed("Anna met the old man in the city. " * 10)
    assert 0 < len(updates) < 9
    assert len(updates + chat.flush()) == 10


def test_trace_has_the_actions_that_found_the_mentions(resolver: Resolver) -> None:
    chat = resolver.session(trace=True)
    for utterance in random_utterances(12):
        (update,) = chat.say_words(utterance.words)
        first = update.trace[0].token
        spans = replay([Action[step.action] for step in update.trace], len(utterance.words))
        found = [(first + start, first + last + 1) for start, last in spans]
        assert [step.mention for step in update.trace if step.mention] == found
        assert sorted(mention.tokens for mention in update.mentions) == sorted(found)
        for step in update.trace:
            probabilities = dict(step.probabilities)
            assert sum(probabilities.values()) == pytest.approx(1)
            assert probabilities[step.action] == max(probabilities.values())
        assert update.to_json()["trace"][0]["action"] in Action.__members__
    assert resolver.session().say(TEXT)[0].trace == ()


def test_runners_up_are_the_other_choices(resolver: Resolver) -> None:
    chat = resolver.session(runners_up=2)
    known: set[str | None] = {None}
    for utterance in random_utterances(12):
        (update,) = chat.say_words(utterance.words)
        for mention in update.mentions:
            others = [other.entity for other in mention.runners_up]
            assert mention.entity not in others
            assert others.count(None) <= (0 if mention.new else 1)
            shares = [mention.confidence, *(other.confidence for other in mention.runners_up)]
            assert shares == sorted(shares, reverse=True)
            assert sum(shares) <= 1 + 1e-5
        known |= {mention.entity for mention in update.mentions}
        assert {other.entity for m in update.mentions for other in m.runners_up} <= known


def test_updates_as_json(chat: Session) -> None:
    update = chat.say("Anna met Carl .", "Anna", 5)[0]
    data = update.to_json()
    assert list(data) == ["sentence", "text", "start", "end", "speaker", "id", "mentions", "elapsed_ms"]
    assert list(data["mentions"][0]) == [
        "start",
        "end",
        "text",
        "entity",
        "new",
        "confidence",
        "mention_confidence",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\x00\x1b", "\u200b\u200e"])
def test_blank_text_has_no_sentence(chat: Session, text: str) -> None:
    assert chat.say(text) == chat.feed(text) == chat.flush() == []
    assert chat.text == f"{text}\n{text}"


def test_one_token(chat: Session) -> None:
    (update,) = chat.say("Anna")
    assert (update.text, update.start, update.end) == ("Anna", 0, 4)


def test_a_very_long_sentence_is_split_with_a_warning(chat: Session) -> None:
    updates = chat.say("saw " * 20_000 + "Anna")
    assert len(updates) == 101
    assert all("split because it grew too long" in update.warnings[0] for update in updates[:-1])
    assert updates[0].to_json()["warnings"]
    assert mentions_of(updates) == [("Anna", "1")]


def test_a_very_long_sentence_of_known_words_stays_one(chat: Session) -> None:
    (update,) = chat.say_words(["saw"] * 20_000 + ["Anna"])
    assert len(update.text.split()) == 20_001
    assert "a sentence of 20001 words was read in" in update.warnings[0]
    assert update.mentions[0].tokens == (20_000, 20_001)


def test_a_megabyte_without_a_space(chat: Session) -> None:
    text = "x" * 1_000_000
    updates = chat.say(text)
    assert "".join(update.text for update in updates) == text


def test_half_surrogates_and_controls(chat: Session) -> None:
    text = "Anna \ud800 met\x07 \udc00Carl\ud83d\ude00 ."
    (update,) = chat.say(text, speaker="\ud800")
    assert update.text == text


@pytest.mark.parametrize("value", [object(), b"7", ["a"]])
def test_ids_and_times_are_strings_or_numbers(chat: Session, value: object) -> None:
    with pytest.raises(IncorefError, match="is a string or a number"):
        chat.say("Anna left.", id=value)
    with pytest.raises(IncorefError, match="is a string or a number"):
        chat.say("Anna left.", time=value)


def test_messages_are_said_and_strings_are_fed(chat: Session) -> None:
    assert chat.hear("Anna ") == chat.hear("left") == []
    assert [update.text for update in chat.hear(Message("Carl left", "Carl", 4))] == ["Anna left", "Carl left"]


def test_many_threads_share_a_model(resolver: Resolver) -> None:
    def run(seed: int) -> list[object]:
        chat = resolver.session(eviction="dual", max_entities=5)
        updates = [update for u in random_utterances(12, seed) for update in chat.say_words(u.words, u.speaker)]
        return [*updates, *chat.entities]

    expected = [run(seed) for seed in range(4)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(run, list(range(4)) * 3)) == expected * 3


def test_calls_to_one_session_from_many_threads_come_one_after_the_other(chat: Session) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: chat.say("Anna met Carl .", id=number), range(40)))
    updates = sorted((update for each in found for update in each), key=lambda update: update.sentence)
    assert [update.sentence for update in updates] == list(range(40))
    assert sorted(update.id for update in updates) == list(range(40))
    assert chat.text == "Anna met Carl .\n" * 40


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"setting": "k=0"}, "no setting 'k=0'"),
        ({"scheme": "klingon"}, "no scheme 'klingon'"),
        ({"genre": "opera"}, "no genre 'opera'"),
        ({"history": -1}, "history is -1"),
        ({"eviction": "random"}, "no eviction policy"),
        ({"colour": "red"}, "unknown option: colour; the options are setting, "),
    ],
)
def test_what_makes_no_sense_is_refused(rule_resolver: Resolver, options: dict[str, object], fault: str) -> None:
    with pytest.raises(IncorefError, match=fault):
        rule_resolver.session(**options)


GERMAN = "Der Mann ging mit seiner Frau. Sie sah einen Hund. Er lachte sehr laut. "


def test_text_that_is_hardly_english_is_said_to_be_so_once(rule_resolver: Resolver) -> None:
    english = rule_resolver.session().say("The dog left. Then they sat there and said this. It was late. " * 4)
    assert {update.warnings for update in english} == {()}
    told = [update.warnings for update in rule_resolver.session().say(GERMAN * 5)]
    assert [place for place, warnings in enumerate(told) if warnings] == [6], "after 30 words, and not again"
    assert told[6] == (HARDLY_ENGLISH,)
    chat = rule_resolver.session(undo=5)
    chat.say(GERMAN * 2)
    restored = rule_resolver.restore(chat.save())
    for session in (chat, restored):
        assert [update.warnings for update in session.say(GERMAN)] == [(HARDLY_ENGLISH,), (), ()]
    chat.undo()
    assert chat.say(GERMAN)[0].warnings == (HARDLY_ENGLISH,), "what is taken back was never said"
    assert {update.warnings for update in rule_resolver.restore(chat.save()).say(GERMAN * 5)} == {()}
    (update,) = rule_resolver.session().say("Это собака, она большая.")
    assert update.to_json()["warnings"] == [HARDLY_ENGLISH], "one sentence in another script is enough"


def test_a_long_sentence_is_interrupted_and_can_be_given_up(resolver: Resolver) -> None:
    session = resolver.session()
    session.say("Anna left .")
    before, calls = session.document(), list[int]()

    def give_up() -> None:
        calls.append(1)
        if len(calls) > 3:
            raise TimeoutError

    session.between_steps = give_up
    with pytest.raises(TimeoutError):
        session.say_words(["Anna", "and", "Carl"] * 60)
    assert session.document() == before
    session.between_steps = None
    mentions = session.say_words(["Anna", "and", "Carl"] * 60)[0].mentions
    assert len(mentions) > 3 * 8


@pytest.mark.slow
def test_memory_is_counted_with_the_transcript(resolver: Resolver) -> None:
    session = resolver.session(undo=0, max_entities=5)
    small = session.nbytes
    for text in ("The man saw the dog . " * 20, "\N{PILE OF POO}" * 2_000):
        before = session.nbytes
        for _ in range(50):
            session.say(text, "Carl")
        assert session.nbytes - before > 50 * len(text.encode())
    assert session.nbytes > small
