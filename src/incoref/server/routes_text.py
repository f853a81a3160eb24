"""Whole texts: resolve them (``POST /v1/resolve``) or recognise their format (``POST /v1/recognise``)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fastapi import APIRouter, Response

from incoref.corpora import FORMATS, Format, heard
from incoref.corpora.turns import Turn
from incoref.errors import FormatError
from incoref.outputs.jsonable import document_json
from incoref.server import schemas
from incoref.server.problems import INVALID, TOO_LARGE, Refused
from incoref.server.routing import Service, answers, done, json_response

router = APIRouter(tags=["texts"])


@router.post(
    "/v1/resolve",
    response_model=None,
    responses=answers(schemas.Resolved),
    operation_id="resolve",
    summary="Resolve a whole text",
)
async def resolve(request: schemas.ResolveRequest, service: Service) -> Response:
    """The entities of a whole text, as `incoref resolve --format json` prints them."""
    if (request.text is None) == (request.utterances is None):
        raise Refused(INVALID, "give either text or utterances")
    for utterance in request.utterances or ():
        if utterance.text is None and utterance.words is None:
            raise Refused(INVALID, "an utterance needs text, words, or both")
    size = len(request.text or "") + sum(
        len(utterance.text or "") + sum(map(len, utterance.words or ())) for utterance in request.utterances or ()
    )
    if size > service.limits.text:
        limit = service.limits.text
        raise Refused(
            TOO_LARGE, f"a text may have at most {limit} characters: use a session for longer ones", limit=limit
        )

    def resolved(between: Callable[[], None]) -> Response:
        session = service.resolver.session(
            undo=0, scheme=request.scheme, genre=request.genre, runners_up=request.runners_up
        )
        session.between_steps = between
        if request.text is not None:
            session.feed(request.text)
        for utterance in request.utterances or ():
            if utterance.words is not None:
                session.say_words(utterance.words, utterance.speaker, text=utterance.text)
            else:
                session.say(utterance.text or "", utterance.speaker)
        session.flush()
        return json_response(document_json(session.document(singletons=request.singletons)))

    return await done(service.run(resolved))


@router.post(
    "/v1/recognise",
    response_model=None,
    responses=answers(schemas.Recognised),
    operation_id="recognise",
    summary="Find out what a text is in, and who says what in it",
)
async def recognise(request: schemas.RecogniseRequest) -> Response:
    """The turns of a chat, a transcript, subtitles, mail: as `incoref resolve` reads a file with this content.

    Each can be said to a session as it is. Plain text is one turn of nobody. Here alone, a text may be as long as a
    session.
    """
    format, turns = await asyncio.to_thread(recognised, request.text, request.name)
    about = format.about.removesuffix(" (reading)")
    return json_response({"format": format.name, "about": about, "turns": [_turn_json(turn) for turn in turns]})


def recognised(text: str, name: str) -> tuple[Format, list[Turn]]:
    """Return the format and turns of a text; raise ``Refused`` if it can't be read."""
    try:
        return heard(text, name) if text.strip() else (FORMATS["text"], [])
    except FormatError as error:
        raise Refused(INVALID, str(error)) from error


def _turn_json(turn: Turn) -> dict[str, str | None]:
    return {"text": turn.text, "speaker": turn.speaker, "id": turn.id, "time": turn.time}
