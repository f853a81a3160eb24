"""The LangChain adapter with the real package."""

from __future__ import annotations

import pytest

from incoref.errors import IncorefError
from incoref.resolver import Resolver

pytest.importorskip("langchain_core", reason="needs the package 'langchain-core' (extra 'langchain')")

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda

from incoref.integrations.langchain import CorefChatHistory, CorefTransformer


def test_documents_stand_alone(rule_resolver: Resolver) -> None:
    documents = [
        Document("Anna left.", metadata={"source": "a", "start_index": 0}),
        Document("Carl came.", metadata={"source": "b"}, id="7"),
        Document("She slept.", metadata={"source": "a", "start_index": 11}),
    ]
    answered = CorefTransformer(rule_resolver).transform_documents(documents)
    assert [document.page_content for document in answered] == ["Anna left.", "Carl came.", "Anna slept."]
    assert answered[1].id == "7"
    assert answered[2].metadata == {"source": "a", "start_index": 11, "original_text": "She slept."}
    assert documents[2].page_content == "She slept."


async def _transformed(rule_resolver: Resolver) -> str:
    documents = [Document("Anna left."), Document("She slept.")]
    return (await CorefTransformer(rule_resolver).atransform_documents(documents))[1].page_content


def test_documents_are_transformed_in_asyncio_too(rule_resolver: Resolver) -> None:
    import asyncio

    assert asyncio.run(_transformed(rule_resolver)) == "Anna slept."


def test_a_chat_goes_through_a_chain(rule_resolver: Resolver) -> None:
    chain = CorefChatHistory(rule_resolver) | RunnableLambda(lambda messages: messages[-1].content)
    messages = [HumanMessage("Who is Anna?"), AIMessage("A chemist."), HumanMessage("Was she late?", name="Ben")]
    assert chain.invoke(messages[:1]) == "Who is Anna?"
    assert chain.invoke([HumanMessage("they met Anna."), HumanMessage("was she late?")]) == "was Anna late?"
    answered = CorefChatHistory(rule_resolver, style="brackets").invoke(messages)
    assert [type(message) for message in answered] == [type(message) for message in messages]
    assert answered[2].name == "Ben"
    assert messages[2].content == "Was she late?"


def test_content_that_is_no_plain_text_stays(rule_resolver: Resolver) -> None:
    picture = HumanMessage([{"type": "image_url", "image_url": {"url": "data:,"}}])
    assert CorefChatHistory(rule_resolver).invoke([picture]) == [picture]


def test_a_wrong_option_is_refused_at_once(rule_resolver: Resolver) -> None:
    with pytest.raises(IncorefError, match="no style 'bold'"):
        CorefTransformer(rule_resolver, style="bold")
