"""Resolved text: third-person pronouns replaced by their entities' names.

"Anna lost her keys. She called Ben." becomes "Anna lost Anna's keys. Anna called Ben." Only pronouns are replaced, so
replacements never overlap. A pronoun stays where a name would read badly: first and second person, because the verb
would no longer agree; reflexives; "he or she"; "they" for a singular name; and pronouns whose entity has no name
worth repeating. Works on any document whose entities have names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from incoref.session.names import is_plural, is_proper
from incoref.text.english import PRONOUNS, head_of
from incoref.types import Document, Mention

_LONGEST = 6
"""Maximum words of a name that is repeated."""

_POSSESSIVE = frozenset("his hers its their theirs".split())
_PLURAL = frozenset("they them their theirs".split())
REPLACED = frozenset("he him she her it they them".split()) | _POSSESSIVE
_CLITICS = {"re": " are", "ve": " have", "ll": " will", "s": " is", "d": " would"}
_OF_HAVE = {" is": " has", " would": " had"}
_AFTER_HAVE = frozenset("been become better come got gotten gone grown had risen".split())
"""Participles that follow "has" and hardly ever "is"; and "better", of "had better"."""
_PARTICIPLES = frozenset(
    "beaten begun bitten blown born bought broken brought built caught chosen done drawn driven drunk eaten fallen "
    "fed felt flown forgotten fought found frozen given heard held hidden kept known laid led left lent lost made "
    "meant met paid ridden rung said seen sent shaken shot shown slept sold sought spent spoken stolen stood struck "
    "stuck sung sunk swept sworn swum taken taught thought thrown told torn understood woken won worn wound "
    "written".split()
)
"""Participles that are no infinitives, irregular ones: "she'd sold" is "had", "she's sold" is "has" or "is"."""
_LIKE_INFINITIVES = frozenset(
    "beat become bet burst cast come cost cut hit hurt let put quit read run set shut split spread".split()
)
"""Participles that are infinitives, too: "she'd put" is "had" or "would"."""
_STATES = frozenset(
    "ashamed based bored born called concerned convinced dedicated delighted devoted disappointed divorced engaged "
    "excited exhausted interested involved known lost located married named needed pleased prepared retired "
    "satisfied scared scheduled supposed surprised tired used worried".split()
)
"""Participles that follow "is" rather than "has"."""
_OBJECTS = frozenset(
    "a an the his her its their my your our him them it me us that this these those what how himself herself".split()
)
"""Words before which a participle governs an object, so that "has" is before it."""
_ADVERBS = frozenset("almost already also always ever just long never not now often only since still then".split())
_PERSONS = frozenset("he him his she her hers".split())
_VAGUE = frozenset(
    "all another any anybody anyone anything both each eight either else everybody everyone everything few first "
    "five former four here hundred last latter many million more most much neither nine nobody none nothing now "
    "of one ones other others same second seven several six some somebody someone something such ten the then "
    "there third thirty thousand three today twenty two".split()
)
_QUANTIFIERS = frozenset(
    "almost any anyone each either every everyone few fewer half less many more most much nearly neither no "
    "nobody none nothing one whatever whoever".split()
)
"""First words that prevent repetition: "Every student lost every student's book" means something else."""
_INDEFINITE = ("a ", "an ", "another ", "some ")
_AFTER_OBJECT = frozenset(
    "a about after again against all along already also although always an and another any anymore anything are "
    "around as at away back be because been before being both but by can could did do does down during each "
    "either ever every everything everywhere first for forever from had has have he here how i if in inside into "
    "is it just later me might must my never no nor not nothing now of off often on once or out outside over past "
    "she should since so some something soon still than that the them then there these they this those though "
    "through to today together tomorrow tonight too toward towards twice under until up us was we were what when "
    "where whether which while who why will with without would yesterday yet you".split()
)
"""Words before which "her" isn't a possessive: "told her that", "asked her to"."""
_BEFORE_OBJECT = frozenset(
    "gave give given gives giving had has have hear heard help helped helps let lets letting made make makes "
    "making offer offered offering offers".split()
)
"""Words after which "her" is probably an object: "made her laugh", "gave her hope"."""
_TO_HOME = frozenset(
    "bring brings brought drive drove follow followed get got see saw send sent take takes took".split()
)
"""Words after which the "her" of "her home" isn't a possessive."""


def resolved_text(document: Document) -> str:
    """The document's text with pronouns replaced."""
    pronouns: dict[int, tuple[Mention, list[str]]] = {}
    for entity in document.entities:
        name = repeatable(entity.name)
        for mention in entity.mentions:
            if name and mention.text.lower() in REPLACED:
                pronouns[mention.start] = mention, name
    longest = longest_mentions(document)
    parts, place = [], 0
    for start, (mention, name) in sorted(pronouns.items()):
        possessive = is_possessive(document, mention, longest)
        if fits(document, mention, name, possessive):
            text, end = in_place_of(document, mention, name, possessive)
            parts += [document.text[place:start], text]
            place = end
    return "".join((*parts, document.text[place:]))


