"""Replaces mentions of a chunk by their entities' names: takes a range of a document, returns a passage.

A wrong name does more harm than a pronoun, so a mention is replaced only if its link is confident, its entity has a
name worth repeating, the chunk hasn't used the name yet (unless all mentions are requested), and the sentence stays
grammatical. Knows no session: the document may come from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, get_args

from incoref.errors import IncorefError
from incoref.memory.passages import Edit, NameDecision, Passage, edited
from incoref.model.features.quotations import QuotationState
from incoref.session.names import is_proper
from incoref.session.resolved_text import (
    REPLACED,
    fits,
    in_place_of,
    in_the_form_of,
    is_possessive,
    longest_mentions,
    repeatable,
)
from incoref.text.english import PRONOUNS, SECOND_PERSON, head_of
from incoref.types import Document, Entity, Given, Mention

Style = Literal["inline", "brackets", "facts"]
Which = Literal["first", "all"]

SURE = 0.5
"""The default minimum confidence."""

_SPEAKERS_POSSESSIVE = frozenset("my mine your yours".split())
_SPEAKERS = frozenset("i me my mine you your yours".split())
_AFTER_I = {"am": "is", "have": "has", "do": "does", "'m": " is", "’m": " is", "'ve": " has", "’ve": " has"}
"""Verb forms after "I", with their forms after a name."""
_AFTER_ANYONE = frozenset(
    "was had did will would can could should must may might 'll ’ll 'd ’d came gave got knew left made met said saw "
    "told took thought went wrote".split()
)
"""Verbs that are the same after "I" and after a name; so are those in -ed."""
_SHORTENED = {"'ll": " will", "’ll": " will", "'d": " would", "’d": " would"}
_DEFINITE = frozenset("the this that these those".split())
_CLITICS = ("'s", "’s", "'", "’")
_CODE = re.compile(r"^[ \t>]*(```+|~~~+).*?(?:^[ \t>]*\1|\Z)|`[^`\n]+`", re.DOTALL | re.MULTILINE)
"""What Markdown marks as code: between fences, up to the end of the text if the last one is missing, or backticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingOptions:
    """Which mentions to replace, and how."""

    style: Style = "inline"
    """``inline`` replaces a mention, ``brackets`` adds the name after it, ``facts`` adds a line before the chunk."""
    mentions: Which = "first"
    """``first`` names an entity once per chunk, ``all`` replaces every mention."""
    min_confidence: float = SURE
    """Minimum confidence of a mention's link."""
    short_names: bool = True
    """Whether "Kern" becomes "Anna Kern"."""
    descriptions: bool = False
    """Whether "the company" becomes "Helio"."""
    speakers: bool = False
    """Whether a speaker's "I" and "my" become the speaker's name, and "you" the addressee's."""
    quotations: bool = False
    """Whether the "I" and "you" of quotations are also replaced."""

    def __post_init__(self) -> None:
        for field, choices in (("style", get_args(Style)), ("mentions", get_args(Which))):
            if getattr(self, field) not in choices:
                raise IncorefError(f"no {field} '{getattr(self, field)}'; choose one of {', '.join(choices)}")
        if not 0 <= self.min_confidence <= 1:
            raise IncorefError(f"min_confidence is {self.min_confidence}; it is a probability, from 0 to 1")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A mention that could be replaced."""

    mention: Mention
    entity: Entity
    name: tuple[str, ...]
    """The words of the name; none if it isn't worth repeating."""
    kind: Literal["pronoun", "speaker", "short name", "description"]
    quoted: bool = False


