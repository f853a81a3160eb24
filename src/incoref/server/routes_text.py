"""Whole texts: ``POST /v1/resolve``."""

from __future__ import annotations

from fastapi import APIRouter, Response

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
    summary="A whole text",
)
async def resolve(request: schemas.ResolveRequest, service: Service) -> Response:
    """The entities of a whole text, as `incoref resolve --format json` prints them."""
    if (request.text is None) == (request.utterances is None):
        raise Refused(INVALID, "give either text or utterances")
    for utterance in request.utterances or ():
        if utterance.text is None and utterance.words is None:
            raise Refused(INVALID, "an utterance has text, or words, or both")
    size = len(request.text or "") + sum(
        len(utterance.text or "") + sum(map(len, utterance.words or ())) for utterance in request.utterances or ()
    )
    if size > service.limits.text:
        limit = service.limits.text
        raise Refused(TOO_LARGE, f"a text has at most {limit} characters: use a session for longer ones", limit=limit)

    def resolved() -> Response:
        session = service.resolver.session(
            undo=0, scheme=request.scheme, genre=request.genre, runners_up=request.runners_up
        )
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