def longest_mentions(document: Document) -> dict[int, int]:
    """Maps each start of a mention to the end of the longest mention there."""
    longest: dict[int, int] = {}
    for mention in document.mentions:
        longest[mention.start] = max(mention.end, longest.get(mention.start, 0))
    return longest


def repeatable(name: str | None) -> list[str]:
    """The words of a name, if it is more than a pronoun and short enough to repeat."""
    words = (name or "").split()
    small = [word.lower().strip(",.;:\"'“”‘’") for word in words]
    if not 0 < len(words) <= _LONGEST or small[0] in _QUANTIFIERS:
        return []
    if all(word in _VAGUE or word.isdigit() for word in small) or any(word in PRONOUNS for word in small):
        return []
    whole = " ".join(words)
    odd = any(mark in whole for mark in '()[]"“”') or any(
        len(word) > 1 and word.endswith(("-", "–")) for word in words
    )
    return [] if odd or (any(word.endswith(",") for word in words) and not is_proper(words)) else words


def fits(document: Document, mention: Mention, name: Sequence[str], possessive: bool) -> bool:
    """Whether the sentence stays readable with this name in the pronoun's place."""
    pronoun, described = mention.text.lower(), not is_proper(name)
    if pronoun == "they" and not is_plural(name):
        return False
    if pronoun not in _PLURAL and is_plural(name) and (described or "and" in name):
        return False
    if possessive and described and head_of(name) != len(name) - 1:  # "the dog of the king's"
        return False
    if _clitic(document, mention) is None:
        return False
    first, end = mention.tokens
    before = [token.text.lower() for token in document.tokens[max(0, first - 2) : first]]
    after = [token.text.lower() for token in document.tokens[end : end + 2]]
    if after[:1] == [pronoun] or (len(after) == 2 and after[0] in ",-–—" and after[1] == pronoun):
        return False  # repeated
    alternatives = (before[::-1], after)  # "he or she"
    return not any(len(two) == 2 and two[0] in ("or", "/") and two[1] in REPLACED for two in alternatives)


def _clitic(document: Document, mention: Mention) -> tuple[str, int] | None:
    """The form after a name of a verb contracted with the pronoun, and where it ends; None if it is ambiguous."""
    following = document.tokens[mention.tokens[1] : mention.tokens[1] + 5]
    if not following or following[0].start != mention.end or following[0].text[0] not in "'’":
        return "", mention.end
    verb = _CLITICS.get(following[0].text[1:].lower())
    if verb is None:
        return "", mention.end
    if verb in _OF_HAVE:
        words = [token.text.lower() for token in following[1:]]
        while words and (words[0] in _ADVERBS or words[0].endswith("ly")):
            del words[0]
        have = _stands_for_have(verb, *(*words, "", "")[:2])
        if have is None:
            return None
        verb = _OF_HAVE[verb] if have else verb
    return verb, following[0].end


def _stands_for_have(verb: str, then: str, after: str) -> bool | None:
    """Whether "'s" or "'d" before these words is a form of "have"; None if it may be."""
    regular = then.endswith("ed") and then not in ("need", "feed", "speed", "succeed", "proceed", "exceed", "bleed")
    if verb == " would":
        if then in _LIKE_INFINITIVES:
            return None
        return then in _AFTER_HAVE or then in _PARTICIPLES or regular
    if then in _AFTER_HAVE:
        return True
    if not (regular or then in _PARTICIPLES) or then in _STATES:
        return False
    return True if after in _OBJECTS else None


def is_possessive(document: Document, mention: Mention, longest: Mapping[int, int]) -> bool:
    """Whether a pronoun is possessive, given the ends of the longest mentions: "her" is ambiguous."""
    pronoun = mention.text.lower()
    if pronoun != "her":
        return pronoun in _POSSESSIVE
    first, end = mention.tokens
    in_sentence = document.sentences[mention.sentence].end
    following = [t.text.lower() for t in document.tokens[end : end + 2] if t.end <= in_sentence]
    before = document.tokens[first - 1].text.lower() if first else ""
    if before in _TO_HOME and following[:1] == ["home"]:
        return False
    if longest[mention.start] > mention.end:
        return True
    if before in _BEFORE_OBJECT:
        return False
    if len(following) > 1 and following[0].endswith("ly"):
        following = following[1:]
    return bool(following) and following[0][0].isalnum() and following[0] not in _AFTER_OBJECT


def in_place_of(document: Document, mention: Mention, name: Sequence[str], possessive: bool) -> tuple[str, int]:
    """The name in the pronoun's form, with a contracted verb; and the end of the replaced text."""
    verb, end = _clitic(document, mention) or ("", mention.end)
    return in_the_form_of(mention.text, " ".join(name), possessive) + verb, end


def in_the_form_of(pronoun: str, name: str, possessive: bool) -> str:
    """The name in the pronoun's form."""
    for article in _INDEFINITE:
        if name.lower().startswith(article):
            name = "the " + name[len(article) :]
    if pronoun.lower() in _PERSONS and name.islower() and " " not in name:
        name = "the " + name
    if possessive:
        several = pronoun.lower() in _PLURAL or (pronoun.lower() == "its" and is_proper(name.split()))
        name += "'" if several and name.endswith("s") else "'s"
    return name[0].upper() + name[1:] if pronoun[0].isupper() else name
