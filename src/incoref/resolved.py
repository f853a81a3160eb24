"""Text that says who is meant: third-person pronouns replaced by the names of their entities.

"Anna lost her keys. She called Ben." becomes "Anna lost Anna's keys. Anna called Ben." Only pronouns are replaced, so
what is replaced never lies inside something else that is; first and second persons stay, because the verb would no
longer agree, and so do reflexives. Works on any document whose entities have names.
"""

from __future__ import annotations

from incoref.naming import LONGEST
from incoref.types import Document, Entity, Mention

_POSSESSIVE = frozenset("his hers its their theirs".split())
_PLURAL = frozenset("they them their theirs".split())
_REPLACED = frozenset("he him she her it they them".split()) | _POSSESSIVE
_PERSONAL = _REPLACED | frozenset("i me my mine you your yours we us our ours this that these those".split())
_CLITICS = {"'re": " are", "’re": " are", "'ve": " have", "’ve": " have", "'ll": " will", "’ll": " will"}
_AFTER_OBJECT = frozenset(
    "a about after again against all along already also although always an and another any anything are around as "
    "at away back be because been before being both but by can could did do does down during each either ever every "
    "everything for forever from had has have he here how i if in inside into is it just later me might must my "
    "never no nor not nothing now of off often on once or out outside over past she should since so some something "
    "soon still than that the them then there these they this those though through to today together tomorrow "
    "tonight too toward towards twice under until up us was we were what when where whether which while who why will "
    "with without would yesterday yet you".split()
)
"""Words before which "her" is no possessive: "told her that", "asked her to"."""
_BEFORE_VERB = frozenset("have had has help helped helps hear heard let lets letting made make makes making".split())
"""Words after which "her" and a word are rather a subject and its verb: "made her laugh"."""


def resolved_text(document: Document) -> str:
    """The document's text with pronouns replaced."""
    pronouns: dict[int, tuple[Mention, Entity]] = {}
    longest: dict[int, int] = {}
    for entity in document.entities:
        for mention in entity.mentions:
            longest[mention.start] = max(mention.end, longest.get(mention.start, 0))
            if mention.text.lower() in _REPLACED and _is_telling(entity.name):
                pronouns[mention.start] = mention, entity
    parts, place = [], 0
    for start, (mention, entity) in sorted(pronouns.items()):
        possessive = _is_possessive(document, mention, starts_longer=longest[start] > mention.end)
        parts += [document.text[place:start], _in_place_of(mention.text, entity.name or "", possessive)]
        place = mention.end
        following = document.tokens[mention.tokens[1] : mention.tokens[1] + 1]
        if following and following[0].start == place and following[0].text in _CLITICS:
            parts.append(_CLITICS[following[0].text])
            place = following[0].end
    return "".join((*parts, document.text[place:]))


def _is_telling(name: str | None) -> bool:
    """Whether a name says more than a pronoun, and is not too long to be repeated."""
    words = (name or "").split()
    return 0 < len(words) <= LONGEST and not any(word.lower() in _PERSONAL for word in words)


def _is_possessive(document: Document, mention: Mention, *, starts_longer: bool) -> bool:
    pronoun = mention.text.lower()
    if pronoun != "her":
        return pronoun in _POSSESSIVE
    if starts_longer:
        return True
    first, end = mention.tokens
    in_sentence = document.sentences[mention.sentence].end
    following = [t.text.lower() for t in document.tokens[end : end + 2] if t.end <= in_sentence]
    if first and document.tokens[first - 1].text.lower() in _BEFORE_VERB:
        return False
    if len(following) > 1 and following[0].endswith("ly"):
        following = following[1:]
    return bool(following) and following[0][0].isalnum() and following[0] not in _AFTER_OBJECT


def _in_place_of(pronoun: str, name: str, possessive: bool) -> str:
    """The name, in the form that the pronoun has."""
    for article in ("a ", "an "):
        if name.lower().startswith(article):
            name = "the " + name[len(article) :]
    if possessive:
        name += "'" if pronoun.lower() in _PLURAL and name.endswith("s") else "'s"
    return name[0].upper() + name[1:] if pronoun[0].isupper() else name
