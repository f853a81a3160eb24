"""Features of pairs by example."""

from __future__ import annotations

import numpy as np
import pytest

from incoref.model.features import REGISTRY, EntityStates, MentionFacts, Quoted, facts_of, name_words
from incoref.model.features.agreement import Agreement
from incoref.model.features.gender import Gender
from incoref.model.features.match import Match
from incoref.model.features.name import Naming
from incoref.model.features.narrated import NarratedNearQuote
from incoref.model.features.quote import QuoteRelation
from incoref.model.features.rank import Rank
from incoref.model.features.speaker import SpeakerRelation

NAMES = list(REGISTRY)


def fact(text: str, first: int = 0, sentence: int = 0, turn: int = 1, speaker: str | None = None) -> MentionFacts:
    return facts_of(text.split(), first, sentence, turn, speaker)


def class_of(feature: str, mention: MentionFacts, *entity: MentionFacts) -> int:
    """The class of a mention against an entity that has these mentions."""
    states = EntityStates()
    for known in entity:
        states.add(known, 0)
    return int(states.classes(mention)[NAMES.index(feature), 0])


@pytest.mark.parametrize(
    ("mention", "entity", "expected"),
    [
        ("the old man", "old man", Match.SAME_STRING),
        ("The Old Man", "the old man", Match.SAME_STRING),
        ("a man", "the man", Match.SAME_STRING),
        ("she", "She", Match.SAME_PRONOUN),
        ("she", "her", Match.NONE),
        ("the man", "the old man", Match.CONTAINED_SAME_HEAD),
        ("the man who left", "the man", Match.CONTAINED_SAME_HEAD),
        ("Hong Kong Island", "Hong Kong", Match.CONTAINED),
        ("the young man", "the old man", Match.SAME_HEAD),
        ("the man of the sea", "the sea of glass", Match.SHARED_WORD),
        ("the man", "a dog", Match.NONE),
        ("his dog", "his cat", Match.NONE),
        ("the man in black", "the man in white", Match.SAME_HEAD),
        ("Anna 's", "Anna", Match.CONTAINED_SAME_HEAD),
    ],
)
def test_match_of_strings(mention: str, entity: str, expected: Match) -> None:
    assert class_of("match", fact(mention), fact(entity)) == expected


def test_the_best_match_with_any_mention_counts() -> None:
    assert (
        class_of("match", fact("the old man"), fact("the man"), fact("he"), fact("an old man")) == Match.SAME_STRING
    )
    assert class_of("match", fact("he"), fact("the man"), fact("he")) == Match.SAME_PRONOUN


def test_words_of_several_mentions_are_not_mixed() -> None:
    """Old and sailor are words of the entity, but of no one mention that contains both."""
    found = class_of("match", fact("the old sailor"), fact("the old man"), fact("the sailor with a wooden leg"))
    assert found == Match.SAME_HEAD


@pytest.mark.parametrize(
    ("mention", "entity", "expected"),
    [
        ("Anna", ["the teacher"], Agreement.NO_PRONOUN),
        ("Anna", ["the teacher", "she"], Agreement.ENTITY_HAS_PRONOUN),
        ("I", ["she"], Agreement.ENTITY_HAS_PRONOUN),
        ("she", ["Anna"], Agreement.MENTION_IS_PRONOUN),
        ("she", ["I", "Anna"], Agreement.MENTION_IS_PRONOUN),
        ("her", ["Anna", "She"], Agreement.SAME),
        ("she", ["they", "her"], Agreement.SAME),
        ("he", ["she"], Agreement.OTHER),
        ("it", ["she", "they"], Agreement.OTHER),
        ("she", ["they"], Agreement.OTHER_ONLY_PLURAL),
        ("they", ["she"], Agreement.OTHER_ONLY_PLURAL),
        ("they", ["she", "he"], Agreement.OTHER_ONLY_PLURAL),
    ],
)
def test_agreement_of_pronouns(mention: str, entity: list[str], expected: Agreement) -> None:
    assert class_of("agreement", fact(mention), *map(fact, entity)) == expected


