"""What a mention and an entity have in common that can be read off their words, places and speakers.

Every feature of a (mention, entity) pair is a small class number. ``EntityFacts`` keeps, for all entities of a text,
what is needed to class a new mention against each of them at once, and is the one implementation for training,
evaluation and running. It knows words, not vectors.

The features:

- ``count``: mentions of the entity so far, in buckets that grow
- ``distance``: mentions since its latest one, in buckets
- ``sentences``: sentences since its latest one, in buckets
- ``match``: the best match of strings with any mention of the entity, see ``Match``
- ``agreement``: pronouns of the mention and the entity, see ``Agreement``
- ``speaker``: who speaks and is spoken to, see ``Voice``
- ``nested``: whether the entity's latest mention lies inside this one
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from incoref.entityrow import EntityRow


class Match(IntEnum):
    """How alike two mentions' words are; the higher, the more alike."""

    NONE = 0
    SHARED_WORD = 1
    SAME_HEAD = 2
    CONTAINED = 3  # one's content words contain the other's
    CONTAINED_SAME_HEAD = 4
    SAME_PRONOUN = 5
    SAME_STRING = 6  # articles dropped


class Agreement(IntEnum):
    """What the pronouns say about a mention and an entity."""

    NO_PRONOUN = 0  # neither has one
    ENTITY_HAS_PRONOUN = 1  # the mention is none, the entity has one that says he, she, it or they
    MENTION_IS_PRONOUN = 2  # the entity has none that says he, she, it or they
    SAME = 3
    OTHER = 4  # he against she, it against they, …
    OTHER_ONLY_PLURAL = 5  # he, she or it against they, which may be one person


class Voice(IntEnum):
    """Who says the mention, and who said or was addressed by the entity's first and second persons."""

    NO_SPEAKER = 0
    SAME_SPEAKER = 1  # neither is a first or second person; the entity's latest mention has the same speaker
    OTHER_SPEAKER = 2
    I_AM_THIS_I = 3
    I_AM_NOT_THIS_I = 4
    I_WAS_ADDRESSED = 5  # by another's "you" in the turn before
    I_SAID_YOU = 6
    I_AM_NAMED_SO = 7
    YOU_ARE_NOT_MY_I = 8
    YOU_SPOKE_BEFORE = 9  # the entity is the "I" of the turn before
    YOU_SPOKE_ONCE = 10
    YOU_AS_I_SAID = 11
    YOU_AS_ANOTHER_SAID = 12
    NAMED_SPEAKER = 13  # the mention is a name of a speaker, the entity that speaker's "I"
    FIRST_PERSON_ENTITY = 14  # the mention is a third person, the entity has an "I" or "you" of the same speaker
    OTHERS_FIRST_PERSON_ENTITY = 15


PAIR_FEATURES: dict[str, int] = {
    "count": 8,
    "distance": 11,
    "sentences": 10,
    "match": len(Match),
    "agreement": len(Agreement),
    "speaker": len(Voice),
    "nested": 2,
}
"""The features of a pair in order, with their numbers of classes."""

_COUNT_EDGES = np.array([2, 3, 4, 5, 8, 16, 32])
_DISTANCE_EDGES = np.array([2, 3, 4, 5, 8, 16, 32, 64, 128, 256])
_SENTENCE_EDGES = np.array([1, 2, 3, 4, 6, 9, 17, 33, 65])

_PRONOUNS: dict[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "he him his himself",
            "she her hers herself",
            "it its itself",
            "they them their theirs themselves themself",
            "i me my mine myself",
            "you your yours yourself yourselves thou thee thy thine",
            "we us our ours ourselves",
            "this that these those",
            "who whom whose which",
        ),
        start=1,
    )
    for word in words.split()
}
_FIRST_PERSON, _SECOND_PERSON = 5, 6
_PLURAL = 4
_GENDERED = (1, 2, 3, 4)
_GENDERED_BITS = sum(1 << number for number in _GENDERED)

_ARTICLES = frozenset("a an the".split())
_DETERMINERS = frozenset(
    "a an the this that these those my your his her its our their some any no every each another 's ’s ' ’".split()
)
_FUNCTION_WORDS = frozenset(
    "of in on at to for from by with about into over under between among through during against without within "
    "and or but nor as than that which who whom whose where when while is are was were be been being has have had "
    "do does did will would can could may might shall should must not n't "
    ", . ; : ! ? - -- – — ( ) [ ] \" “ ” ` `` ''".split()
)
_HEAD_ENDS = frozenset(
    "of in on at to for from by with about into over under between among through during against without within "
    "who whom whose which that where when , ; : ( [ - -- – —".split()
)


