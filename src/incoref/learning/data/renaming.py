"""Data augmentation: give the people of a text other names and genders, so that no particular name is memorised.

Training texts are few and are read many times, so an encoder soon knows their people by name. A man's name is
therefore replaced by that of a man in another text, a woman's by a woman's, consistently throughout the text. Gender
is inferred from the pronouns and titles of the gold entities; a name of both genders (a surname) stays, as does every
other word. With genders swapped, "he" becomes "she", "father" "mother", and men get women's names, so that what
someone does doesn't reveal their gender.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from incoref.model.features import facts_of
from incoref.text.english import COUNTERPARTS, FEMALE, MALE
from incoref.types import Document, Sentence


class Names:
    """The names of men and women in some documents."""

    def __init__(self, documents: Iterable[Document]) -> None:
        by_gender: dict[int, set[str]] = {MALE: set(), FEMALE: set()}
        small: set[str] = set()
        for document in documents:
            for word, gender in names_of(document).items():
                by_gender[gender].add(word)
            small.update(token.text for token in document.tokens if token.text.islower())
        self._of = {gender: sorted(names - small) for gender, names in by_gender.items()}

    def renamed(self, documents: Sequence[Document], rng: np.random.Generator, swap: bool = False) -> list[Document]:
        """Return annotations of one text, with names that don't occur in it.

        With ``swap``, genders are swapped too.
        """
        taken = {token.text.lower() for token in documents[0].tokens}
        others: dict[str, str] = {}
        named = names_of(documents[0])
        for gender, names in self._of.items():
            free = [name for name in names if name not in taken]
            wanted = (MALE + FEMALE - gender) if swap else gender
            own = [word for word in self._of[wanted] if named.get(word) == wanted]
            drawn = rng.permutation(len(free))[: len(own)]  # where there are too few, some keep their names
            others |= zip(own, (free[number] for number in drawn), strict=False)
        owners = _owners(documents) if swap else frozenset()
        with_other_names = []
        for document in documents:
            sentences, first = [], 0
            for sentence in document.sentences:
                renamed = _renamed(sentence, others)
                sentences.append(_swapped(renamed, first, owners) if swap else renamed)
                first += len(sentence.tokens)
            with_other_names.append(replace(document, sentences=tuple(sentences)))
        return with_other_names


def _owners(documents: Sequence[Document]) -> frozenset[int]:
    """Return the tokens that begin a multi-word mention: "her" in "her house" is one, in "saw her" it is not."""
    return frozenset(
        mention.tokens[0]
        for document in documents
        for mention in document.mentions
        if mention.tokens[1] - mention.tokens[0] > 1
    )


def _swapped(sentence: Sentence, first: int, owners: frozenset[int]) -> Sentence:
    """Replace words by those of the other gender in a sentence whose first word has index ``first``."""
    tokens = []
    for number, token in enumerate(sentence.tokens, first):
        lower = token.text.lower()
        if lower in ("his", "her"):
            owns = number in owners
            other = ("her" if owns else "hers") if lower == "his" else ("his" if owns else "him")
        else:
            other = COUNTERPARTS.get(lower, lower)
        if other != lower:
            token = token._replace(text=_written_like(token.text, other))
        tokens.append(token)
    return replace(sentence, tokens=tuple(tokens))


def _written_like(word: str, other: str) -> str:
    """Return ``other`` capitalised like ``word``."""
    if word.isupper() and len(word) > 1:
        return other.upper()
    return other.capitalize() if word[:1].isupper() else other


def names_of(document: Document) -> dict[str, int]:
    """Return the words, in lower case, that are names of only men or only women, with their gender."""
    words = [token.text for token in document.tokens]
    genders: dict[str, int] = {}
    for entity in document.entities:
        gender, names = 0, set[str]()
        for mention in entity.mentions:
            said = words[slice(*mention.tokens)]
            facts = facts_of(said, 0, 0, 0, None)
            gender |= facts.gender
            if all(word[:1].isupper() for word in said):  # else "the American", "his Aunt Betsey"
                names |= facts.name
        for name in names:
            genders[name] = genders.get(name, 0) | gender
    return {
        word: gender
        for word, gender in genders.items()
        if gender in (MALE, FEMALE) and word.isalpha() and len(word) > 1
    }


def _renamed(sentence: Sentence, others: dict[str, str]) -> Sentence:
    """Replace words of the sentence; the document's text stays as it is, since training doesn't use it."""
    tokens = []
    for token in sentence.tokens:
        other = others.get(token.text.lower()) if token.text[:1].isupper() else None
        if other is not None:
            token = token._replace(text=_written_like(token.text, other))
        tokens.append(token)
    return replace(sentence, tokens=tuple(tokens))