@pytest.mark.parametrize(
    ("mention", "name"),
    [
        ("Emma Woodhouse , handsome and rich", "emma woodhouse"),
        ("a Miss Taylor", "taylor"),
        ("the REV. MR. VILLARS", "villars"),
        ("Anna 's", "anna"),
        ("poor Isabella", "isabella"),
        ("Anna 's sister", ""),
        ("the Captain", ""),
        ("Your Uncle", ""),
        ("the Hong Kong of old", "hong kong"),
        ("I", ""),
        ("She", ""),
        ("the man", ""),
    ],
)
def test_names(mention: str, name: str) -> None:
    assert fact(mention).name == frozenset(name.split())


@pytest.mark.parametrize(
    ("mention", "entity", "expected"),
    [
        ("the teacher", ["Anna"], Naming.NO_NAME),
        ("she", ["Anna"], Naming.NO_NAME),
        ("Anna", ["the teacher", "she"], Naming.FIRST_NAME),
        ("Anna", ["Anna Black", "she"], Naming.SHARED),
        ("Mrs. Black", ["she", "Anna Black", "Anna"], Naming.SHARED),
        ("Miss Taylor", ["Miss Black"], Naming.OTHER_NAME),
        ("Anna", ["the teacher", "Berta", "she"], Naming.OTHER_NAME),
    ],
)
def test_names_of_a_mention_and_an_entity(mention: str, entity: list[str], expected: Naming) -> None:
    assert class_of("name", fact(mention), *map(fact, entity)) == expected


def test_the_name_of_a_speaker_is_not_anothers() -> None:
    states = EntityStates()
    for entity, speaker in enumerate(("Anna Black", "Carl")):
        states.add(fact("I", speaker=speaker), entity)
    states.add(fact("she", speaker="Carl"), 2)

    def names(text: str) -> list[int]:
        return states.classes(fact(text, speaker="Carl"))[NAMES.index("name")].tolist()

    assert names("Mrs. Black") == [Naming.SHARED, Naming.OTHER_NAME, Naming.FIRST_NAME]
    assert names("Berta") == [Naming.FIRST_NAME] * 3


@pytest.mark.parametrize(
    ("mention", "entity", "expected"),
    [
        ("she", ["Anna"], Gender.UNKNOWN),
        ("Anna", ["she"], Gender.UNKNOWN),
        ("she", ["Mrs. Black"], Gender.SAME),
        ("Miss Black", ["her"], Gender.SAME),
        ("her father", ["He"], Gender.SAME),
        ("his mother", ["a king"], Gender.OTHER),
        ("Mr. Black", ["Mrs. Black"], Gender.OTHER),
        ("he", ["the boy", "she"], Gender.BOTH),
        ("Lady Black 's brother", ["he"], Gender.SAME),
    ],
)
def test_genders(mention: str, entity: list[str], expected: Gender) -> None:
    assert class_of("gender", fact(mention), *map(fact, entity)) == expected


def test_the_rank_of_those_who_may_be_meant() -> None:
    states = EntityStates()
    for entity, text in enumerate(("Mrs. Black", "Carl", "the girl", "a king", "her")):
        states.add(fact(text), entity)
    none, first, second, later = Rank.NONE, Rank.FIRST, Rank.SECOND, Rank.LATER

    def ranks(text: str) -> list[int]:
        return states.classes(fact(text))[NAMES.index("rank")].tolist()

    assert ranks("she") == [later, none, second, none, first]
    assert ranks("him") == [none, none, none, first, none]
    assert ranks("the woman") == [Rank.NO_PRONOUN] * 5
    states.add(fact("Mrs. Black"), 0)
    assert ranks("hers") == [first, none, later, none, second]


def test_who_opened_a_sentence() -> None:
    states = EntityStates()
    for entity, sentence in ((0, 0), (1, 0), (2, 1), (1, 1), (0, 2)):
        states.add(fact("it", sentence=sentence), entity)
    assert states.classes(fact("it", sentence=2))[NAMES.index("opened")].tolist() == [1, 0, 1]


def said(text: str, speaker: str | None, turn: int) -> MentionFacts:
    return fact(text, turn=turn, speaker=speaker)


