"""Other names and genders for the people of a text: what is learned of it then holds whatever they are called.

Few texts are learned from, and often: an encoder soon knows their people by name. So a man's name gives way to that
of a man in another text, a woman's to a woman's, everywhere in the text alike. Who is a man or a woman is told by the
pronouns and titles of the gold entities; a name that both have (a family's) stays, and so does anything else. Where
men and women change places, "he" becomes "she", "father" "mother", and men get the names of women: who does what is
then no sign of gender.
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
        """Annotations of one text, with names that others in it do not have.

        With ``swap``, men and women change places.
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
    """The words with which a longer mention begins: "her" in "her house" is one, in "saw her" it is not."""
    return frozenset(
        mention.tokens[0]
        for document in documents
        for mention in document.mentions
        if mention.tokens[1] - mention.tokens[0] > 1
    )


def _swapped(sentence: Sentence, first: int, owners: frozenset[int]) -> Sentence:
    """The sentence, whose first word has the number ``first``, with the words of the other gender."""
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
    """Another word with the capitals of the first."""
    if word.isupper() and len(word) > 1:
        return other.upper()
    return other.capitalize() if word[:1].isupper() else other


def names_of(document: Document) -> dict[str, int]:
    """The words, in lower case, that are names of men alone or of women alone, and of which."""
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
    """The sentence with other words for some; the text itself stays, as nothing is learned from it."""
    tokens = []
    for token in sentence.tokens:
        other = others.get(token.text.lower()) if token.text[:1].isupper() else None
        if other is not None:
            token = token._replace(text=_written_like(token.text, other))
        tokens.append(token)
    return replace(sentence, tokens=tuple(tokens))