def standing_alone(
    document: Document,
    start: int,
    original: str,
    options: NamingOptions,
    id: Given = None,
    speaker: str | None = None,
) -> Passage:
    """A range of a document as a self-contained passage.

    ``start`` is negative if there is white space before the document.
    """
    end = start + len(original)
    longest = longest_mentions(document)
    sure = _confidences(document)
    code = [match.span() for match in _CODE.finditer(document.text)]
    named: set[str] = set()
    edits: list[Edit] = []
    decisions: list[NameDecision] = []
    for item in _candidates(document, start, end, options):
        if isinstance(item, str):  # an entity that the text itself names here
            named.add(item)
            continue
        confidence = sure[item.mention.start, item.mention.end]
        reason = _objection(item, confidence, named, options)
        if any(first <= item.mention.start < past for first, past in code):
            reason = "code"
        if not reason:
            edit = _edit(document, item, longest, options.style)
            if edit is None or (edits and edit.start < edits[-1].end + start):
                reason = "grammar"
            else:
                edits.append(Edit(edit.start - start, edit.end - start, edit.text))
                named.add(item.entity.id)
        mention = item.mention
        decisions.append(
            NameDecision(
                start=mention.start - start,
                end=mention.end - start,
                text=mention.text,
                entity=item.entity.id,
                name=" ".join(item.name) or None,
                confidence=confidence,
                named=not reason,
                reason=reason or "named",
            )
        )
    if options.style == "facts":
        line = _who_is_who([choice for choice in decisions if choice.named])
        edits = [Edit(0, 0, line)] if line else []
    return Passage(id, original, edited(original, edits), tuple(decisions), tuple(edits), speaker)


def _candidates(document: Document, start: int, end: int, options: NamingOptions) -> Iterator[_Candidate | str]:
    """In order: mentions that could be named, and ids of entities where the text itself gives the name."""
    names = {entity.id: _words_of_name(entity.name) for entity in document.entities}
    inside = [
        (mention, entity)
        for entity in document.entities
        for mention in entity.mentions
        if start <= mention.start and mention.end <= end
    ]
    inside.sort(key=lambda pair: (pair[0].start, -pair[0].end))
    quoted = _quoted_tokens(document) if options.speakers or options.quotations else set()
    for mention, entity in inside:
        name, text = names[entity.id], mention.text.lower()
        if text in REPLACED:
            yield _Candidate(mention, entity, name, "pronoun")
        elif text in _SPEAKERS:
            is_quoted = mention.tokens[0] in quoted
            if options.speakers or (is_quoted and options.quotations):
                yield _Candidate(mention, entity, name, "speaker", is_quoted)
        elif PRONOUNS.get(text) is None and name:
            words = _without_clitic(mention.text.split())
            if _is_part(words, name):
                if options.short_names and _can_be_longer(document, mention):
                    yield _Candidate(mention, entity, name, "short name")
                else:
                    yield entity.id
            elif " ".join(name).lower() in text:
                yield entity.id
            elif options.descriptions and words[0].lower() in _DEFINITE and is_proper(name):
                yield _Candidate(mention, entity, name, "description")


def _words_of_name(name: str | None) -> tuple[str, ...]:
    """The words of a name that can be repeated: of "Ben Weber, an engineer" and "my brother, Ben" the name alone."""
    if words := repeatable(name):
        return tuple(words)
    words, *others = (part.split() for part in (name or "").split(","))
    if words and PRONOUNS.get(words[0].lower()):
        common = next((place for place, word in reversed(list(enumerate(words))) if not word[0].isupper()), -1)
        head = head_of(words)
        words = words[common + 1 :] if head > common else others[0] if others and head == len(words) - 1 else []
    return tuple(repeatable(" ".join(words))) if words and is_proper(words) else ()


def _objection(item: _Candidate, confidence: float, named: set[str], options: NamingOptions) -> str:
    """The reason not to replace a mention, in any style; empty if there is none."""
    if item.quoted and not options.quotations:
        return "quotation"
    if not item.name:
        return "no name"
    if item.entity.id in named and (options.mentions == "first" or item.kind in ("short name", "description")):
        return "already named"
    if confidence < options.min_confidence:
        return "unsure"
    return ""


def _confidences(document: Document) -> dict[tuple[int, int], float]:
    """The confidence of each mention's referent, by offsets.

    A pronoun linked to another pronoun can't be more certain than that one: confidences are multiplied back to the
    latest mention that is more than a pronoun. Gold mentions have confidence 1.
    """
    sure: dict[tuple[int, int], float] = {}
    for entity in document.entities:
        chain = 1.0
        for mention in entity.mentions:
            link = 1.0 if mention.confidence is None else mention.confidence
            pronoun = mention.text.lower() in PRONOUNS
            chain = chain * link if pronoun else 1.0
            sure[mention.start, mention.end] = chain if pronoun else link
    return sure


