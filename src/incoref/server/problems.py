"""Reasons for refusing requests: each kind of problem with its HTTP status, as problem details (RFC 9457).

A refusal is an expected error, whose message is meant for the client. Any other error is reported as ``internal``,
without details.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from incoref.errors import IncorefError
from incoref.server.keyed_executor import Abandoned
from incoref.server.store import NoSession, StoreFailed


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem; its name is the last part of the problem's type."""

    name: str
    status: int
    title: str

    @property
    def type(self) -> str:
        return f"urn:incoref:problem:{self.name}"


BAD_REQUEST = Kind("bad-request", 400, "The request can't be read")
UNAUTHORIZED = Kind("unauthorized", 401, "A valid bearer token is required")
FOREIGN = Kind("foreign-origin", 403, "Requests from pages of other sites are not allowed")
NOT_FOUND = Kind("not-found", 404, "Not found")
METHOD = Kind("method-not-allowed", 405, "Method not allowed")
SEQUENCE = Kind("sequence-conflict", 409, "The sequence number was used for another request, or its answer is gone")
OTHER_MODEL = Kind("other-model", 409, "The session can't be continued with this model")
FULL = Kind("session-full", 409, "The session has reached a limit")
TOO_LARGE = Kind("too-large", 413, "The request is too large")
TOO_SLOW = Kind("too-slow", 413, "The request takes too long")
MEDIA_TYPE = Kind("media-type", 415, "The body must be application/json")
MISDIRECTED = Kind("misdirected", 421, "The server doesn't answer to this host name")
INVALID = Kind("invalid", 422, "The request doesn't match the schema")
IMPOSSIBLE = Kind("impossible", 422, "The session can't do this")
BUSY = Kind("busy", 429, "Too many requests are waiting")
TOO_MANY_SESSIONS = Kind("too-many-sessions", 429, "There are too many sessions")
INTERNAL = Kind("internal", 500, "Internal server error")
STOPPING = Kind("stopping", 503, "The server is stopping")
STORE = Kind("store", 503, "The session store can't be used")

KINDS = tuple(value for value in dict(globals()).values() if isinstance(value, Kind))


class Refused(IncorefError):
    """A refused request, with the reason and what to do about it."""

    def __init__(self, kind: Kind, detail: str, *, retry_after: int | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.retry_after, self.more = kind, detail, retry_after, more

    def to_json(self) -> dict[str, Any]:
        """Return the problem details; some kinds have additional members."""
        return {
            "type": self.kind.type,
            "title": self.kind.title,
            "status": self.kind.status,
            "detail": self.detail,
            **self.more,
        }


def refusal(error: Exception) -> Refused:
    """Convert an error to what the client is told about it."""
    match error:
        case Refused():
            return error
        case NoSession():
            return Refused(NOT_FOUND, str(error))
        case StoreFailed(may_have_changed=True):  # the message may contain paths, which clients must not see
            detail = (
                "the store's reply was lost, so the change may or may not have been made: send the request again "
                "with the same sequence number, which makes it once; without one, look at the session first"
            )
            return Refused(STORE, detail, retry_after=1, changed="maybe")
        case StoreFailed():
            return Refused(STORE, "nothing was changed; try again", retry_after=1, changed="no")
        case Abandoned():
            return Refused(STOPPING, "the server stopped before it was done; nothing was changed", retry_after=1)
        case IncorefError():
            return Refused(IMPOSSIBLE, str(error))
        case _:
            return Refused(INTERNAL, "see the server's log")