@pytest.mark.parametrize(
    ("mention", "entity", "expected"),
    [
        (said("I", None, 1), [said("I", None, 1)], SpeakerRelation.NO_SPEAKER),
        (said("the dog", "Anna", 2), [said("it", "Anna", 1)], SpeakerRelation.SAME_SPEAKER),
        (said("the dog", "Anna", 2), [said("it", "Carl", 1)], SpeakerRelation.OTHER_SPEAKER),
        (said("the dog", "Anna", 2), [said("it", "Anna", 1), said("it", "Carl", 2)], SpeakerRelation.OTHER_SPEAKER),
        (said("my", "Anna", 3), [said("I", "Anna", 1)], SpeakerRelation.I_AM_THIS_I),
        (said("I", "Anna", 2), [said("I", "Carl", 1)], SpeakerRelation.I_AM_NOT_THIS_I),
        (said("I", "Anna", 2), [said("you", "Carl", 1)], SpeakerRelation.I_WAS_ADDRESSED),
        (said("I", "Anna", 4), [said("you", "Carl", 1)], SpeakerRelation.OTHER_SPEAKER),
        (said("I", "Anna", 2), [said("you", "Anna", 2)], SpeakerRelation.I_SAID_YOU),
        (said("I", "AnnaBlack", 2), [said("Mrs. Black", "Carl", 1)], SpeakerRelation.I_HAVE_THIS_NAME),
        (said("you", "Anna", 2), [said("I", "Anna", 2)], SpeakerRelation.YOU_ARE_NOT_MY_I),
        (said("you", "Anna", 2), [said("I", "Carl", 1)], SpeakerRelation.YOU_SPOKE_BEFORE),
        (said("your", "Anna", 4), [said("me", "Carl", 1)], SpeakerRelation.YOU_SPOKE_ONCE),
        (said("you", "Anna", 3), [said("you", "Anna", 1)], SpeakerRelation.YOU_AS_I_SAID),
        (said("you", "Anna", 2), [said("you", "Carl", 1)], SpeakerRelation.YOU_AS_ANOTHER_SAID),
        (said("Carl", "Anna", 2), [said("I", "carl_smith", 1)], SpeakerRelation.NAMED_SPEAKER),
        (said("the teacher", "Anna", 2), [said("I", "Anna", 1)], SpeakerRelation.FIRST_PERSON_ENTITY),
        (said("the teacher", "Anna", 2), [said("you", "Anna", 1)], SpeakerRelation.FIRST_PERSON_ENTITY),
        (said("the teacher", "Anna", 2), [said("I", "Carl", 1)], SpeakerRelation.OTHERS_FIRST_PERSON_ENTITY),
    ],
)
def test_who_speaks(mention: MentionFacts, entity: list[MentionFacts], expected: SpeakerRelation) -> None:
    assert class_of("speaker", mention, *entity) == expected


def quoted(text: str, number: int, answers: bool = False) -> MentionFacts:
    """A mention in the quotation of this number."""
    return facts_of(text.split(), 0, 0, 0, None, Quoted(number, True, answers))


def outside(text: str, number: int, answers: bool = False) -> MentionFacts:
    """A mention outside of quotations, after that of this number."""
    return facts_of(text.split(), 0, 0, 0, None, Quoted(number, False, answers))