@dataclass(frozen=True, slots=True)
class MentionFacts:
    """What of a mention the features look at."""

    first: int
    """Number of its first token in the text."""
    sentence: int
    turn: int
    """Number of its speaker's turn."""
    string: str
    """Lower-case words without articles."""
    head: str
    content: frozenset[str]
    pronoun: int
    """Class of the pronoun that it is, or 0."""
    speaker: str | None

    @property
    def says_i(self) -> bool:
        """Whether its speaker speaks of themselves alone."""
        return self.pronoun == _FIRST_PERSON


def head_of(words: Sequence[str]) -> int:
    """Place of the head word by a rule of thumb: the last word before what follows a noun."""
    for place, word in enumerate(words):
        if place and word in _HEAD_ENDS:
            return place - 1
    end = len(words) - 1
    while end > 0 and words[end] in ("'s", "’s", "'", "’"):
        end -= 1
    return end


def _content_of(lower: Sequence[str]) -> frozenset[str]:
    return frozenset(word for word in lower if word not in _DETERMINERS and word not in _FUNCTION_WORDS)


def facts_of(words: Sequence[str], first: int, sentence: int, turn: int, speaker: str | None) -> MentionFacts:
    """Facts of the mention made of these words."""
    lower = [word.lower() for word in words]
    while len(lower) > 1 and lower[0] in _ARTICLES:
        lower = lower[1:]
    pronoun = _PRONOUNS.get(lower[0], 0) if len(lower) == 1 else 0
    head = lower[head_of(lower)]
    content = _content_of(lower)
    return MentionFacts(
        first=first,
        sentence=sentence,
        turn=turn,
        string=" ".join(lower),
        head=head,
        content=content,
        pronoun=pronoun,
        speaker=speaker,
    )


