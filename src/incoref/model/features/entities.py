"""The facts of all entities of a text: what is needed to class a new mention against each of them at once.

The one implementation for training, evaluation and running. Knows words, not vectors.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence, Set
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from incoref.model.features.classes import (
    AGREEMENT,
    COUNTS,
    DISTANCES,
    GENDER,
    GENDERED_BITS,
    PAIR_FEATURES,
    SENTENCES,
    Match,
    Naming,
    Rank,
    Speech,
    Told,
    Voice,
    bucket,
)
from incoref.model.features.entity_row import NO_QUOTATION, EntityRow
from incoref.model.features.mentions import (
    FIRST_PERSON,
    PLURAL,
    PRONOUNS,
    SECOND_PERSON,
    MentionFacts,
    content_of,
    name_words,
)

COLUMNS = (
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
    "words in its names",
    "genders as bits",
    "whether its latest mention opened a sentence",
    "in which quotation it was I",
    "in which quotation it was you",
    "after which quotation it was spoken of",
    "whether it is the I of the text itself",
)
(
    COUNT,
    _LATEST,
    SENTENCE,
    FIRST,
    _SPEAKER,
    PRONOUN_BITS,
    _FIRST_PERSON_OF,
    _FIRST_PERSON_TURN,
    _SECOND_PERSON_BY,
    _SECOND_PERSON_TURN,
    _NAMED,
    GENDERS,
    OPENED,
    _I_QUOTED,
    _YOU_QUOTED,
    _TOLD,
    _TELLS,
) = range(len(COLUMNS))
_NOBODY, _STRANGER = -1, -2
_NEW_ENTITY = np.full((len(COLUMNS), 1), _NOBODY)
_NEW_ENTITY[[COUNT, PRONOUN_BITS, _NAMED, GENDERS, OPENED, _TELLS]] = 0
_NEW_ENTITY[[_I_QUOTED, _YOU_QUOTED, _TOLD]] = NO_QUOTATION

# NumPy takes long to make an array of what is no number, as members of these are.
_SPOKEN_BY = np.array([Voice.OTHER_SPEAKER, Voice.SAME_SPEAKER], np.int64)
_IS_NAMED = np.array([Naming.FIRST_NAME, Naming.OTHER_NAME], np.int64)


class EntityFacts:
    """The facts of all entities of a text, in order of foundation; grows with ``add``, and ``copy`` is cheap."""

    def __init__(self) -> None:
        self.numbers: npt.NDArray[np.int64] = np.zeros((len(COLUMNS), 0), np.int64)
        """The numbers of every entity, (columns, entities)."""
        self._mentions = 0
        self._strings: dict[str, frozenset[int]] = {}
        self._heads: dict[str, frozenset[int]] = {}
        self._words: dict[str, frozenset[int]] = {}
        self._called: dict[str, frozenset[int]] = {}  # entities by the words of their names
        self._contents: list[tuple[frozenset[str], ...]] = []
        self._speakers: dict[str, int] = {}
        self._names: dict[str, frozenset[int]] = {}  # speakers by the words of their names

    def __len__(self) -> int:
        return int(self.numbers.shape[1])

    @property
    def nbytes(self) -> int:
        """About how much memory it takes; copies share strings and sets, but not the tables of them."""
        tables = (self._strings, self._heads, self._words, self._called, self._speakers, self._names)
        return self.numbers.nbytes + sum(map(sys.getsizeof, (*tables, self._contents)))

    def copy(self) -> EntityFacts:
        twin = EntityFacts.__new__(EntityFacts)
        twin.numbers = self.numbers.copy()
        twin._mentions = self._mentions
        twin._strings = self._strings.copy()
        twin._heads = self._heads.copy()
        twin._words = self._words.copy()
        twin._called = self._called.copy()
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
        called: list[set[str]] = [set() for _ in range(len(self))]
        for index, found in ((self._strings, strings), (self._heads, heads), (self._called, called)):
            for key, entities in index.items():
                for entity in entities:
                    found[entity].add(key)
        names = {_NOBODY: None, **{number: name for name, number in self._speakers.items()}}
        return [
            EntityRow(
                count=row[COUNT],
                latest=row[_LATEST],
                sentence=row[SENTENCE],
                first=row[FIRST],
                speaker=names[row[_SPEAKER]],
                pronouns=row[PRONOUN_BITS],
                i_of=names[row[_FIRST_PERSON_OF]],
                i_turn=row[_FIRST_PERSON_TURN],
                you_by=names[row[_SECOND_PERSON_BY]],
                you_turn=row[_SECOND_PERSON_TURN],
                strings=frozenset(strings[entity]),
                heads=frozenset(heads[entity]),
                contents=self._contents[entity],
                names=frozenset(called[entity]),
                genders=row[GENDERS],
                opened=bool(row[OPENED]),
                i_quoted=row[_I_QUOTED],
                you_quoted=row[_YOU_QUOTED],
                told=row[_TOLD],
                tells=bool(row[_TELLS]),
            )
            for entity, row in enumerate(self.numbers.T.tolist())
        ]

    @classmethod
    def from_rows(cls, rows: Sequence[EntityRow], mentions: int) -> EntityFacts:
        """Of these entities in this order, after so many mentions; speakers whom none of them needs are forgotten."""
        facts = cls()
        facts._mentions = mentions
        facts.numbers = np.zeros((len(COLUMNS), len(rows)), np.int64)
        for entity, row in enumerate(rows):
            numbers = facts.numbers[:, entity]
            numbers[COUNT], numbers[_LATEST] = row.count, row.latest
            numbers[SENTENCE], numbers[FIRST] = row.sentence, row.first
            numbers[PRONOUN_BITS] = row.pronouns
            numbers[_SPEAKER] = facts._speaker_number(row.speaker)
            numbers[_FIRST_PERSON_OF], numbers[_FIRST_PERSON_TURN] = facts._speaker_number(row.i_of), row.i_turn
            numbers[_SECOND_PERSON_BY], numbers[_SECOND_PERSON_TURN] = facts._speaker_number(row.you_by), row.you_turn
            numbers[_NAMED], numbers[GENDERS], numbers[OPENED] = len(row.names), row.genders, row.opened
            numbers[_I_QUOTED], numbers[_YOU_QUOTED] = row.i_quoted, row.you_quoted
            numbers[_TOLD], numbers[_TELLS] = row.told, row.tells
            for index, keys in (
                (facts._strings, row.strings),
                (facts._heads, row.heads),
                (facts._words, frozenset[str]().union(*row.contents)),
                (facts._called, row.names),
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
        twin.numbers = self.numbers[:, list(numbers)]
        twin._strings, twin._heads, twin._words = left(self._strings), left(self._heads), left(self._words)
        twin._called = left(self._called)
        twin._contents = [self._contents[number] for number in numbers]
        speakers = twin.numbers[[_SPEAKER, _FIRST_PERSON_OF, _SECOND_PERSON_BY]]
        needed = set(speakers.ravel().tolist())
        renumbered = np.full(len(self._speakers) + 1, _NOBODY)  # the last one for nobody
        for name, number in self._speakers.items():
            if number in needed:
                renumbered[number] = twin._speaker_number(name)
        twin.numbers[[_SPEAKER, _FIRST_PERSON_OF, _SECOND_PERSON_BY]] = renumbered[speakers]
        return twin

    def trimmed(self, most: int) -> EntityFacts:
        """Without what would grow with the text though the entities don't.

        Of entities with more than twice so many names only the first and the latest stay, ``most`` in all; speakers
        stay whom an entity needs, once there are many others.
        """
        if len(self._speakers) > 4 * len(self) + most:
            return self.kept(range(len(self))).trimmed(most)
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
                strings=frozenset(s for s in row.strings if s in PRONOUNS or content_of(s.split()) in contents),
                names=row.names & frozenset[str]().union(*contents),
            )
        return EntityFacts.from_rows(rows, self._mentions)

    def speaker_of(self, entity: int) -> str | None:
        """Whose "I" the entity is."""
        number = self.numbers[_FIRST_PERSON_OF, entity]
        return next((name for name, other in self._speakers.items() if other == number), None)

    def is_called_they(self, entity: int) -> bool:
        """Whether "they" or the like has been said of the entity."""
        return bool(self.numbers[PRONOUN_BITS, entity] >> PLURAL & 1)

    def classes(self, mention: MentionFacts) -> npt.NDArray[np.int64]:
        """The classes of the mention against every entity, (features, entities), in the order of PAIR_FEATURES."""
        numbers = self.numbers
        found = np.zeros((len(PAIR_FEATURES), len(self)), np.int64)
        count, distance, sentences, match, agreement, speaker, nested, *rest = found
        name, gender, rank, opened, speech, told = rest
        count[:] = bucket(numbers[COUNT], COUNTS)
        distance[:] = bucket(self._mentions - numbers[_LATEST], DISTANCES)
        sentences[:] = bucket(mention.sentence - numbers[SENTENCE], SENTENCES)
        for entity, kind in self.matches(mention).items():
            match[entity] = kind
        agreement[:] = AGREEMENT[mention.pronoun][numbers[PRONOUN_BITS] & GENDERED_BITS]
        if mention.speaker is not None:
            speaker[:] = self.voice(mention, mention.speaker)
        nested[:] = numbers[FIRST] >= mention.first
        if mention.name:
            name[:] = self.naming(mention)
        gender[:] = GENDER[mention.gender][numbers[GENDERS]]
        if mention.is_he_or_she:
            rank[:] = self.ranks(mention)
        opened[:] = numbers[OPENED]
        if mention.concerns_quotations:
            speech[:] = self.speech(mention)
            told[:] = self.told(mention)
        return found

    def naming(self, mention: MentionFacts) -> npt.NDArray[np.int64]:
        """The class of ``Naming`` of every entity for a mention that is a name, (entities,)."""
        found: npt.NDArray[np.int64] = _IS_NAMED[(self.numbers[_NAMED] > 0).view(np.int8)]
        found[_found(self._called, mention.name)] = Naming.SHARED
        i_of = self.numbers[_FIRST_PERSON_OF]
        speakers = [speaker for speaker in _found(self._names, mention.name) if speaker in i_of]
        if speakers:  # it is the name of one who has said "I": the others who have are called otherwise
            found[i_of != _NOBODY] = Naming.OTHER_NAME
        for speaker in speakers:
            found[i_of == speaker] = Naming.SHARED
        return found

    def matches(self, mention: MentionFacts) -> dict[int, Match]:
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

    def ranks(self, mention: MentionFacts) -> npt.NDArray[np.int64]:
        """The class of ``Rank`` of every entity for a "he" or "she", (entities,)."""
        found = np.full(len(self), Rank.NONE, np.int64)
        such = np.flatnonzero(self.numbers[GENDERS] & mention.gender)
        latest_first = such[np.argsort(-self.numbers[_LATEST, such])]
        found[latest_first] = Rank.LATER
        found[latest_first[:1]], found[latest_first[1:2]] = Rank.FIRST, Rank.SECOND
        return found

    def voice(self, mention: MentionFacts, said_by: str) -> npt.NDArray[np.int64]:
        """The class of ``Voice`` of every entity for a mention that this speaker says, (entities,)."""
        me = self._speakers.get(said_by, _STRANGER)
        numbers = self.numbers
        i_of, you_by = numbers[_FIRST_PERSON_OF], numbers[_SECOND_PERSON_BY]
        turn_before = mention.turn - 1
        mine, my_you, by_me = i_of == me, you_by == me, numbers[_SPEAKER] == me  # never nobody
        others, others_you = (i_of != _NOBODY) > mine, (you_by != _NOBODY) > my_you
        found: npt.NDArray[np.int64] = _SPOKEN_BY[by_me.view(np.int8)]
        if mention.pronoun == FIRST_PERSON:
            found[my_you] = Voice.I_SAID_YOU
            found[others_you & (numbers[_SECOND_PERSON_TURN] == turn_before)] = Voice.I_WAS_ADDRESSED
            for word in name_words(said_by):
                found[list(self._words.get(word, ()))] = Voice.I_AM_NAMED_SO
            found[others] = Voice.I_AM_NOT_THIS_I
            found[mine] = Voice.I_AM_THIS_I
        elif mention.pronoun == SECOND_PERSON:
            found[others_you] = Voice.YOU_AS_ANOTHER_SAID
            found[my_you] = Voice.YOU_AS_I_SAID
            found[others] = Voice.YOU_SPOKE_ONCE
            found[others & (numbers[_FIRST_PERSON_TURN] == turn_before)] = Voice.YOU_SPOKE_BEFORE
            found[mine] = Voice.YOU_ARE_NOT_MY_I
        else:
            found[mine | my_you] = Voice.FIRST_PERSON_ENTITY
            found[others | others_you] = Voice.OTHERS_FIRST_PERSON_ENTITY
            for speaker in _found(self._names, mention.content):
                found[i_of == speaker] = Voice.NAMED_SPEAKER
        return found

    def speech(self, mention: MentionFacts) -> npt.NDArray[np.int64]:
        """The class of ``Speech`` of every entity, (entities,)."""
        number, inside, answers = mention.quoted
        i_quoted, you_quoted = self.numbers[_I_QUOTED], self.numbers[_YOU_QUOTED]
        tells = self.numbers[_TELLS] > 0
        found = np.zeros(len(self), np.int64)
        if mention.tells:
            found[:] = Speech.I_DO_NOT_TELL
            found[tells] = Speech.I_TELL
        elif inside and mention.pronoun in (FIRST_PERSON, SECOND_PERSON):
            says_i = mention.pronoun == FIRST_PERSON
            same, other = (i_quoted, you_quoted) if says_i else (you_quoted, i_quoted)
            person = 0 if says_i else Speech.YOU_HERE - Speech.I_HERE  # the classes of "you" follow those of "I"
            found[:] = Speech.I_OTHER + person
            found[same == number - 2] = Speech.I_TWO_BEFORE + person
            found[tells] = Speech.I_TOLD + person
            found[other == number - 1] = (Speech.I_ANSWER if answers else Speech.I_WAS_ADDRESSED) + person
            found[same == number - 1] = (Speech.I_BEFORE_ANSWER if answers else Speech.I_BEFORE) + person
            found[other == number] = Speech.NOT_ONESELF
            found[same == number] = Speech.I_HERE + person
        elif inside:
            found[you_quoted == number] = Speech.OF_ADDRESSEE
            found[i_quoted == number] = Speech.OF_SPEAKER
        else:
            if answers:
                found[you_quoted == number - 1] = Speech.ADDRESSEE_BEFORE_ANSWER
                found[i_quoted == number - 1] = Speech.SPEAKER_BEFORE_ANSWER
            found[you_quoted == number] = Speech.ADDRESSEE
            found[i_quoted == number] = Speech.SPEAKER
        return found

    def told(self, mention: MentionFacts) -> npt.NDArray[np.int64]:
        """The class of ``Told`` of every entity, (entities,)."""
        found = np.zeros(len(self), np.int64)
        number, inside, answers = mention.quoted
        if inside and mention.pronoun in (FIRST_PERSON, SECOND_PERSON):
            said = Told.I_WITHIN if mention.pronoun == FIRST_PERSON else Told.YOU_WITHIN
            found[self.numbers[_TOLD] == number - 1] = said + (2 if answers else 1)
            found[self.numbers[_TOLD] == number] = said
        return found

    def add(self, mention: MentionFacts, entity: int) -> None:
        """Put the mention into the entity; a number one past the last founds it."""
        speaker = self._speaker_number(mention.speaker)
        opens = not (self.numbers[SENTENCE] == mention.sentence).any()
        if entity == len(self):
            self.numbers = np.concatenate((self.numbers, _NEW_ENTITY), axis=1)
            self._contents.append(())
        row = self.numbers[:, entity].tolist()
        row[COUNT] += 1
        row[_LATEST] = self._mentions
        row[SENTENCE] = mention.sentence
        row[FIRST] = mention.first
        row[_SPEAKER] = speaker
        row[PRONOUN_BITS] |= 1 << mention.pronoun if mention.pronoun else 0
        if mention.pronoun == FIRST_PERSON:
            row[_FIRST_PERSON_OF], row[_FIRST_PERSON_TURN] = speaker, mention.turn
        elif mention.pronoun == SECOND_PERSON:
            row[_SECOND_PERSON_BY], row[_SECOND_PERSON_TURN] = speaker, mention.turn
        row[_NAMED] += sum(entity not in self._called.get(word, ()) for word in mention.name)
        row[GENDERS] |= mention.gender
        row[OPENED] = int(opens)
        if not mention.quoted.inside:
            row[_TOLD] = mention.quoted.number
            row[_TELLS] |= mention.tells
        elif mention.pronoun == FIRST_PERSON:
            row[_I_QUOTED] = mention.quoted.number
        elif mention.pronoun == SECOND_PERSON:
            row[_YOU_QUOTED] = mention.quoted.number
        self.numbers[:, entity] = row
        self._mentions += 1
        for word in mention.name:
            _put(self._called, word, entity)
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


def _put(index: dict[str, frozenset[int]], key: str, entity: int) -> None:
    known = index.get(key)
    if known is None:
        index[key] = _set_of((entity,))
    elif entity not in known:
        index[key] = known | {entity}


def _found(index: dict[str, frozenset[int]], words: Set[str]) -> list[int]:
    """What an index has under any of some words."""
    return list(frozenset[int]().union(*(index.get(word, ()) for word in words)))


def _set_of(entities: Sequence[int]) -> frozenset[int]:
    return _alone(entities[0]) if len(entities) == 1 else frozenset(entities)


@lru_cache(maxsize=1 << 14)
def _alone(entity: int) -> frozenset[int]:
    """One for all: most words belong to one entity, and states that are kept would have a set for each."""
    return frozenset((entity,))