@pytest.mark.parametrize(
    ("mention", "entity", "expected"),
    [
        (outside("I", 0), [outside("my", 0)], QuoteRelation.NARRATOR),
        (outside("I", 1), [quoted("I", 1)], QuoteRelation.NOT_NARRATOR),
        (quoted("I", 1), [outside("me", 0)], QuoteRelation.I_NARRATOR),
        (quoted("I", 1), [outside("Anna", 0)], QuoteRelation.I_OTHER),
        (quoted("I", 2), [quoted("my", 2)], QuoteRelation.I_HERE),
        (quoted("I", 2), [quoted("you", 2)], QuoteRelation.NOT_ONESELF),
        (quoted("I", 2), [quoted("I", 1)], QuoteRelation.I_BEFORE),
        (quoted("I", 2, answers=True), [quoted("I", 1)], QuoteRelation.I_BEFORE_ANSWER),
        (quoted("I", 2), [quoted("you", 1)], QuoteRelation.I_WAS_ADDRESSED),
        (quoted("I", 2, answers=True), [quoted("you", 1)], QuoteRelation.I_ANSWER),
        (quoted("I", 3), [quoted("I", 1)], QuoteRelation.I_TWO_BEFORE),
        (quoted("I", 4), [quoted("I", 1)], QuoteRelation.I_OTHER),
        (quoted("you", 2), [quoted("your", 2)], QuoteRelation.YOU_HERE),
        (quoted("you", 2), [quoted("I", 2)], QuoteRelation.NOT_ONESELF),
        (quoted("you", 2), [quoted("you", 1)], QuoteRelation.YOU_BEFORE),
        (quoted("you", 2, answers=True), [quoted("you", 1)], QuoteRelation.YOU_BEFORE_ANSWER),
        (quoted("you", 2), [quoted("I", 1)], QuoteRelation.YOU_SPOKE),
        (quoted("you", 2, answers=True), [quoted("I", 1)], QuoteRelation.YOU_ARE_ANSWERED),
        (quoted("you", 3), [quoted("you", 1)], QuoteRelation.YOU_TWO_BEFORE),
        (quoted("you", 1), [outside("I", 0)], QuoteRelation.YOU_NARRATOR),
        (quoted("you", 1), [outside("Anna", 0)], QuoteRelation.YOU_OTHER),
        (quoted("he", 1), [quoted("I", 1)], QuoteRelation.OF_SPEAKER),
        (quoted("Anna", 1), [quoted("you", 1)], QuoteRelation.OF_ADDRESSEE),
        (outside("he", 1), [quoted("I", 1)], QuoteRelation.SPEAKER),
        (outside("he", 1), [quoted("you", 1)], QuoteRelation.ADDRESSEE),
        (outside("he", 2), [quoted("you", 1)], QuoteRelation.NONE),
        (outside("he", 2, answers=True), [quoted("you", 1)], QuoteRelation.ADDRESSEE_BEFORE_ANSWER),
        (outside("he", 2, answers=True), [quoted("I", 1)], QuoteRelation.SPEAKER_BEFORE_ANSWER),
        (outside("he", 0), [outside("Tom", 0)], QuoteRelation.NONE),
        (fact("I", speaker="Tom"), [fact("I", speaker="Eve")], QuoteRelation.NONE),
    ],
)
def test_who_speaks_in_quotations(mention: MentionFacts, entity: list[MentionFacts], expected: QuoteRelation) -> None:
    assert class_of("quote", mention, *entity) == expected


@pytest.mark.parametrize(
    ("mention", "entity", "expected"),
    [
        (quoted("I", 1), outside("Tom", 1), NarratedNearQuote.I_WITHIN),
        (quoted("I", 2), outside("Tom", 1), NarratedNearQuote.I_BETWEEN),
        (quoted("I", 2, answers=True), outside("Tom", 1), NarratedNearQuote.I_BEFORE_ANSWER),
        (quoted("I", 3), outside("Tom", 1), NarratedNearQuote.NONE),
        (quoted("I", 1), quoted("Tom", 1), NarratedNearQuote.NONE),
        (quoted("you", 1), outside("Tom", 1), NarratedNearQuote.YOU_WITHIN),
        (quoted("you", 2), outside("Tom", 1), NarratedNearQuote.YOU_BETWEEN),
        (quoted("you", 2, answers=True), outside("Tom", 1), NarratedNearQuote.YOU_BEFORE_ANSWER),
        (quoted("he", 1), outside("Tom", 1), NarratedNearQuote.NONE),
        (outside("he", 1), outside("Tom", 1), NarratedNearQuote.NONE),
    ],
)
def test_who_is_mentioned_near_a_quotation(
    mention: MentionFacts, entity: MentionFacts, expected: NarratedNearQuote
) -> None:
    assert class_of("narrated", mention, entity) == expected


