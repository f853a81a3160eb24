"""Pair features: what a mention and an entity have in common, by their words, positions and speakers.

Each feature is one object in one file (``base`` explains how to add another). Importing this package registers them
in the order below, which is the order of a model's tables unless its folder says otherwise.
"""

from __future__ import annotations

# isort: off
from incoref.model.features.base import REGISTRY, PairFeature, class_counts, register, unregister
from incoref.model.features import count as count
from incoref.model.features import distance as distance
from incoref.model.features import sentences as sentences
from incoref.model.features import match as match
from incoref.model.features import agreement as agreement
from incoref.model.features import speaker as speaker
from incoref.model.features import nested as nested
from incoref.model.features import name as name
from incoref.model.features import alias as alias
from incoref.model.features import gender as gender
from incoref.model.features import rank as rank
from incoref.model.features import opened as opened
from incoref.model.features import quote as quote
from incoref.model.features import narrated as narrated
# isort: on

from incoref.model.features.fields import EntityState
from incoref.model.features.mention import MentionFacts, facts_of, name_words
from incoref.model.features.pairs import classes_of_pairs, pair_priors
from incoref.model.features.quotations import NO_QUOTATIONS, QuotationState, Quoted, quotations
from incoref.model.features.states import EntityStates

__all__ = [
    "NO_QUOTATIONS",
    "REGISTRY",
    "EntityState",
    "EntityStates",
    "MentionFacts",
    "PairFeature",
    "QuotationState",
    "Quoted",
    "class_counts",
    "classes_of_pairs",
    "facts_of",
    "name_words",
    "pair_priors",
    "quotations",
    "register",
    "unregister",
]
