"""English word lists and heuristics based on them: pronouns, titles, gendered words, head words."""

from __future__ import annotations

from collections.abc import Sequence

PRONOUNS: dict[str, int] = {
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
HE, SHE = 1, 2
FIRST_PERSON, SECOND_PERSON = 5, 6
PLURAL = 4
GENDERED = (1, 2, 3, 4)

ARTICLES = frozenset("a an the".split())
DETERMINERS = frozenset(
    "a an the this that these those my your his her its our their some any no every each another 's ’s ' ’".split()
)
FUNCTION_WORDS = frozenset(
    "of in on at to for from by with about into over under between among through during against without within "
    "and or but nor as than that which who whom whose where when while is are was were be been being has have had "
    "do does did will would can could may might shall should must not n't "
    ", . ; : ! ? - -- – — ( ) [ ] \" “ ” ` `` ''".split()
)
_HEAD_ENDS = frozenset(
    "of in on at to for from by with about into over under between among through during against without within "
    "who whom whose which that where when , ; : ( [ - -- – —".split()
)
MALE, FEMALE = 1, 2
GENDER_OF_WORD: dict[str, int] = {
    word: gender
    for gender, words in (
        (
            MALE,
            "he him his himself mr mr. mister sir lord king prince duke baron emperor monsieur father papa dad daddy "
            "grandfather grandpa uncle son grandson brother nephew husband man gentleman boy lad widower",
        ),
        (
            FEMALE,
            "she her hers herself mrs mrs. ms ms. miss madam madame mademoiselle lady queen princess duchess "
            "countess baroness empress mother mamma mama mum mom mommy grandmother grandma aunt daughter "
            "granddaughter sister niece wife woman girl lass widow",
        ),
    )
    for word in words.split()
}
COUNTERPARTS: dict[str, str] = {
    one: other
    for pair in (
        "he she",
        "himself herself",
        "mr mrs",
        "mr. mrs.",
        "sir madam",
        "lord lady",
        "king queen",
        "prince princess",
        "duke duchess",
        "baron baroness",
        "emperor empress",
        "monsieur madame",
        "father mother",
        "papa mamma",
        "dad mom",
        "daddy mommy",
        "grandfather grandmother",
        "grandpa grandma",
        "uncle aunt",
        "son daughter",
        "grandson granddaughter",
        "brother sister",
        "nephew niece",
        "husband wife",
        "man woman",
        "men women",
        "gentleman lady",
        "boy girl",
        "boys girls",
        "brothers sisters",
        "sons daughters",
        "lad lass",
        "widower widow",
    )
    for one, other in (pair.split(), pair.split()[::-1])
} | {"lady": "lord", "miss": "mr", "ms": "mr", "ms.": "mr.", "him": "her", "hers": "his"}
"""Gendered words and their counterparts; those of "his" and "her" depend on what follows."""
TITLES = frozenset(GENDER_OF_WORD) | frozenset(
    "dr dr. doctor prof prof. professor rev rev. reverend st st. saint capt capt. captain col col. colonel gen gen. "
    "general lieut. lieutenant sergeant sgt. corporal major count master judge president senator sen. rep. gov. "
    "governor bishop pope cousin".split()
)
"""Words that precede names but aren't names by themselves."""


def head_of(words: Sequence[str]) -> int:
    """Return the index of the head word by a heuristic: the last word before a preposition, clause or comma."""
    for place, word in enumerate(words):
        if place and word in _HEAD_ENDS:
            return place - 1
    end = len(words) - 1
    while end > 0 and words[end] in ("'s", "’s", "'", "’"):
        end -= 1
    return end


def content_words(lower: Sequence[str]) -> frozenset[str]:
    """Return the words, given in lower case, that are neither determiners nor function words."""
    return frozenset(word for word in lower if word not in DETERMINERS and word not in FUNCTION_WORDS)
