"""The features of all pairs of a text whose entities are known, as training needs them. Knows no vectors."""

from __future__ import annotations

from collections.abc import Sequence

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
    bucket,
)
from incoref.model.features.entities import (
    COLUMNS,
    COUNT,
    FIRST,
    GENDERS,
    OPENED,
    PRONOUN_BITS,
    SENTENCE,
    EntityFacts,
)
from incoref.model.features.mentions import MentionFacts


def classes_of_pairs(
    mentions: Sequence[MentionFacts], entity_of: npt.NDArray[np.int64], latest: npt.NDArray[np.int64]
) -> npt.NDArray[np.int8]:
    """The classes of every mention against every entity before it, (features, pairs), mention by mention.

    What ``EntityFacts.classes`` gives for one mention after the other, each joining its entity in ``entity_of``, but
    most features at once; ``latest`` is the latest mention of each pair's entity before the pair's own mention.
    """
    found = np.zeros((len(PAIR_FEATURES), len(latest)), np.int8)
    count, distance, sentences, match, agreement, speaker, nested, *rest = found
    name, gender, rank, opened, speech, told = rest
    known = EntityFacts()
    after = np.zeros((len(COLUMNS), len(mentions)), np.int64)  # the numbers of each mention's entity once it joined
    entities, done = [], 0
    for number, (mention, entity) in enumerate(zip(mentions, entity_of.tolist(), strict=True)):
        for other, kind in known.matches(mention).items():
            match[done + other] = kind
        if mention.speaker is not None:
            speaker[done : done + len(known)] = known.voice(mention, mention.speaker)
        if mention.name:
            name[done : done + len(known)] = known.naming(mention)
        if mention.is_he_or_she:
            rank[done : done + len(known)] = known.ranks(mention)
        if mention.concerns_quotations:
            speech[done : done + len(known)] = known.speech(mention)
            told[done : done + len(known)] = known.told(mention)
        entities.append(len(known))
        done += len(known)
        known.add(mention, entity)
        after[:, number] = known.numbers[:, entity]
    of_pair = np.repeat(np.arange(len(mentions)), entities)
    numbers = [(m.sentence, m.first, m.pronoun, m.gender) for m in mentions]
    sentence, first, pronoun, own_gender = np.array(numbers, np.int64).reshape(-1, 4).T
    count[:] = bucket(after[COUNT], COUNTS)[latest]
    distance[:] = bucket(of_pair - latest, DISTANCES)
    sentences[:] = bucket(sentence[of_pair] - after[SENTENCE][latest], SENTENCES)
    agreement[:] = AGREEMENT[pronoun[of_pair], (after[PRONOUN_BITS] & GENDERED_BITS)[latest]]
    nested[:] = after[FIRST][latest] >= first[of_pair]
    gender[:] = GENDER[own_gender[of_pair], after[GENDERS][latest]]
    opened[:] = after[OPENED][latest]
    return found
