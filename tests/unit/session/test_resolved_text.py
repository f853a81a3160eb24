"""Pronouns give way to names in the right form, and nothing else changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incoref.session.resolved_text import resolved_text
from incoref.text import split
from incoref.types import Document, Entity, Mention

ENTITIES = {
    "a": "Anna",
    "b": "Ben",
    "d": "a dog",
    "w": "the workers",
    "m": "James",
    "n": "her notes",
    "p": "she",
    "u": None,
    "l": "a man who had come from far away to see the river",
    "g": "General Motors",
    "k": "the king of the hills",
    "e": "every student",
    "o": "another person",
    "t": "doctor",
    "v": "something else",
    "q": "loss) of it",
    "c": "the cars",
    "i": "Penn State",
    "h": "thr- three",
    "s": "Anna and Ben",
}


def marked(text: str) -> Document:
    """A document of a text in which mentions are marked: ``[she:a]``, nested too."""
    plain, spans, open_at = "", list[tuple[int, int, str]](), list[int]()
    for part in re.split(r"(\[|:\w\])", text):
        if part == "[":
            open_at.append(len(plain))
        elif part.startswith(":") and part.endswith("]"):
            spans.append((open_at.pop(), len(plain), part[1]))
        else:
            plain += part
    sentences = split(plain)
    tokens = [token for sentence in sentences for token in sentence.tokens]
    mentions: dict[str, list[Mention]] = {}
    for start, end, entity in sorted(spans):
        first = next(number for number, token in enumerate(tokens) if token.start == start)
        past = next(number for number, token in enumerate(tokens) if token.end == end) + 1
        sentence = next(number for number, sentence in enumerate(sentences) if sentence.end >= end)
        mentions.setdefault(entity, []).append(Mention(start, end, plain[start:end], (first, past), sentence, entity))
    entities = tuple(Entity(key, tuple(found), ENTITIES[key]) for key, found in mentions.items())
    return Document("marked", plain, tuple(sentences), entities)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[Anna:a] left. [She:a] was late.", "Anna left. Anna was late."),
        ("[Anna:a] lost [[her:a] keys:u].", "Anna lost Anna's keys."),
        ("[Ben:b] saw [her:a].", "Ben saw Anna."),
        ("[Ben:b] asked [her:a] to come.", "Ben asked Anna to come."),
        ("[Ben:b] told [her:a] quietly.", "Ben told Anna quietly."),
        ("[Ben:b] made [her:a] laugh.", "Ben made Anna laugh."),
        ("[Ben:b] liked [her:a] new house.", "Ben liked Anna's new house."),
        ("[Ben:b] liked [her:a] lovely house.", "Ben liked Anna's lovely house."),
        ("The book is [hers:a], not [his:b].", "The book is Anna's, not Ben's."),
        ("[A dog:d] barked. [It:d] ate [its:d] food.", "A dog barked. The dog ate the dog's food."),
        ("[The workers:w] ended [[their:w] strike:u].", "The workers ended the workers' strike."),
        ("[James:m] took [his:m] hat.", "James took James's hat."),
        ("[Anna:a] took [their:a] hat.", "Anna took Anna's hat."),
        ("[They:w]’re here; [they:w]'ve won.", "The workers are here; the workers have won."),
        (
            "[He:b]'s here. [He:b]’s been there. [She:a]'s got it.",
            "Ben is here. Ben has been there. Anna has got it.",
        ),
        (
            "[She:a]'d sing; [he:b]’d been asked; [he:b]'ll come.",
            "Anna would sing; Ben had been asked; Ben will come.",
        ),
        ("[She:a]'d sold it; [he:b]'d never written.", "Anna had sold it; Ben had never written."),
        ("[She:a]'s sold the house. [He:b]'s really tired.", "Anna has sold the house. Ben is really tired."),
        ("[She:a]'s left. [It:g]'s sold. [He:b]'d put it there.", "She's left. It's sold. He'd put it there."),
        ("[He:b]'d need help; [she:a]'d better go.", "Ben would need help; Anna had better go."),
        ("[It:g] sold [its:g] cars.", "General Motors sold General Motors' cars."),
        ("[He:k] took [his:k] crown.", "The king of the hills took his crown."),
        ("[The king:k] saw [her:a] first and took [her:a] home.", "The king saw Anna first and took Anna home."),
        ("[Ben:b] gave [her:a] hope.", "Ben gave Anna hope."),
        ("[Every student:e] lost [his:e] book.", "Every student lost his book."),
        ("[Another person:o] took [their:o] hat.", "Another person took the person's hat."),
        ("[He:t] took [his:t] hat.", "The doctor took the doctor's hat."),
        ("[It:v] broke [it:q] for [him:h].", "It broke it for him."),
        ("[They:i] have won; [their:i] team is good.", "They have won; Penn State's team is good."),
        ("[It:c] is red; [they:c] are red.", "It is red; the cars are red."),
        ("[They:s] left. [She:s] too.", "Anna and Ben left. She too."),
        ("Ask [him:b] or [her:a], whether [he:b] or she came.", "Ask him or her, whether he or she came."),
        ("[He:b], [he:b] said [it:c] [it:c].", "He, Ben said it it."),
        ("[I:a] saw [myself:a] with [you:b].", "I saw myself with you."),
        ("[Ben:b] hurt [himself:b].", "Ben hurt himself."),
        ("[She:p] saw [them:n] and [him:l] and [it:u].", "She saw them and him and it."),
        ("[The dog of [[her:a] brother:u]:d] barked.", "The dog of Anna's brother barked."),
        ("", ""),
        ("Nobody came.", "Nobody came."),
    ],
)
def test_pronouns_are_replaced(text: str, expected: str) -> None:
    assert resolved_text(marked(text)) == expected


WORD = st.sampled_from("She her his it they Ben Anna dog , . the saw and 're".split())


@given(st.lists(st.tuples(WORD, st.sampled_from([None, *ENTITIES])), max_size=25))
def test_what_is_no_pronoun_stays(words: list[tuple[str, str | None]]) -> None:
    text = " ".join(word if entity is None else f"[{word}:{entity}]" for word, entity in words)
    document = marked(text)
    resolved = resolved_text(document)
    rest = iter(resolved.split())
    for word, _ in words:
        if word.lower() not in "she her his it they 're".split():
            assert word in rest
