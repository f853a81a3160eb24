"""Sessions: begin them, give them text, correct them, look at them, end them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Body, Header, Query, Response
from fastapi.responses import StreamingResponse

from incoref.outputs.formats import SUFFIXES, OutputFormat
from incoref.server import schemas, views
from incoref.server.commands import (
    Command,
    Feed,
    Flush,
    Forget,
    Introduce,
    Merge,
    Read,
    Rename,
    Say,
    SayWords,
    Undo,
)
from incoref.server.events import events
from incoref.server.problems import INVALID, Refused
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
SequenceInQuery = Annotated[int | None, Query(ge=0, le=2**53 - 1, description="As in the bodies of other requests.")]
After = Annotated[int, Query(ge=0, le=2**53 - 1, description="Events after this one; all if it is left out.")]
Place = Annotated[int, Query(ge=0, le=2**53 - 1)]
Since = Annotated[
    int,
    Query(
        ge=0,
        le=2**53 - 1,
        description="Only what came from this sentence on: its text, and the entities with mentions there.",
    ),
]
EVENT_STREAM = described(
    200,
    "One event a change, named `updates` or after what was asked (`undo`, `merge`, …), with the answer as its data. "
    "`reset`: what came before is erased; ask for the state. `end`: the session was deleted.",
    "text/event-stream",
)


def command_of(request: schemas.FeedRequest) -> Command:
    """What a request for text asks for."""
    if request.words is not None:
        if not request.final:
            raise Refused(INVALID, "words are a complete sentence: leave out final")
        return SayWords(request.words, request.text, request.speaker, request.id, request.time)
    if request.text is None:
        raise Refused(INVALID, "give text, or words, or both")
    if request.final:
        return Say(request.text, request.speaker, request.id, request.time)
    if request.id is not None or request.time is not None:
        raise Refused(INVALID, "pieces of running text have no id and no time; complete utterances have")
    return Feed(request.text, request.speaker)


@router.post(
    "",
    response_model=None,
    status_code=201,
    responses=answers(schemas.Created, status=201),
    operation_id="create",
    summary="A new session",
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
    summary="What a session knows",
)
async def state(id: Id, service: Service, since: Since = 0) -> Response:
    return await done(service.look(id, lambda live: json_response(views.session_state(id, live, since))))


@router.delete(
    "/{id}",
    response_model=None,
    status_code=204,
    responses=described(204, "It is gone, with all that was said.") | problems(404),
    operation_id="delete",
    summary="End a session",
)
async def delete(id: Id, service: Service) -> Response:
    if not await done(service.delete(id)):
        raise missing(id)
    return Response(status_code=204)


@router.post(
    "/{id}/feed",
    response_model=None,
    responses=answers(schemas.Updates, 404, 409),
    operation_id="feed",
    summary="More text",
)
async def feed(id: Id, request: schemas.FeedRequest, service: Service) -> Response:
    """Updates for the sentences that ended. They are in the store before they are in the answer."""
    return await performed(service, id, command_of(request), request.sequence)


@router.post(
    "/{id}/read",
    response_model=None,
    responses=answers(schemas.Updates, 404, 409),
    operation_id="read",
    summary="A document with its own sentences and words",
)
async def read(id: Id, request: schemas.ReadRequest, service: Service) -> Response:
    return await performed(service, id, Read(request.document.model_dump()), request.sequence)


@router.post(
    "/{id}/flush",
    response_model=None,
    responses=answers(schemas.Updates, 404, 409),
    operation_id="flush",
    summary="End what is pending",
)
async def flush(id: Id, service: Service, request: NoBody = None) -> Response:
    return await performed(service, id, Flush(), request.sequence if request else None)


@router.post(
    "/{id}/undo",
    response_model=None,
    responses=answers(schemas.Undone, 404, 409),
    operation_id="undo",
    summary="Take the last text back",
)
async def undo(id: Id, service: Service, request: NoBody = None) -> Response:
    return await performed(service, id, Undo(), request.sequence if request else None)


@router.post(
    "/{id}/fork",
    response_model=None,
    status_code=201,
    responses=answers(schemas.Created, 404, status=201),
    operation_id="fork",
    summary="A session that starts from here",
)
async def fork(id: Id, service: Service, owner: Owner) -> Response:
    return _created(await done(service.fork(id, owner)))


@router.post(
    "/{id}/entities",
    response_model=None,
    responses=answers(schemas.Corrected, 404, 409),
    operation_id="introduce",
    summary="Make a participant known",
)
async def introduce(id: Id, request: schemas.IntroduceRequest, service: Service) -> Response:
    return await performed(service, id, Introduce(request.name, request.type, request.speaker), request.sequence)


@router.patch(
    "/{id}/entities/{entity}",
    response_model=None,
    responses=answers(schemas.Corrected, 404, 409),
    operation_id="rename",
    summary="Name an entity",
)
async def rename(id: Id, entity: str, request: schemas.RenameRequest, service: Service) -> Response:
    return await performed(service, id, Rename(entity, request.name), request.sequence)


@router.post(
    "/{id}/entities/{entity}/merge",
    response_model=None,
    responses=answers(schemas.Corrected, 404, 409),
    operation_id="merge",
    summary="Two entities are the same",
)
async def merge(id: Id, entity: str, request: schemas.MergeRequest, service: Service) -> Response:
    return await performed(service, id, Merge(entity, request.other), request.sequence)


@router.delete(
    "/{id}/entities/{entity}",
    response_model=None,
    responses=answers(schemas.Forgotten, 404, 409),
    operation_id="forget",
    summary="Remove an entity",
)
async def forget(id: Id, entity: str, service: Service, sequence: SequenceInQuery = None) -> Response:
    """Its vector, words, name and mentions, also from the log; what came before can't be undone any more."""
    return await performed(service, id, Forget(entity), sequence)


