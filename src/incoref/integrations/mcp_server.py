"""A server for the Model Context Protocol: memories of conversations and documents as tools for an agent.

Each session is a named memory in this process. If a folder is given, it is also saved to a file there, so that an
agent can resume after a restart. Independent of the transport.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from threading import RLock
from typing import Any

from incoref._version import __version__
from incoref.corpora.files import write_data
from incoref.errors import IncorefError, MissingExtra
from incoref.memory.memory import Memory
from incoref.memory.naming import Style
from incoref.memory.passages import Passage
from incoref.resolver import Resolver
from incoref.types import Entity

try:
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
except ImportError as error:
    raise MissingExtra("mcp", "mcp", "incoref mcp") from error

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")
_SUFFIX = ".incoref"

INSTRUCTIONS = """Remembers who is who across the turns of a conversation or the chunks of a document.
Open a session, add each turn or chunk in order, and use the text that comes back: pronouns and short names have been
replaced by names where that is sure. Ask who_is_who for the people and things spoken of; correct mistakes with
rename, merge and detach."""


class Memories:
    """Sessions by name, in this process and, if a folder is given, on disk."""

    def __init__(self, resolver: Resolver, folder: Path | None = None) -> None:
        self._resolver, self._folder = resolver, folder
        self._open: dict[str, Memory] = {}
        self._lock = RLock()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def names(self) -> list[str]:
        saved = () if self._folder is None else (path.stem for path in self._folder.glob(f"*{_SUFFIX}"))
        with self._lock:
            return sorted({*self._open, *saved})

    def open(self, name: str, **options: Any) -> tuple[Memory, bool]:
        """Open or create the session with this name; return it and whether it already existed."""
        if not _NAME.fullmatch(name):
            raise IncorefError(f"{name!r} can't name a session: use letters, digits, '.', '_' and '-', at most 100")
        with self._lock:
            if name in self.names():
                return self.get(name), True
            self._open[name] = Memory(self._resolver, **options)
            self.save(name)
            return self._open[name], False

    def get(self, name: str) -> Memory:
        with self._lock:
            if name not in self._open:
                path = self._path(name)
                if path is None or not path.is_file():
                    known = ", ".join(self.names()) or "none is open"
                    raise IncorefError(f"there is no session '{name}' ({known}); open it with open_session")
                self._open[name] = Memory.restore(path.read_bytes(), self._resolver)
            return self._open[name]

    def save(self, name: str) -> None:
        """Write a session to its file atomically."""
        path = self._path(name)
        if path is not None:
            write_data(path, self._open[name].save())

    def forget(self, name: str) -> None:
        with self._lock:
            self.get(name)
            del self._open[name]
            if (path := self._path(name)) is not None:
                path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path | None:
        if self._folder is None or not _NAME.fullmatch(name):
            return None
        return self._folder / f"{name}{_SUFFIX}"


def server(resolver: Resolver, folder: Path | None = None) -> MCPServer:
    """Create the server with its tools and resources."""
    mcp = MCPServer("incoref", instructions=INSTRUCTIONS, version=__version__)
    memories = Memories(resolver, folder)

    @mcp.tool()
    def open_session(
        session: str, style: Style = "inline", all_mentions: bool = False, speakers: bool = False
    ) -> dict[str, Any]:
        """Open a session for one conversation or document, or go on with one of that name.

        style: inline puts names in place of pronouns, brackets after them, facts in a line before the text.
        all_mentions: name every pronoun, not only the first of each chunk. speakers: name "I" and "my", too.
        """
        with _told():
            options = {"style": style, "mentions": "all" if all_mentions else "first", "speakers": speakers}
            memory, known = memories.open(session, **options)
            return {"session": session, "chunks": len(memory), "known": known, **asdict(memory.naming)}

    @mcp.tool()
    def add_text(session: str, text: str, speaker: str | None = None, id: str | None = None) -> dict[str, Any]:
        """Add a turn (with its speaker) or a chunk of a document; returns it as text that stands alone.

        A text with a known id replaces the earlier one.
        """
        with _told():
            passage = memories.get(session).add(text, speaker=speaker, id=id)
            memories.save(session)
            return _passage_json(passage)

    @mcp.tool()
    def who_is_who(session: str) -> list[dict[str, Any]]:
        """The people and things spoken of in a session: id, name, type, and where they are mentioned in its text."""
        with _told():
            return [_entity_json(entity) for entity in memories.get(session).entities]

    @mcp.tool()
    def resolve_text(text: str, style: Style = "inline") -> dict[str, Any]:
        """Replace the pronouns of a whole text by names; nothing is remembered."""
        with _told():
            return _passage_json(Memory(resolver, style=style, mentions="all").add(text))

    @mcp.tool()
    def introduce(session: str, name: str, speaker: str | None = None) -> dict[str, Any]:
        """Make a participant known; what the speaker says of themselves as "I" is that entity."""
        with _told():
            return _corrected(session, memories.get(session).introduce(name, speaker=speaker))

    @mcp.tool()
    def rename(session: str, entity: str, name: str) -> dict[str, Any]:
        """Give an entity, by its id, a name."""
        with _told():
            return _corrected(session, memories.get(session).rename(entity, name))

    @mcp.tool()
    def merge(session: str, entity: str, other: str) -> dict[str, Any]:
        """Two entities are the same: the first, by its id, gets the mentions of the other."""
        with _told():
            return _corrected(session, memories.get(session).merge(entity, other))

    @mcp.tool()
    def detach(session: str, start: int, end: int) -> dict[str, Any]:
        """A mention was linked wrongly: by its start and end, it becomes an entity of its own, which is returned."""
        with _told():
            return _corrected(session, memories.get(session).detach((start, end)))

    @mcp.tool()
    def forget_entity(session: str, entity: str) -> dict[str, Any]:
        """Remove an entity, by its id, with its name and mentions; the text stays."""
        with _told():
            memories.get(session).forget(entity)
            memories.save(session)
            return {"forgotten": entity}

    @mcp.tool()
    def forget_session(session: str) -> dict[str, Any]:
        """Delete a session with all that it knows."""
        with _told():
            memories.forget(session)
            return {"forgotten": session}

    @mcp.resource("incoref://sessions", mime_type="application/json")
    def sessions() -> list[str]:
        """The names of all sessions."""
        return memories.names()

    @mcp.resource("incoref://sessions/{session}/entities", mime_type="application/json")
    def entities(session: str) -> list[dict[str, Any]]:
        """The people and things spoken of in a session."""
        try:
            return [_entity_json(entity) for entity in memories.get(session).entities]
        except IncorefError as error:
            raise ResourceNotFoundError(str(error)) from error

    def _corrected(session: str, entity: Entity) -> dict[str, Any]:
        memories.save(session)
        return _entity_json(entity)

    return mcp


class _told:
    """Raises errors of incoref as tool errors, which are reported to the client."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, IncorefError):
            raise ToolError(str(error)) from error


def _passage_json(passage: Passage) -> dict[str, Any]:
    return {"text": passage.text, "decisions": [choice.to_json() for choice in passage.decisions]}


def _entity_json(entity: Entity) -> dict[str, Any]:
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "speaker": entity.speaker,
        "mentions": [{"text": one.text, "start": one.start, "end": one.end} for one in entity.mentions],
    }