def _edit(document: Document, item: _Candidate, longest: dict[int, int], style: Style) -> Edit | None:
    """The edit that replaces a mention; None if the sentence would read badly."""
    mention, name = item.mention, " ".join(item.name)
    if item.kind in ("short name", "description"):
        clitic = next((mark for mark in _CLITICS if mention.text.endswith(mark)), "")
        end = mention.end - len(clitic)
        if style == "inline":
            capital = mention.text[0].isupper() and item.kind == "description"
            return Edit(mention.start, end, name[0].upper() + name[1:] if capital else name)
        return Edit(end, end, f" [{name}]")
    if item.kind == "pronoun":
        possessive = is_possessive(document, mention, longest)
        if style == "inline":
            if not fits(document, mention, item.name, possessive):
                return None
            text, end = in_place_of(document, mention, item.name, possessive)
            return Edit(mention.start, end, text)
    else:
        possessive = mention.text.lower() in _SPEAKERS_POSSESSIVE
        if style == "inline":
            return _speaker_by_name(document, mention, name, possessive)
    pronoun = mention.text.lower() if item.kind == "pronoun" else "he"
    return Edit(mention.end, mention.end, f" [{in_the_form_of(pronoun, name, possessive)}]")


def _speaker_by_name(document: Document, mention: Mention, name: str, possessive: bool) -> Edit | None:
    """A speaker's name in the place of "I", "me" or "my", with the verb that agrees with it."""
    pronoun = mention.text.lower()
    text = in_the_form_of("he", name, possessive)
    if PRONOUNS[pronoun] == SECOND_PERSON and not possessive:
        return None
    if pronoun != "i":
        return Edit(mention.start, mention.end, text)
    following = document.tokens[mention.tokens[1] : mention.tokens[1] + 1]
    verb = following[0].text.lower() if following else ""
    if verb in _AFTER_I:
        shape = _AFTER_I[verb]
        between = "" if shape.startswith(" ") else document.text[mention.end : following[0].start]
        return Edit(mention.start, following[0].end, text + between + shape)
    if verb in _SHORTENED:
        return Edit(mention.start, following[0].end, text + _SHORTENED[verb])
    agrees = verb in _AFTER_ANYONE or verb.endswith("ed")
    return Edit(mention.start, mention.end, text) if agrees else None


def _who_is_who(named: Sequence[NameDecision]) -> str:
    """A line that lists the referents of a chunk's mentions."""
    order = {choice.text.lower(): place for place, choice in reversed(list(enumerate(named)))}
    parts = []
    for _, same in groupby(sorted(named, key=lambda choice: order[choice.text.lower()]), lambda c: c.text.lower()):
        choices = list(same)
        names = list(dict.fromkeys(choice.name or "" for choice in choices))
        parts.append(f"{choices[0].text} = {', then '.join(names)}")
    return f"({'; '.join(parts)})\n" if parts else ""


def _quoted_tokens(document: Document) -> set[int]:
    """Numbers of the tokens inside quotation marks."""
    state, number, quoted = QuotationState(), 0, set[int]()
    for sentence in document.sentences:
        words = [token.text for token in sentence.tokens]
        places, state = state.scan(words)
        quoted.update(number + place for place, where in enumerate(places) if where.inside)
        number += len(words)
    return quoted


def _without_clitic(words: Sequence[str]) -> list[str]:
    """Words of a mention without the possessive's ending."""
    text = " ".join(words)
    for clitic in _CLITICS:
        text = text.removesuffix(clitic)
    return text.split()


def _is_part(words: Sequence[str], name: Sequence[str]) -> bool:
    """Whether the words are a stretch of one's longer name: "Kern" of "Anna Kern", but not of "Anna and Tom Kern"."""
    if "and" in name or not 0 < len(words) < len(name) or not is_proper(name) or not is_proper(words):
        return False
    return any([*words] == [*name[at : at + len(words)]] for at in range(len(name)))


def _can_be_longer(document: Document, mention: Mention) -> bool:
    """Whether a short name isn't part of a longer one, such as "Mr. Kern" or "Kern Industries"."""
    first, end = mention.tokens
    sentence = document.sentences[mention.sentence]
    beside = [document.tokens[place] for place in (first - 1, end) if 0 <= place < len(document.tokens)]
    return not any(
        (token.text[0].isupper() and sentence.start < token.start < sentence.end)
        or token.text.lower().rstrip(".") in ("mr", "mrs", "ms", "dr", "prof", "sir", "lady")
        for token in beside
    )