@router.get(
    "/{id}/decision",
    response_model=None,
    responses=answers(schemas.DecisionOfMention, 404, 409),
    operation_id="decision",
    summary="Why a mention is what it is",
)
async def decision(id: Id, start: Place, end: Place, service: Service) -> Response:
    """Needs a session that was begun with the options `trace` and `runners_up`."""
    return await decision_response(service, id, start, end)


async def decision_response(service: Service, id: str, start: int, end: int) -> Response:
    return await done(
        service.look(id, lambda live: json_response(views.decision(live, service.store.records(id), start, end)))
    )


@router.get(
    "/{id}/document",
    response_model=None,
    responses=described(200, "With all that incoref knows of it: `Document.from_json` reads it.", "application/json")
    | problems(404, 409),
    operation_id="document",
    summary="The session as a document",
)
async def document(id: Id, service: Service, singletons: bool = True) -> Response:
    return await done(
        service.look(
            id, lambda live: json_response(live.session.document("session", singletons=singletons).to_json())
        )
    )


ExportFormat = Annotated[
    Literal["json", "conll", "conllu", "conllua", "html", "text", "resolved"],
    Query(description="As incoref resolve."),
]
EXPORTED = described(200, "A file to keep.", *dict.fromkeys(views.EXPORTS.values())) | problems(404, 409)


@router.get(
    "/{id}/export",
    response_class=Response,
    response_model=None,
    responses=EXPORTED,
    operation_id="export",
    summary="The session in a format of its own",
)
async def export(id: Id, service: Service, format: ExportFormat = "json") -> Response:
    return await export_response(service, id, format)


async def export_response(service: Service, id: str, format: str) -> Response:
    wanted = OutputFormat(format)
    data = await done(service.look(id, lambda live: views.export(live, wanted)))
    # To be kept, not shown: a page of ours is shown under a policy that lets none of its own scripts run.
    name = {"content-disposition": f'attachment; filename="session{SUFFIXES[wanted]}"'}
    return Response(data, headers=name, media_type=views.EXPORTS[wanted])


@router.get(
    "/{id}/save",
    response_class=Response,
    response_model=None,
    responses=described(200, "For `Resolver.restore`.", "application/octet-stream") | problems(404, 409),
    operation_id="save",
    summary="The session as bytes",
)
async def save(id: Id, service: Service) -> Response:
    data = await done(service.look(id, lambda live: live.session.save()))
    return Response(data, media_type="application/octet-stream")


@router.get(
    "/{id}/events",
    response_class=StreamingResponse,
    response_model=None,
    responses=EVENT_STREAM | problems(404),
    operation_id="events",
    summary="What happens, as it happens",
)
async def stream(
    id: Id,
    service: Service,
    after: After = 0,
    last_event_id: Annotated[str | None, Header(description="As browsers send it when they reconnect.")] = None,
) -> Response:
    """Server-sent events. The id of an event is the number to resume after."""
    return await event_response(service, id, after, last_event_id)


async def event_response(service: Service, id: str, after: int, last_event_id: str | None) -> Response:
    if last_event_id is not None and last_event_id.isdecimal() and len(last_event_id) < 16:
        after = int(last_event_id)
    await known(service, id)
    service.check_streams()
    return StreamingResponse(
        events(service, id, after), media_type="text/event-stream", headers={"x-accel-buffering": "no"}
    )


@router.post(
    "/{id}/share",
    response_model=None,
    responses=answers(schemas.Shared, 404),
    operation_id="share",
    summary="Let others look",
)
async def share(id: Id, service: Service) -> Response:
    """A second id, by which the session can be looked at without a token, and nothing else."""
    view = await done(service.share(id, True))
    return json_response({"view": view, "path": f"/v1/shared/{view}"})


@router.delete(
    "/{id}/share",
    response_model=None,
    status_code=204,
    responses=described(204, "Nobody can look any more.") | problems(404),
    operation_id="unshare",
    summary="Let nobody look any more",
)
async def unshare(id: Id, service: Service) -> Response:
    await done(service.share(id, False))
    return Response(status_code=204)