def test_i_across_turns_finds_the_speakers_own_entity() -> None:
    """Anna: I … you. Carl: I … you. Anna: I."""
    states = EntityStates()
    for mention, entity in (
        (said("I", "Anna", 1), 0),
        (said("you", "Anna", 1), 1),
        (said("I", "Carl", 2), 1),
        (said("you", "Carl", 2), 0),
    ):
        states.add(mention, entity)

    def relations(mention: MentionFacts) -> list[int]:
        return states.classes(mention, ["speaker"])[0].tolist()

    not_mine = SpeakerRelation.I_AM_NOT_THIS_I
    assert relations(said("I", "Anna", 3)) == [SpeakerRelation.I_AM_THIS_I, not_mine]
    assert relations(said("you", "Anna", 3)) == [SpeakerRelation.YOU_ARE_NOT_MY_I, SpeakerRelation.YOU_SPOKE_BEFORE]
    assert relations(said("I", "Dora", 3)) == [not_mine, not_mine]


def test_a_name_that_others_say_belongs_to_the_speaker_who_bears_it() -> None:
    states = EntityStates()
    states.add(said("I", "Carl", 1), 0)
    states.add(said("I", "Berta", 2), 1)
    expected = [SpeakerRelation.NAMED_SPEAKER, SpeakerRelation.FIRST_PERSON_ENTITY]
    assert states.classes(said("Carl", "Berta", 2), ["speaker"])[0].tolist() == expected


@pytest.mark.parametrize(
    ("speaker", "words"),
    [
        ("FrankMessina", ("frank", "messina")),
        ("frank_messina", ("frank", "messina")),
        ("Jo Ann O'Neil", ("jo", "ann", "o", "neil")),
        ("SPEAKER_00", ("speaker", "00")),
        ("#12", ("12",)),
        ("", ()),
    ],
)
def test_words_of_a_speakers_name(speaker: str, words: tuple[str, ...]) -> None:
    assert name_words(speaker) == words


def test_a_mention_around_the_latest_one_is_told_from_one_after_it() -> None:
    inner = fact("his", first=3)
    assert class_of("nested", fact("the man in his house", first=0), inner) == 1
    assert class_of("nested", fact("his house", first=3), inner) == 1
    assert class_of("nested", fact("a house", first=4), inner) == 0


def test_counts_and_distances_fall_into_buckets_that_grow() -> None:
    states = EntityStates()
    seen = []
    for number in range(40):
        states.add(fact("it", first=number, sentence=number), 0)
        seen.append(int(states.classes(fact("it", 50, 60))[0, 0]))
    assert seen == [0, 1, 2, 3, *[4] * 3, *[5] * 8, *[6] * 16, *[7] * 9]
    states = EntityStates()
    states.add(fact("Anna"), 0)
    distances, sentences = [], []
    for number in range(300):
        count, distance, sentence = states.classes(fact("he", 50, number))[:3, 0].tolist()
        assert count == 0
        distances.append(distance)
        sentences.append(sentence)
        states.add(fact("it", first=1), 1)
    assert distances == [0, 1, 2, 3, *[4] * 3, *[5] * 8, *[6] * 16, *[7] * 32, *[8] * 64, *[9] * 128, *[10] * 45]
    assert sentences == [
        *[0, 1, 2, 3],
        *[4] * 2,
        *[5] * 3,
        *[6] * 8,
        *[7] * 16,
        *[8] * 32,
        *[9] * 235,
    ]


def test_no_entities_no_classes() -> None:
    assert EntityStates().classes(fact("Anna")).shape == (len(REGISTRY), 0)


def test_what_is_put_apart_can_be_put_together() -> None:
    states = EntityStates()
    for mention, entity in (
        (said("I", "Anna", 1), 0),
        (said("the old man", "Anna", 1), 1),
        (said("you", "Carl", 2), 0),
        (said("the man", None, 3), 1),
        (said("the sea", "Carl", 4), 2),
    ):
        states.add(mention, entity)
    again = EntityStates.of(states.rows(), states.mentions)
    for text in ("I", "you", "the man", "Anna", "an old sea"):
        for speaker in ("Anna", "Carl", "Dora", None):
            mention = said(text, speaker, 5)
            np.testing.assert_array_equal(again.classes(mention), states.classes(mention))
