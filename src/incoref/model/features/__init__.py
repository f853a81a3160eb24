"""What a mention and an entity have in common that can be read off their words, places and speakers.

Every feature of a (mention, entity) pair is a small class number.
"""

from __future__ import annotations

from incoref.model.features.classes import (
    PAIR_FEATURES,
    SPEAKER_FEATURE,
    SPEAKER_PRIOR,
    Agreement,
    Gender,
    Match,
    Naming,
    Rank,
    Speech,
    Told,
    Voice,
)
from incoref.model.features.entities import EntityFacts
from incoref.model.features.mentions import MentionFacts, facts_of, name_words
from incoref.model.features.pairs import classes_of_pairs
from incoref.model.features.quotations import NO_QUOTATIONS, QuotationState, Quoted, quotations

__all__ = [
    "NO_QUOTATIONS",
    "PAIR_FEATURES",
    "SPEAKER_FEATURE",
    "SPEAKER_PRIOR",
    "Agreement",
    "EntityFacts",
    "Gender",
    "Match",
    "MentionFacts",
    "Naming",
    "QuotationState",
    "Quoted",
    "Rank",
    "Speech",
    "Told",
    "Voice",
    "classes_of_pairs",
    "facts_of",
    "name_words",
    "quotations",
]
