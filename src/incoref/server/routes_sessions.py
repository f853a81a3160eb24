"""Sessions: create them, send them text, correct them, read them, delete them."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from fastapi import APIRouter, Body, Header, Query, Response
from fastapi.responses import StreamingResponse

from incoref.corpora.turns import from_turns
from incoref.outputs.formats import SUFFIXES, OutputFormat
from incoref.server import schemas, views
from incoref.server.commands import (
    Command,
    Detach,
    Feed,
    Flush,
    Forget,
    Introduce,
    Merge,
    Read,
    Reassign,
    Rename,
    Say,
    SayWords,
    Split,
    Undo,
)
from incoref.server.events import answer_of, events
from incoref.server.problems import INVALID, Refused
from incoref.server.routes_text import recognised
from incoref.server.routing import (
    Id,
    Owner,
    Service,
    answers,
    described,
    done,
    json_response,
    known,
    performed,
    problems,
)
from incoref.server.store import missing

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

NoBody = Annotated[schemas.SequenceRequest | None, Body()]
SequenceInQuery = Annotated[
    int | None, Query(ge=0, le=2**53 - 1, description="As in the request bodies of other routes.")
]
After = Annotated[int, Query(ge=0, le=2**53 - 1, description="Only events after this one; defaults to all.")]
Singletons = Annotated[bool, Query(description="Also entities with one mention.")]
Place = Annotated[int, Query(ge=0, le=2**53 - 1)]
Since = Annotated[
    int,
    Query(
        ge=0,
        le=2**53 - 1,
        description="Only what starts at this sentence: its text, and the entities mentioned from there on.",
    ),
]
StateSince = Annotated[
    int | None,
    Query(
        alias="since",
        ge=0,
        le=2**53 - 1,
        description="Add the session's `state` to the response, as `GET` with this `since` returns it.",
    ),
]
Replay = Annotated[
    bool,
    Query(
        description="Read the text again with this server's model: entities are new, corrections are not repeated."
    ),
]
EVENT_STREAM = described(
    200,
    "One event per change, named `updates` or after the operation (`undo`, `merge`, …), with the response as data. "
    "`reset`: earlier events are not available; fetch the state. `end`: the session was deleted or is not shared.",
    "text/event-stream",
)


def command_of(request: schemas.FeedRequest) -> Command:
    """Return the command for a request with text."""
    if request.words is not None:
        if not request.final:
            raise Refused(INVALID, "words make a complete sentence: leave out final")
        return SayWords(request.words, request.text, request.speaker, request.id, request.time)
    if request.text is None:
        raise Refused(INVALID, "give text, words, or both")
    if request.final:
        return Say(request.text, request.speaker, request.id, request.time)
    if request.id is not None or request.time is not None:
        raise Refused(INVALID, "only complete utterances can have an id or a time, not pieces of running text")
    return Feed(request.text, request.speaker)


@router.post(
    "",
    response_model=None,
    status_code=201,
    responses=answers(schemas.Created, status=201),
    operation_id="create",
    summary="Create a session",
)
async def create(service: Service, owner: Owner, request: schemas.NewSession | None = None) -> Response:
    options = (request or schemas.NewSession()).options.model_dump()
    return _created(await done(service.create(owner, options)))


def _created(id: str) -> Response:
    response = json_response({"id": id}, 201)
    response.headers["location"] = f"/v1/sessions/{id}"
    return response


@router.get(
    "/{id}",
    response_model=None,
    responses=answers(schemas.SessionState, 404, 409),
    operation_id="state",
    summary="The state of a session",
)
async def state(id: Id, service: Service, since: Since = 0) -> Response:
    return await done(service.look(id, lambda live: json_response(views.session_state(id, live, since))))


@router.delete(
    "/{id}",
    response_model=None,
    status_code=204,
    responses=described(204, "The session and everything said in it are deleted.") | problems(404),
    operation_id="delete",
    summary="Delete a session",
)
async def delete(id: Id, service: Service) -> Response:
    if not await done(service.delete(id)):
        raise missing(id)
    return Response(status_code=204)


async def _read_on(service: Service, id: str, command: Command, sequence: int | None, since: int | None) -> Response:
    """Read text; with ``since``, the response includes the resulting state, which saves a second request."""
    answer = answer_of(await done(service.perform(id, command, sequence)))
    if since is not None:
        answer["state"] = await done(service.look(id, lambda live: views.session_state(id, live, since)))
    return json_response(answer)


@router.post(
    "/{id}/feed",
    response_model=None,
    responses=answers(schemas.Updates, 404, 409),
    operation_id="feed",
    summary="Add text",
)
async def feed(id: Id, request: schemas.FeedRequest, service: Service, since: StateSince = None) -> Response:
    """Returns updates for the sentences that ended. They are stored before they are returned."""
    return await _read_on(service, id, command_of(request), request.sequence, since)


@router.post(
    "/{id}/read",
    response_model=None,
    responses=answers(schemas.Updates, 404, 409),
    operation_id="read",
    summary="Add a document that brings its own sentences and words",
)
async def read(id: Id, request: schemas.ReadRequest, service: Service) -> Response:
    return await performed(service, id, Read(request.document.model_dump()), request.sequence)


@router.post(
    "/{id}/import",
    response_model=None,
    responses=answers(schemas.Updates, 404, 409),
    operation_id="import",
    summary="Add a chat, a transcript, subtitles, mail or another text, whatever it is in",
)
async def import_(id: Id, request: schemas.ImportRequest, service: Service) -> Response:
    """Turns become sentences with speakers, as `incoref resolve` reads a file with this content."""
    _, turns = await asyncio.to_thread(recognised, request.text, request.name)
    return await performed(service, id, Read(from_turns(request.name, turns).to_json()), request.sequence)


@router.post(
    "/{id}/flush",
    response_model=None,
    responses=answers(schemas.Updates, 404, 409),
    operation_id="flush",
    summary="Treat pending text as complete",
)
async def flush(id: Id, service: Service, request: NoBody = None, since: StateSince = None) -> Response:
    return await _read_on(service, id, Flush(), request.sequence if request else None, since)


@router.post(
    "/{id}/undo",
    response_model=None,
    responses=answers(schemas.Undone, 404, 409),
    operation_id="undo",
    summary="Undo the last text",
)
async def undo(id: Id, service: Service, request: NoBody = None) -> Response:
    return await performed(service, id, Undo(), request.sequence if request else None)


@router.post(
    "/{id}/fork",
    response_model=None,
    status_code=201,
    responses=answers(schemas.Created, 404, status=201),
    operation_id="fork",
    summary="Create a session that starts from here",
)
async def fork(id: Id, service: Service, owner: Owner, replay: Replay = False) -> Response:
    """A copy with its own id. For a session that can't be continued with this server's model, use `replay`."""
    return _created(await done(service.replay(id, owner) if replay else service.fork(id, owner)))


@router.post(
    "/{id}/entities",
    response_model=None,
    responses=answers(schemas.Corrected, 404, 409),
    operation_id="introduce",
    summary="Introduce a participant",
)
async def introduce(id: Id, request: schemas.IntroduceRequest, service: Service) -> Response:
    return await performed(service, id, Introduce(request.name, request.type, request.speaker), request.sequence)


@router.patch(
    "/{id}/entities/{entity}",
    response_model=None,
    responses=answers(schemas.Corrected, 404, 409),
    operation_id="rename",
    summary="Rename an entity",
)
async def rename(id: Id, entity: str, request: schemas.RenameRequest, service: Service) -> Response:
    return await performed(service, id, Rename(entity, request.name), request.sequence)


@router.post(
    "/{id}/entities/{entity}/merge",
    response_model=None,
    responses=answers(schemas.Corrected, 404, 409),
    operation_id="merge",
    summary="Merge two entities",
)
async def merge(id: Id, entity: str, request: schemas.MergeRequest, service: Service) -> Response:
    return await performed(service, id, Merge(entity, request.other), request.sequence)


@router.post(
    "/{id}/entities/{entity}/split",
    response_model=None,
    responses=answers(schemas.Corrected, 404, 409),
    operation_id="split",
    summary="Make some mentions of an entity another one",
)
async def split(id: Id, entity: str, request: schemas.SplitRequest, service: Service) -> Response:
    """Returns the new entity."""
    places = [[mention.start, mention.end] for mention in request.mentions]
    return await performed(service, id, Split(entity, places), request.sequence)


@router.post(
    "/{id}/mentions/detach",
    response_model=None,
    responses=answers(schemas.Corrected, 404, 409),
    operation_id="detach",
    summary="Make a mention an entity of its own",
)
async def detach(id: Id, request: schemas.DetachRequest, service: Service) -> Response:
    """Returns the new entity."""
    return await performed(service, id, Detach(request.start, request.end), request.sequence)


@router.post(
    "/{id}/mentions/reassign",
    response_model=None,
    responses=answers(schemas.Corrected, 404, 409),
    operation_id="reassign",
    summary="Put a mention into another entity",
)
async def reassign(id: Id, request: schemas.ReassignRequest, service: Service) -> Response:
    """Its own is gone if it had no other mention and was introduced by nobody."""
    return await performed(service, id, Reassign(request.start, request.end, request.entity), request.sequence)


@router.delete(
    "/{id}/entities/{entity}",
    response_model=None,
    responses=answers(schemas.Forgotten, 404, 409),
    operation_id="forget",
    summary="Forget an entity",
)
async def forget(id: Id, entity: str, service: Service, sequence: SequenceInQuery = None) -> Response:
    """Removes its vector, words, name and mentions, also from the log. Earlier changes can no longer be undone."""
    return await performed(service, id, Forget(entity), sequence)


@router.get(
    "/{id}/decision",
    response_model=None,
    responses=answers(schemas.DecisionOfMention, 404, 409),
    operation_id="decision",
    summary="Explain a mention",
)
async def decision(id: Id, start: Place, end: Place, service: Service) -> Response:
    """Needs a session created with the options `trace` and `runners_up`."""
    return await decision_response(service, id, start, end)


async def decision_response(service: Service, id: str, start: int, end: int, *, viewer: bool = False) -> Response:
    return await done(
        service.look(
            id, lambda live: json_response(views.decision(live, service.store.records(id), start, end, viewer=viewer))
        )
    )


@router.get(
    "/{id}/document",
    response_model=None,
    responses=described(200, "Everything known of it, for `Document.from_json`.", "application/json")
    | problems(404, 409),
    operation_id="document",
    summary="The session as a document",
)
async def document(id: Id, service: Service, singletons: Singletons = False) -> Response:
    return await done(
        service.look(
            id, lambda live: json_response(live.session.document("session", singletons=singletons).to_json())
        )
    )


ExportFormat = Annotated[
    Literal["json", "conll", "conllu", "conllua", "html", "text", "resolved"],
    Query(description="As for `incoref resolve`."),
]
EXPORTED = described(200, "A file to download.", *dict.fromkeys(views.EXPORTS.values())) | problems(404, 409)


@router.get(
    "/{id}/export",
    response_class=Response,
    response_model=None,
    responses=EXPORTED,
    operation_id="export",
    summary="Export the session",
)
async def export(id: Id, service: Service, format: ExportFormat = "json", singletons: Singletons = False) -> Response:
    return await export_response(service, id, format, singletons)


async def export_response(
    service: Service, id: str, format: str, singletons: bool, *, viewer: bool = False
) -> Response:
    wanted = OutputFormat(format)
    data = await done(service.look(id, lambda live: views.export(live, wanted, singletons, viewer=viewer)))
    # As a download: shown in the browser, the HTML page would run under a policy that blocks its scripts.
    name = {"content-disposition": f'attachment; filename="session{SUFFIXES[wanted]}"'}
    return Response(data, headers=name, media_type=views.EXPORTS[wanted])


@router.get(
    "/{id}/save",
    response_class=Response,
    response_model=None,
    responses=described(200, "For `Resolver.restore`.", "application/octet-stream") | problems(404, 409),
    operation_id="save",
    summary="Save the session as bytes",
)
async def save(id: Id, service: Service) -> Response:
    data = await done(service.look(id, views.saved))
    return Response(data, media_type="application/octet-stream")


@router.get(
    "/{id}/events",
    response_class=StreamingResponse,
    response_model=None,
    responses=EVENT_STREAM | problems(404),
    operation_id="events",
    summary="Follow changes",
)
async def stream(
    id: Id,
    service: Service,
    after: After = 0,
    last_event_id: Annotated[str | None, Header(description="Sent by browsers when they reconnect.")] = None,
) -> Response:
    """Server-sent events. The id of an event is the number to resume after."""
    return await event_response(service, id, after, last_event_id)


async def event_response(
    service: Service, id: str, after: int, last_event_id: str | None, view: str | None = None
) -> Response:
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdecimal():
        after = int(last_event_id[:16])
    await known(service, id)
    service.check_streams()
    return StreamingResponse(
        events(service, id, after, view), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
    )


@router.post(
    "/{id}/share",
    response_model=None,
    responses=answers(schemas.Shared, 404),
    operation_id="share",
    summary="Share a read-only view",
)
async def share(id: Id, service: Service) -> Response:
    """Returns a second id, which allows viewing the session without a token, and nothing else."""
    view = await done(service.share(id, True))
    return json_response({"view": view, "path": f"/v1/shared/{view}"})


@router.delete(
    "/{id}/share",
    response_model=None,
    status_code=204,
    responses=described(204, "The view is revoked, and its open event streams end.") | problems(404),
    operation_id="unshare",
    summary="Revoke the read-only view",
)
async def unshare(id: Id, service: Service) -> Response:
    await done(service.share(id, False))
    return Response(status_code=204)
