"""How a mention's proper name and an entity's go together."""

from __future__ import annotations

import pytest

from incoref.model.features import EntityStates, facts_of
from incoref.model.features.alias import Alias


def alias_of(mention: str, *entities: str | tuple[str, ...]) -> list[str]:
    """The classes of a mention against entities, each given by the mentions it has had."""
    states, first = EntityStates(), 0
    for number, names in enumerate(entities):
        for name in (names,) if isinstance(names, str) else names:
            states.add(facts_of(name.split(), first, first, 0, None), number)
            first += 10
    classes = states.classes(facts_of(mention.split(), first, first, 0, None), ("alias",))
    return [Alias(int(found)).name for found in classes[0]]


@pytest.mark.parametrize(
    ("entity", "mention", "expected"),
    [
        ("Robert Hale", "Hale", "SURNAME"),
        ("Robert Hale", "Mr. Hale 's", "SURNAME"),
        ("Erik Lund", "Lund , 54 ,", "SURNAME"),
        ("Robert Hale", "Robert", "GIVEN_NAME"),
        ("Hale", "Robert Hale", "SURNAME"),
        ("Robert Hale", "Robert J. Hale", "SAME_ENDS"),
        ("Robert Hale", "Mary Hale", "OTHER_GIVEN_NAME"),
        ("Anna Lund", "Anna Hale", "OTHER_SURNAME"),
        ("Robert Hale", "Robert Hale", "SAME"),
        ("International Business Machines", "IBM", "INITIALS"),
        ("the FBI", "the Federal Bureau of Investigation", "INITIALS"),
        ("the United States", "the U.S.", "INITIALS"),
        ("Robert Hale", "he", "NONE"),
        ("Robert Hale", "the farmer", "NONE"),
        ("the farmer", "Hale", "NONE"),
    ],
)
def test_two_names(entity: str, mention: str, expected: str) -> None:
    assert alias_of(mention, entity) == [expected]


def test_a_surname_that_several_have() -> None:
    assert alias_of("Hale", "Robert Hale", "Mary Hale") == ["SURNAME_OF_SEVERAL", "SURNAME_OF_SEVERAL"]
    assert alias_of("Hale", ("Robert Hale", "Hale"), "Mary Hale") == ["SAME", "SURNAME_OF_SEVERAL"]


def test_the_surest_of_several_names_counts() -> None:
    assert alias_of("Robert Hale", ("Mary Hale", "Robert Hale")) == ["SAME"]
    assert alias_of("Mary Hale", ("Robert Hale", "Hale")) == ["SURNAME"]
