"""What a server refuses, and why: each kind with its HTTP status, as the problem details of RFC 9457 tell it.

A refusal is expected and its words are for the client. Anything else that goes wrong is told as ``internal``, without
a word about what it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from incoref.errors import IncorefError
from incoref.server.store import NoSession, StoreFailed


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of refusal; its name is the last part of the problem's type."""

    name: str
    status: int
    title: str

    @property
    def type(self) -> str:
        return f"urn:incoref:problem:{self.name}"


BAD_REQUEST = Kind("bad-request", 400, "The request can't be read")
UNAUTHORIZED = Kind("unauthorized", 401, "A valid bearer token is needed")
FOREIGN = Kind("foreign-origin", 403, "Requests from pages of other sites are not served")
NOT_FOUND = Kind("not-found", 404, "There is no such thing here")
METHOD = Kind("method-not-allowed", 405, "The method is not allowed here")
SEQUENCE = Kind("sequence-conflict", 409, "The sequence number was used for something else, or its answer is gone")
OTHER_MODEL = Kind("other-model", 409, "The session can't go on with this model")
FULL = Kind("session-full", 409, "The session has reached its limit")
TOO_LARGE = Kind("too-large", 413, "The request is too large")
MEDIA_TYPE = Kind("media-type", 415, "The body must be application/json")
MISDIRECTED = Kind("misdirected", 421, "The server is not known by this name")
INVALID = Kind("invalid", 422, "The request does not follow the schema")
IMPOSSIBLE = Kind("impossible", 422, "The session can't do this")
BUSY = Kind("busy", 429, "Too many requests are waiting")
TOO_MANY_SESSIONS = Kind("too-many-sessions", 429, "There are too many sessions")
INTERNAL = Kind("internal", 500, "Something went wrong in the server")
STOPPING = Kind("stopping", 503, "The server is stopping")
STORE = Kind("store", 503, "The store of sessions can't be used")

KINDS = tuple(value for value in dict(globals()).values() if isinstance(value, Kind))


class Refused(IncorefError):
    """A request that is not served, with the kind of reason and what to do about it."""

    def __init__(self, kind: Kind, detail: str, *, retry_after: int | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.retry_after, self.more = kind, detail, retry_after, more

    def to_json(self) -> dict[str, Any]:
        """The problem's details; further members are those of its kind."""
        return {
            "type": self.kind.type,
            "title": self.kind.title,
            "status": self.kind.status,
            "detail": self.detail,
            **self.more,
        }


def refusal(error: Exception) -> Refused:
    """Any error as what the client is told of it."""
    match error:
        case Refused():
            return error
        case NoSession():
            return Refused(NOT_FOUND, str(error))
        case StoreFailed():  # its words may name places that are nobody's business
            return Refused(STORE, "nothing was changed; try again", retry_after=1)
        case IncorefError():
            return Refused(IMPOSSIBLE, str(error))
        case _:
            return Refused(INTERNAL, "the error is in the server's log")
