"""Shared Hypothesis strategies: documents with nested, crossing and repeated mentions, and singletons."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import strategies as st

from incoref.types import Attributes, Document, Entity, Mention, Sentence, Token

LETTERS = st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"))
TRICKY_WORDS = [
    "(",
    ")",
    "|",
    "-",
    "_",
    "*",
    "#",
    "#begin",
    '"',
    "=",
    "(1)",
    "1-2",
    "e\u0301",
    "👩‍👧",
    "שלום",
    "'s",
    "\u200b",
]
GENRES = [None, "news", "conversation", "fiction"]
SPEAKERS = [None, "Ann", "Bob", "Ana María", "Speaker#1"]


def words() -> st.SearchStrategy[str]:
    """Words without white space, often with a special meaning in some format."""
    return st.sampled_from(TRICKY_WORDS) | st.text(LETTERS, min_size=1, max_size=6)


def attribute_sets(names: st.SearchStrategy[str], values: st.SearchStrategy[str]) -> st.SearchStrategy[Attributes]:
    return st.dictionaries(names, values, max_size=3).map(lambda pairs: tuple(pairs.items()))


def odd_values() -> st.SearchStrategy[str]:
    """Field values with everything that could break a format."""
    pieces = ["a", "b-c", "d|e", "f=g", "_", "-", "*", "(h)", "[1/2]", " ", "\t", "\n", "%28", "#", "é", "Pseudo", ""]
    return st.lists(st.sampled_from(pieces), min_size=1, max_size=3).map("".join)


PLAIN_ATTRIBUTES = st.just(())


@st.composite
def documents(
    draw: st.DrawFn,
    *,
    free_spacing: bool = False,
    max_sentences: int = 3,
    max_words: int = 4,
    ids: st.SearchStrategy[str] | None = None,
    types: st.SearchStrategy[str | None] = st.none(),  # noqa: B008 (strategies are immutable)
    attributes: st.SearchStrategy[Attributes] = PLAIN_ATTRIBUTES,
) -> Document:
    """Documents with at least one word.

    Words are separated by single spaces and sentences by single line breaks or, with ``free_spacing``, by arbitrary
    white space. Entities are numbered in order of their first mention, unless ``ids`` provides other names.
    """
    rows = draw(st.lists(st.lists(words(), min_size=1, max_size=max_words), min_size=1, max_size=max_sentences))
    between_words = st.sampled_from([" ", " ", "", "\n", "  "]) if free_spacing else st.just(" ")
    between_sentences = st.sampled_from([" ", "\n", "\n\n", ""]) if free_spacing else st.just("\n")
    text = ""
    sentences: list[Sentence] = []
    for row in rows:
        text += draw(between_sentences) if sentences else ""
        tokens: list[Token] = []
        for word in row:
            text += draw(between_words) if tokens else ""
            tokens.append(Token(word, len(text), len(text) + len(word), draw(attributes)))
            text += word
        speaker = draw(st.sampled_from(SPEAKERS))
        sentences.append(Sentence(tokens[0].start, len(text), tuple(tokens), speaker, draw(attributes)))
    entities = draw(_entities(text, sentences, ids, types, attributes))
    name = draw(st.sampled_from(["doc", "nw/wsj/01", "GUM_news_x", "a document (1)", "x_1"]))
    return Document(name, text, tuple(sentences), entities, draw(st.sampled_from(GENRES)), draw(attributes))


@st.composite
def _entities(
    draw: st.DrawFn,
    text: str,
    sentences: list[Sentence],
    ids: st.SearchStrategy[str] | None,
    types: st.SearchStrategy[str | None],
    attributes: st.SearchStrategy[Attributes],
) -> tuple[Entity, ...]:
    tokens = [token for sentence in sentences for token in sentence.tokens]
    ends = list(accumulate(len(sentence) for sentence in sentences))
    places = st.integers(0, len(tokens) - 1)
    spans = st.tuples(places, places).map(lambda pair: (min(pair), max(pair) + 1))
    clusters = draw(st.lists(st.lists(spans, min_size=1, max_size=4), max_size=4))
    in_order = sorted(sorted(cluster, key=lambda span: (span[0], -span[1])) for cluster in clusters)
    in_order.sort(key=lambda cluster: (cluster[0][0], -cluster[0][1]))
    count = len(in_order)
    names = (
        [str(number) for number in range(count)]
        if ids is None
        else draw(st.lists(ids, min_size=count, max_size=count, unique=True))
    )
    entities = []
    for name, cluster in zip(names, in_order, strict=True):
        mentions = []
        for first, end in cluster:
            start, stop = tokens[first].start, tokens[end - 1].end
            sentence = next(number for number, last in enumerate(ends) if first < last)
            type = draw(types)
            extra = draw(attributes)
            mentions.append(
                Mention(start, stop, text[start:stop], (first, end), sentence, name, type, attributes=extra)
            )
        entities.append(Entity(name, tuple(mentions), type=mentions[0].type))
    return tuple(entities)