class EntityFacts:
    """The facts of all entities of a text, in order of foundation; grows with ``add``, and ``copy`` is cheap."""

    def __init__(self) -> None:
        self._numbers: npt.NDArray[np.int64] = np.zeros((len(_COLUMNS), 0), np.int64)
        self._mentions = 0
        self._strings: dict[str, frozenset[int]] = {}
        self._heads: dict[str, frozenset[int]] = {}
        self._words: dict[str, frozenset[int]] = {}
        self._contents: list[tuple[frozenset[str], ...]] = []
        self._speakers: dict[str, int] = {}
        self._names: dict[str, frozenset[int]] = {}  # speakers by the words of their names

    def __len__(self) -> int:
        return int(self._numbers.shape[1])

    def copy(self) -> EntityFacts:
        twin = EntityFacts.__new__(EntityFacts)
        twin._numbers = self._numbers.copy()
        twin._mentions = self._mentions
        twin._strings = self._strings.copy()
        twin._heads = self._heads.copy()
        twin._words = self._words.copy()
        twin._contents = self._contents.copy()
        twin._speakers = self._speakers.copy()
        twin._names = self._names.copy()
        return twin

    @property
    def mentions(self) -> int:
        """How many mentions have been added, those of entities that are gone included."""
        return self._mentions

    def rows(self) -> list[EntityRow]:
        """The facts of each entity apart."""
        strings: list[set[str]] = [set() for _ in range(len(self))]
        heads: list[set[str]] = [set() for _ in range(len(self))]
        for index, found in ((self._strings, strings), (self._heads, heads)):
            for key, entities in index.items():
                for entity in entities:
                    found[entity].add(key)
        names = {_NOBODY: None, **{number: name for name, number in self._speakers.items()}}
        return [
            EntityRow(
                count=row[_COUNT],
                latest=row[_LATEST],
                sentence=row[_SENTENCE],
                first=row[_FIRST],
                speaker=names[row[_SPEAKER]],
                pronouns=row[_PRONOUN_BITS],
                i_of=names[row[_FIRST_PERSON_OF]],
                i_turn=row[_FIRST_PERSON_TURN],
                you_by=names[row[_SECOND_PERSON_BY]],
                you_turn=row[_SECOND_PERSON_TURN],
                strings=frozenset(strings[entity]),
                heads=frozenset(heads[entity]),
                contents=self._contents[entity],
            )
            for entity, row in enumerate(self._numbers.T.tolist())
        ]

    @classmethod
    def from_rows(cls, rows: Sequence[EntityRow], mentions: int) -> EntityFacts:
        """Of these entities in this order, after so many mentions; speakers whom none of them needs are forgotten."""
        facts = cls()
        facts._mentions = mentions
        facts._numbers = np.zeros((len(_COLUMNS), len(rows)), np.int64)
        for entity, row in enumerate(rows):
            numbers = facts._numbers[:, entity]
            numbers[_COUNT], numbers[_LATEST] = row.count, row.latest
            numbers[_SENTENCE], numbers[_FIRST] = row.sentence, row.first
            numbers[_PRONOUN_BITS] = row.pronouns
            numbers[_SPEAKER] = facts._speaker_number(row.speaker)
            numbers[_FIRST_PERSON_OF], numbers[_FIRST_PERSON_TURN] = facts._speaker_number(row.i_of), row.i_turn
            numbers[_SECOND_PERSON_BY], numbers[_SECOND_PERSON_TURN] = facts._speaker_number(row.you_by), row.you_turn
            for index, keys in (
                (facts._strings, row.strings),
                (facts._heads, row.heads),
                (facts._words, frozenset[str]().union(*row.contents)),
            ):
                for key in keys:
                    _put(index, key, entity)
            facts._contents.append(row.contents)
        return facts

    def kept(self, numbers: Sequence[int]) -> EntityFacts:
        """Of these entities alone, renumbered in this order; what ``from_rows`` gives for their rows, but quicker."""
        place = {number: row for row, number in enumerate(numbers)}

        def left(index: dict[str, frozenset[int]]) -> dict[str, frozenset[int]]:
            found = ((key, [place[e] for e in entities if e in place]) for key, entities in index.items())
            return {key: _set_of(entities) for key, entities in found if entities}

        twin = EntityFacts()
        twin._mentions = self._mentions
        twin._numbers = self._numbers[:, list(numbers)]
        twin._strings, twin._heads, twin._words = left(self._strings), left(self._heads), left(self._words)
        twin._contents = [self._contents[number] for number in numbers]
        speakers = twin._numbers[[_SPEAKER, _FIRST_PERSON_OF, _SECOND_PERSON_BY]]
        needed = set(speakers.ravel().tolist())
        renumbered = np.full(len(self._speakers) + 1, _NOBODY)  # the last one for nobody
        for name, number in self._speakers.items():
            if number in needed:
                renumbered[number] = twin._speaker_number(name)
        twin._numbers[[_SPEAKER, _FIRST_PERSON_OF, _SECOND_PERSON_BY]] = renumbered[speakers]
        return twin

    def with_fewer_names(self, most: int) -> EntityFacts:
        """Of those with more than twice so many names only the first and the latest, ``most`` in all."""
        crowded = [entity for entity, contents in enumerate(self._contents) if len(contents) > 2 * most]
        if not crowded:
            return self
        rows = self.rows()
        for entity in crowded:
            row = rows[entity]
            contents = (*row.contents[: most // 2], *row.contents[most // 2 - most :])
            rows[entity] = replace(
                row,
                contents=contents,
                heads=row.heads & frozenset[str]().union(*contents),
                strings=frozenset(s for s in row.strings if s in _PRONOUNS or _content_of(s.split()) in contents),
            )
        return EntityFacts.from_rows(rows, self._mentions)

    def speaker_of(self, entity: int) -> str | None:
        """Whose "I" the entity is."""
        number = self._numbers[_FIRST_PERSON_OF, entity]
        return next((name for name, other in self._speakers.items() if other == number), None)

    def classes(self, mention: MentionFacts) -> npt.NDArray[np.int64]:
        """The classes of the mention against every entity, (features, entities), in the order of PAIR_FEATURES."""
        numbers = self._numbers
        found = np.zeros((len(PAIR_FEATURES), len(self)), np.int64)
        count, distance, sentences, match, agreement, speaker, nested = found
        count[:] = _bucket(numbers[_COUNT], _COUNT_EDGES)
        distance[:] = _bucket(self._mentions - numbers[_LATEST], _DISTANCE_EDGES)
        sentences[:] = _bucket(mention.sentence - numbers[_SENTENCE], _SENTENCE_EDGES)
        for entity, kind in self._matches(mention).items():
            match[entity] = kind
        agreement[:] = _AGREEMENT[mention.pronoun][numbers[_PRONOUN_BITS] & _GENDERED_BITS]
        if mention.speaker is not None:
            speaker[:] = self._voice(mention, mention.speaker)
        nested[:] = numbers[_FIRST] >= mention.first
        return found

    def _matches(self, mention: MentionFacts) -> dict[int, Match]:
        """The entities whose words match the mention's in some way, and how."""
        if mention.pronoun:
            return dict.fromkeys(self._strings.get(mention.string, ()), Match.SAME_PRONOUN)
        content = mention.content
        same_head = self._heads.get(mention.head, frozenset())
        found = {}
        for entity in same_head.union(*(self._words.get(word, ()) for word in content)):
            if any(content <= other or other <= content for other in self._contents[entity]):
                found[entity] = Match.CONTAINED_SAME_HEAD if entity in same_head else Match.CONTAINED
            else:
                found[entity] = Match.SAME_HEAD if entity in same_head else Match.SHARED_WORD
        return found | dict.fromkeys(self._strings.get(mention.string, ()), Match.SAME_STRING)

    def _voice(self, mention: MentionFacts, said_by: str) -> npt.NDArray[np.int64]:
        me = self._speakers.get(said_by, _STRANGER)
        numbers = self._numbers
        i_of, you_by = numbers[_FIRST_PERSON_OF], numbers[_SECOND_PERSON_BY]
        turn_before = mention.turn - 1
        mine, others = (i_of == me) & (i_of != _NOBODY), (i_of != me) & (i_of != _NOBODY)
        my_you, others_you = (you_by == me) & (you_by != _NOBODY), (you_by != me) & (you_by != _NOBODY)
        by_me = numbers[_SPEAKER] == me
        found = np.where(by_me, Voice.SAME_SPEAKER, Voice.OTHER_SPEAKER).astype(np.int64)
        if mention.pronoun == _FIRST_PERSON:
            found[my_you] = Voice.I_SAID_YOU
            found[others_you & (numbers[_SECOND_PERSON_TURN] == turn_before)] = Voice.I_WAS_ADDRESSED
            for word in name_words(said_by):
                found[list(self._words.get(word, ()))] = Voice.I_AM_NAMED_SO
            found[others] = Voice.I_AM_NOT_THIS_I
            found[mine] = Voice.I_AM_THIS_I
        elif mention.pronoun == _SECOND_PERSON:
            found[others_you] = Voice.YOU_AS_ANOTHER_SAID
            found[my_you] = Voice.YOU_AS_I_SAID
            found[others] = Voice.YOU_SPOKE_ONCE
            found[others & (numbers[_FIRST_PERSON_TURN] == turn_before)] = Voice.YOU_SPOKE_BEFORE
            found[mine] = Voice.YOU_ARE_NOT_MY_I
        else:
            found[mine | my_you] = Voice.FIRST_PERSON_ENTITY
            found[others | others_you] = Voice.OTHERS_FIRST_PERSON_ENTITY
            named = frozenset[int]().union(*(self._names.get(word, ()) for word in mention.content))
            for speaker in named:
                found[i_of == speaker] = Voice.NAMED_SPEAKER
        return found

    def add(self, mention: MentionFacts, entity: int) -> None:
        """Put the mention into the entity; a number one past the last founds it."""
        speaker = self._speaker_number(mention.speaker)
        if entity == len(self):
            self._numbers = np.concatenate((self._numbers, _NEW_ENTITY), axis=1)
            self._contents.append(())
        row = self._numbers[:, entity].tolist()
        row[_COUNT] += 1
        row[_LATEST] = self._mentions
        row[_SENTENCE] = mention.sentence
        row[_FIRST] = mention.first
        row[_SPEAKER] = speaker
        row[_PRONOUN_BITS] |= 1 << mention.pronoun if mention.pronoun else 0
        if mention.pronoun == _FIRST_PERSON:
            row[_FIRST_PERSON_OF], row[_FIRST_PERSON_TURN] = speaker, mention.turn
        elif mention.pronoun == _SECOND_PERSON:
            row[_SECOND_PERSON_BY], row[_SECOND_PERSON_TURN] = speaker, mention.turn
        self._numbers[:, entity] = row
        self._mentions += 1
        _put(self._strings, mention.string, entity)
        if not mention.pronoun:
            _put(self._heads, mention.head, entity)
            for word in mention.content:
                _put(self._words, word, entity)
            if mention.content and mention.content not in self._contents[entity]:
                self._contents[entity] = (*self._contents[entity], mention.content)

    def _speaker_number(self, name: str | None) -> int:
        if name is None:
            return _NOBODY
        if name not in self._speakers:
            self._speakers[name] = len(self._speakers)
            for word in name_words(name):
                _put(self._names, word, self._speakers[name])
        return self._speakers[name]


def classes_of_pairs(
    mentions: Sequence[MentionFacts], entity_of: npt.NDArray[np.int64], latest: npt.NDArray[np.int64]
) -> npt.NDArray[np.int8]:
    """The classes of every mention against every entity before it, (features, pairs), mention by mention.

    What ``EntityFacts.classes`` gives for one mention after the other, each joining its entity in ``entity_of``, but
    most features at once; ``latest`` is the latest mention of each pair's entity before the pair's own mention.
    """
    found = np.zeros((len(PAIR_FEATURES), len(latest)), np.int8)
    count, distance, sentences, match, agreement, speaker, nested = found
    known = EntityFacts()
    after = np.zeros((len(_COLUMNS), len(mentions)), np.int64)  # the numbers of each mention's entity once it joined
    entities, done = [], 0
    for number, (mention, entity) in enumerate(zip(mentions, entity_of.tolist(), strict=True)):
        for other, kind in known._matches(mention).items():
            match[done + other] = kind
        if mention.speaker is not None:
            speaker[done : done + len(known)] = known._voice(mention, mention.speaker)
        entities.append(len(known))
        done += len(known)
        known.add(mention, entity)
        after[:, number] = known._numbers[:, entity]
    of_pair = np.repeat(np.arange(len(mentions)), entities)
    sentence, first, pronoun = (
        np.array([(m.sentence, m.first, m.pronoun) for m in mentions], np.int64).reshape(-1, 3).T
    )
    count[:] = _bucket(after[_COUNT], _COUNT_EDGES)[latest]
    distance[:] = _bucket(of_pair - latest, _DISTANCE_EDGES)
    sentences[:] = _bucket(sentence[of_pair] - after[_SENTENCE][latest], _SENTENCE_EDGES)
    agreement[:] = _AGREEMENT[pronoun[of_pair], (after[_PRONOUN_BITS] & _GENDERED_BITS)[latest]]
    nested[:] = after[_FIRST][latest] >= first[of_pair]
    return found


def _bucket(values: npt.NDArray[np.int64], edges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.searchsorted(edges, values, side="right")


def _agreement(pronoun: int, said: int) -> Agreement:
    """Of a mention that is this pronoun (or 0) with an entity that was called he, she, it or they, as bits."""
    if pronoun not in _GENDERED:
        return Agreement.ENTITY_HAS_PRONOUN if said else Agreement.NO_PRONOUN
    if not said:
        return Agreement.MENTION_IS_PRONOUN
    if said & 1 << pronoun:
        return Agreement.SAME
    return Agreement.OTHER_ONLY_PLURAL if pronoun == _PLURAL or said == 1 << _PLURAL else Agreement.OTHER


_AGREEMENT = np.array(
    [
        [_agreement(pronoun, said) for said in range(_GENDERED_BITS + 1)]
        for pronoun in range(max(_PRONOUNS.values()) + 1)
    ]
)
"""``_agreement`` of every pronoun with every set of them."""


_COLUMNS = (
    "count",
    "latest mention",
    "sentence of it",
    "first token of it",
    "speaker of it",
    "pronouns as bits",
    "whose I it is",
    "turn of that",
    "who said you to it",
    "turn of that",
)
(
    _COUNT,
    _LATEST,
    _SENTENCE,
    _FIRST,
    _SPEAKER,
    _PRONOUN_BITS,
    _FIRST_PERSON_OF,
    _FIRST_PERSON_TURN,
    _SECOND_PERSON_BY,
    _SECOND_PERSON_TURN,
) = range(len(_COLUMNS))
_NOBODY, _STRANGER = -1, -2
_NEW_ENTITY = np.array([[0 if column in (_COUNT, _PRONOUN_BITS) else _NOBODY] for column in range(len(_COLUMNS))])


@lru_cache(maxsize=4096)
def name_words(speaker: str) -> tuple[str, ...]:
    """The words of a speaker's name: "FrankMessina" and "frank_messina" are frank and messina."""
    return tuple(word.lower() for word in re.findall(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![a-z])|\d+", speaker))


def _put(index: dict[str, frozenset[int]], key: str, entity: int) -> None:
    known = index.get(key)
    if known is None:
        index[key] = _set_of((entity,))
    elif entity not in known:
        index[key] = known | {entity}


def _set_of(entities: Sequence[int]) -> frozenset[int]:
    return _alone(entities[0]) if len(entities) == 1 else frozenset(entities)


@lru_cache(maxsize=1 << 14)
def _alone(entity: int) -> frozenset[int]:
    """One for all: most words belong to one entity, and states that are kept would have a set for each."""
    return frozenset((entity,))
